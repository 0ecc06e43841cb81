// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/testing/fleet.h"
#include "tests/testing/scale.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::IsOk;
using test::MakeInstances;
using test::MakeRouter;
using test::Occupy;
using test::RouteOk;
using ::testing::ElementsAre;

constexpr Strategy kLeast = Strategy::kLeastOutstandingRequests;

TEST(LeastOutstandingTest, IdleInstancesTakeTurnsByChance) {
  const auto router = MakeRouter(test::WithStrategy(kLeast), MakeInstances(7));
  std::array<int, 7> counts{};
  for (int i = 0; i < 700; ++i) {
    const Lease lease = AcquireOk(*router, {});
    ++counts[lease.decision().instance];
    ASSERT_EQ(lease.decision().reason, Reason::kLeastOutstanding);
    ASSERT_EQ(lease.decision().home, kNoInstance);
    ASSERT_EQ(lease.decision().rank, 0u);
  }
  for (int count : counts) {
    EXPECT_GE(count, 54);  // 5 sigma.
    EXPECT_LE(count, 146);
  }
}

TEST(LeastOutstandingTest, OnlyTheIdleTakeTurnsAndEvenly) {
  const auto router = MakeRouter(test::WithStrategy(kLeast), MakeInstances(8));
  std::vector<std::vector<Lease>> busy;
  for (uint32_t i = 2; i < 8; ++i) busy.push_back(Occupy(*router, i, 5));
  std::array<int, 8> counts{};
  for (int i = 0; i < 8000; ++i) ++counts[AcquireOk(*router, {}).decision().instance];
  EXPECT_EQ(counts[0] + counts[1], 8000);
  EXPECT_GE(counts[0], 3776);  // 5 sigma.
  EXPECT_LE(counts[0], 4224);
}

TEST(LeastOutstandingTest, ConcurrentRequestsLevel) {
  const auto router = MakeRouter(test::WithStrategy(kLeast), MakeInstances(7));
  std::vector<Lease> leases;
  for (int i = 0; i < 70; ++i) leases.push_back(AcquireOk(*router, {}));
  EXPECT_THAT(test::OutstandingOf(*router), ElementsAre(10, 10, 10, 10, 10, 10, 10));
}

// Against brute force: the chosen one is among those of the least (outstanding + 1) / weight, and each of those is
// chosen at times.
TEST(LeastOutstandingTest, ChoosesOneOfTheLeastForTheirWeightInAnyFleet) {
  std::mt19937_64 random(1);
  const auto below = [&](uint64_t end) { return static_cast<uint32_t>(random() % end); };
  const int rounds = test::Scaled(5000);
  int refused = 0;
  int ties = 0;
  for (int round = 0; round < rounds; ++round) {
    const uint32_t size = 1 + below(10);
    const uint32_t greatest_load = below(8) == 0 ? 4'000'000'000 : 1 + below(20);
    const uint32_t greatest_weight = below(4) == 0 ? 8'000'000 : 8;
    std::vector<Instance> instances = MakeInstances(size);
    std::vector<uint64_t> weights(size);  // In eighths.
    std::vector<Load> loads(size);
    std::vector<uint32_t> excluded;
    std::set<uint32_t> eligible;
    for (uint32_t i = 0; i < size; ++i) {
      weights[i] = i > 0 && below(8) == 0 ? 0 : 1 + below(greatest_weight);
      instances[i].weight = static_cast<double>(weights[i]) / 8;
      instances[i].max_outstanding = below(2) == 0 ? 0 : 1 + below(10);
      loads[i].outstanding = below(greatest_load);
      if (below(6) == 0) {
        excluded.push_back(i);
      } else if (weights[i] != 0 &&
                 (instances[i].max_outstanding == 0 || loads[i].outstanding < instances[i].max_outstanding)) {
        eligible.insert(i);
      }
    }
    std::set<uint32_t> least;
    for (uint32_t i : eligible) {
      const bool beaten = std::any_of(eligible.begin(), eligible.end(), [&](uint32_t other) {
        __extension__ using Wide = unsigned __int128;
        return Wide{weights[i]} * (uint64_t{loads[other].outstanding} + 1) <
               Wide{weights[other]} * (uint64_t{loads[i].outstanding} + 1);
      });
      if (!beaten) least.insert(i);
    }

    RouterOptions options = test::WithStrategy(kLeast);
    options.max_instances = 16;
    const auto router = MakeRouter(options, instances);
    Request request;
    request.exclude_indexes = excluded;
    if (least.empty()) {
      EXPECT_FALSE(router->Route(request, loads).ok());
      ++refused;
      continue;
    }
    std::set<uint32_t> chosen;
    const int tries = least.size() == 1 ? 1 : 400;
    for (int i = 0; i < tries; ++i) {
      request.random = random() | 1;
      chosen.insert(RouteOk(*router, request, loads).instance);
    }
    // A weight may be a millionth of another's here, and its chance in a tie, too.
    if (greatest_weight == 8) {
      ASSERT_EQ(chosen, least) << "round " << round;
    } else {
      ASSERT_TRUE(std::includes(least.begin(), least.end(), chosen.begin(), chosen.end())) << "round " << round;
    }
    if (least.size() > 1) ++ties;
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(ties, rounds / 50);
}

}  // namespace
}  // namespace prefixroute
