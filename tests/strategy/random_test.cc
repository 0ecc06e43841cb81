// SPDX-License-Identifier: Apache-2.0

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/testing/fleet.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::ForPrefix;
using test::MakeInstances;
using test::MakeRouter;
using test::RouteOk;

std::unique_ptr<Router> RandomRouter(absl::Span<const Instance> instances) {
  return MakeRouter(test::WithStrategy(Strategy::kRandom), instances);
}

TEST(RandomTest, SpreadsOnePrefixEvenlyWhateverTheLoad) {
  const auto router = RandomRouter(MakeInstances(7));
  const std::vector<Lease> busy = test::Occupy(*router, 3, 50);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) {
    const Lease lease = AcquireOk(*router, ForPrefix("prompt"));
    ++counts[lease.decision().instance];
    ASSERT_EQ(lease.decision().reason, Reason::kRandom);
    ASSERT_EQ(lease.decision().home, kNoInstance);
    ASSERT_EQ(lease.decision().rank, 0u);
  }
  for (int count : counts) EXPECT_NEAR(count, 10'000, 463);  // 5 sigma.
}

TEST(RandomTest, ChoosesOnlyBelowTheHardBound) {
  const auto router = RandomRouter(MakeInstances(3, /*max_outstanding=*/5));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(RouteOk(*router, {}, std::vector<Load>{{5}, {4}, {6}}).instance, 1u);
  }
}

TEST(RandomTest, GivenBitsMakeADecisionRepeatable) {
  const auto router = RandomRouter(MakeInstances(7));
  const std::vector<Load> loads(7);
  std::set<uint32_t> chosen;
  for (uint64_t bits = 1; bits <= 200; ++bits) {
    Request request;
    request.random = bits;
    const uint32_t first = RouteOk(*router, request, loads).instance;
    for (int again = 0; again < 5; ++again) ASSERT_EQ(RouteOk(*router, request, loads).instance, first);
    chosen.insert(first);
  }
  EXPECT_EQ(chosen.size(), 7u);
}

// 22 choices among 7, as one number: two that agree come from one seed.
uint64_t Draws(Router& router) {
  const std::vector<Load> loads(7);
  uint64_t draws = 0;
  for (int i = 0; i < 22; ++i) draws = draws * 7 + RouteOk(router, {}, loads).instance;
  return draws;
}

TEST(RandomTest, ThreadsDrawTheirOwn) {
  const auto router = RandomRouter(MakeInstances(7));
  std::set<uint64_t> draws = {Draws(*router)};
  for (int i = 0; i < 20; ++i) {
    std::thread([&] { draws.insert(Draws(*router)); }).join();
  }
  EXPECT_EQ(draws.size(), 21u);
}

TEST(RandomTest, ForkedProcessesDrawTheirOwn) {
  const auto router = RandomRouter(MakeInstances(7));
  std::set<uint64_t> draws = {Draws(*router)};  // The parent's generator is seeded by now.
  for (int child = 0; child < 5; ++child) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t pid = fork();
    ASSERT_NE(pid, -1);
    if (pid == 0) {
      const uint64_t drawn = Draws(*router);
      _exit(write(ends[1], &drawn, sizeof(drawn)) == sizeof(drawn) ? 0 : 1);
    }
    uint64_t drawn = 0;
    ASSERT_EQ(read(ends[0], &drawn, sizeof(drawn)), static_cast<ssize_t>(sizeof(drawn)));
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    close(ends[0]);
    close(ends[1]);
    draws.insert(drawn);
  }
  EXPECT_EQ(draws.size(), 6u);
}

}  // namespace
}  // namespace prefixroute
