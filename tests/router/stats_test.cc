// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/testing/fleet.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::CountOf;
using test::ForPrefix;
using test::HasCode;
using test::IsOk;
using test::MakeInstances;
using test::MakeRouter;
using test::PrefixesWithHome;
using test::RouteOk;

class CustomStrategy final : public RoutingStrategy {
 public:
  Choice Choose(const FleetView& fleet) const noexcept override {
    Choice choice;
    choice.instance = fleet.size() - 1;
    return choice;
  }
};

TEST(StatsTest, ListsTheInstancesAsTheyWereSet) {
  const auto router = MakeRouter({}, {{"b", 2.5, 7}, {"a", 0.0, 0}});
  const std::vector<Lease> leases = test::Occupy(*router, 0, 3);
  ASSERT_THAT(router->SetDraining("a", true), IsOk());
  const RouterStats stats = router->Stats();
  ASSERT_EQ(stats.instances.size(), 2u);
  EXPECT_EQ(stats.instances[0].id, "b");
  EXPECT_EQ(stats.instances[0].weight, 2.5);
  EXPECT_EQ(stats.instances[0].max_outstanding, 7u);
  EXPECT_EQ(stats.instances[0].outstanding, 3u);
  EXPECT_FALSE(stats.instances[0].draining);
  EXPECT_EQ(stats.instances[1].id, "a");
  EXPECT_EQ(stats.instances[1].weight, 0.0);
  EXPECT_EQ(stats.instances[1].max_outstanding, 0u);
  EXPECT_EQ(stats.instances[1].outstanding, 0u);
  EXPECT_TRUE(stats.instances[1].draining);
  EXPECT_EQ(stats.outstanding, 3u);
}

// By Route and Acquire alike: each reason once, and each refusal.
TEST(StatsTest, CountsEveryDecisionByItsReasonAndEveryRefusal) {
  const auto router = MakeRouter(test::WithBound(125, 0, 1), MakeInstances(3, /*max_outstanding=*/2));
  const std::string prefix = PrefixesWithHome(*router, 0, 1)[0];
  const std::vector<uint32_t> home = {0};
  const std::vector<uint32_t> all = {0, 1, 2};

  Request none = ForPrefix("");
  Request least = ForPrefix(prefix);
  least.strategy = Strategy::kLeastOutstandingRequests;
  Request random = ForPrefix(prefix);
  random.strategy = Strategy::kRandom;
  Request excluded = ForPrefix(prefix);
  excluded.exclude_indexes = home;
  Request impossible = ForPrefix(prefix);
  impossible.exclude_indexes = all;

  std::array<uint64_t, kReasonCount> expected{};
  const auto expect_one_more = [&](Reason reason) {
    ++expected[static_cast<size_t>(reason)];
    EXPECT_EQ(router->Stats().decisions, expected) << ReasonName(reason);
  };
  for (int verb = 0; verb < 2; ++verb) {
    std::vector<Lease> leases;
    std::vector<Load> loads(3);
    const auto decide = [&](const Request& request) -> absl::Status {
      if (verb == 0) return router->Route(request, loads).status();
      absl::StatusOr<Lease> lease = router->Acquire(request);
      if (lease.ok()) leases.push_back(*std::move(lease));
      return lease.status();
    };
    const auto load = [&](uint32_t each) {
      leases.clear();
      loads.assign(3, {each});
      if (verb == 1) {
        for (uint32_t i = 0; i < 3; ++i) {
          for (Lease& lease : test::Occupy(*router, i, each)) leases.push_back(std::move(lease));
        }
      }
      expected = router->Stats().decisions;  // Occupying counts, too.
    };
    EXPECT_THAT(decide(ForPrefix(prefix)), IsOk());
    expect_one_more(Reason::kHome);
    leases.clear();
    EXPECT_THAT(decide(excluded), IsOk());
    expect_one_more(Reason::kDivertedUnavailable);
    EXPECT_THAT(decide(none), IsOk());
    expect_one_more(Reason::kNoPrefix);
    leases.clear();
    EXPECT_THAT(decide(least), IsOk());
    expect_one_more(Reason::kLeastOutstanding);
    EXPECT_THAT(decide(random), IsOk());
    expect_one_more(Reason::kRandom);
    leases.clear();

    EXPECT_THAT(decide(ForPrefix(prefix)), IsOk());
    expect_one_more(Reason::kHome);
    loads[0] = {1};
    EXPECT_THAT(decide(ForPrefix(prefix)), IsOk());
    expect_one_more(Reason::kDivertedByLoad);
    leases.clear();

    RouterOptions options = router->options();
    options.strict_prefix_bytes = 0;
    ASSERT_THAT(router->SetOptions(options), IsOk());
    loads.assign(3, {});
    const std::string fresh = PrefixesWithHome(*router, 0, 3)[1 + verb];
    excluded.prefix = fresh;
    EXPECT_THAT(decide(excluded), IsOk());
    expect_one_more(Reason::kDivertedUnavailable);
    leases.clear();
    EXPECT_THAT(decide(ForPrefix(fresh)), IsOk());
    expect_one_more(Reason::kHolder);
    leases.clear();
    excluded.prefix = prefix;
    options.strict_prefix_bytes = 8192;

    options.custom_strategy = std::make_shared<CustomStrategy>();
    ASSERT_THAT(router->SetOptions(options), IsOk());
    EXPECT_THAT(decide(ForPrefix(prefix)), IsOk());
    expect_one_more(Reason::kCustom);
    options.custom_strategy = nullptr;
    options.fail_open = true;
    ASSERT_THAT(router->SetOptions(options), IsOk());
    load(2);
    EXPECT_THAT(decide(ForPrefix(prefix)), IsOk());
    expect_one_more(Reason::kFailOpen);
    options.fail_open = false;
    ASSERT_THAT(router->SetOptions(options), IsOk());
    load(2);
    const uint64_t exhausted = router->Stats().exhausted;
    EXPECT_THAT(decide(ForPrefix(prefix)), HasCode(absl::StatusCode::kResourceExhausted));
    EXPECT_EQ(router->Stats().exhausted, exhausted + 1);
    const uint64_t unavailable = router->Stats().unavailable;
    EXPECT_THAT(decide(impossible), HasCode(absl::StatusCode::kUnavailable));
    EXPECT_EQ(router->Stats().unavailable, unavailable + 1);
    EXPECT_EQ(router->Stats().exhausted, exhausted + 1);
    EXPECT_EQ(router->Stats().decisions, expected);
  }
}

TEST(StatsTest, CountsOfAllThreadsAddUp) {
  const auto router = MakeRouter({}, MakeInstances(3));
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 100; ++thread) {  // More than there are stripes.
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) AcquireOk(*router, ForPrefix("prompt " + std::to_string(i)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t decisions = 0;
  for (uint64_t count : router->Stats().decisions) decisions += count;
  EXPECT_EQ(decisions, 10'000u);
  EXPECT_EQ(router->Stats().outstanding, 0u);
}

TEST(StatsTest, CountsStayThroughChangesOfFleetAndOptions) {
  const auto router = MakeRouter({}, MakeInstances(3));
  for (int i = 0; i < 10; ++i) AcquireOk(*router, ForPrefix("prompt"));
  ASSERT_THAT(router->SetInstances(MakeInstances(1)), IsOk());
  ASSERT_THAT(router->SetStrategy(Strategy::kRandom), IsOk());
  EXPECT_EQ(CountOf(router->Stats(), Reason::kHome), 10u);
}

}  // namespace
}  // namespace prefixroute
