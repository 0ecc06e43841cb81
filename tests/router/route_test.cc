// SPDX-License-Identifier: Apache-2.0
//
// Route: a pure function of fleet, options, request and loads; and, but in strict mode, of what it was asked before.

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/testing/fleet.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::ForPrefix;
using test::IsOk;
using test::MakeInstances;
using test::MakeRouter;
using test::RouteOk;

// The same decision in words that don't depend on the order of the instances.
struct NamedDecision {
  NamedDecision(const Decision& decision, const std::vector<Instance>& instances)
      : instance(instances.at(decision.instance).id),
        home(decision.home == kNoInstance ? "" : instances.at(decision.home).id),
        rank(decision.rank),
        reason(ReasonName(decision.reason)) {}
  bool operator==(const NamedDecision& other) const {
    return instance == other.instance && home == other.home && rank == other.rank && reason == other.reason;
  }
  std::string instance;
  std::string home;
  uint32_t rank;
  std::string_view reason;
};

// Two gateways whose routers have the same fleet in other orders and with other histories decide alike.
TEST(RouteTest, SameRequestAndLoadsGetTheSameDecisionFromEveryRouter) {
  std::mt19937_64 random(1);
  for (int fleet = 0; fleet < 50; ++fleet) {
    RouterOptions options = test::WithBound(100 + random() % 100, random() % 3, random() % 4);
    options.fail_open = random() % 2 == 0;
    std::vector<Instance> instances = MakeInstances(1 + static_cast<uint32_t>(random() % 12));
    for (Instance& instance : instances) {
      instance.weight = static_cast<double>(1 + random() % 4) / 2;
      instance.max_outstanding = static_cast<uint32_t>(random() % 12);  // 0 is none.
    }
    const auto router = MakeRouter(options, instances);

    std::vector<Instance> shuffled = instances;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    const auto other = MakeRouter(test::WithStrategy(Strategy::kRandom), MakeInstances(20));
    std::vector<Lease> leases;
    for (int i = 0; i < 30; ++i) leases.push_back(AcquireOk(*other, ForPrefix(std::to_string(i))));
    ASSERT_THAT(other->SetInstances({{"i-0"}, {"passing by"}}), IsOk());
    ASSERT_THAT(other->SetInstances(shuffled), IsOk());
    ASSERT_THAT(other->SetOptions(options), IsOk());

    for (int i = 0; i < 200; ++i) {
      const std::string prefix = i % 10 == 0 ? "" : "prompt " + std::to_string(i);
      Request request = ForPrefix(prefix);
      request.random = random() | 1;
      request.strategy = static_cast<Strategy>(random() % 3);
      const std::string_view excluded = instances[random() % instances.size()].id;
      if (i % 3 == 0) request.exclude = absl::MakeConstSpan(&excluded, 1);
      std::vector<Load> loads(instances.size());
      for (Load& load : loads) load.outstanding = static_cast<uint32_t>(random() % 12);
      std::vector<Load> shuffled_loads;
      for (const Instance& instance : shuffled) {
        const auto same = [&](const Instance& original) { return original.id == instance.id; };
        shuffled_loads.push_back(
            loads[static_cast<size_t>(std::find_if(instances.begin(), instances.end(), same) - instances.begin())]);
      }
      const absl::StatusOr<Decision> decision = router->Route(request, loads);
      const absl::StatusOr<Decision> same = other->Route(request, shuffled_loads);
      ASSERT_EQ(decision.status(), same.status());
      if (!decision.ok()) continue;
      ASSERT_EQ(NamedDecision(*decision, instances), NamedDecision(*same, shuffled));
      ASSERT_EQ(NamedDecision(*decision, instances), NamedDecision(RouteOk(*router, request, loads), instances));
    }
  }
}

// What PREFIX_AWARE remembers is told by ids: two gateways that see the same traffic decide alike, whatever the order
// in which they list the instances.
TEST(RouteTest, SameTrafficGetsTheSameDecisionsFromEveryRouter) {
  std::mt19937_64 random(2);
  for (int fleet = 0; fleet < 20; ++fleet) {
    RouterOptions options;
    options.prefix_entries = kMinPrefixEntries;
    std::vector<Instance> instances = MakeInstances(1 + static_cast<uint32_t>(random() % 12));
    for (Instance& instance : instances) {
      instance.weight = static_cast<double>(1 + random() % 4) / 2;
      instance.max_outstanding = 4 + static_cast<uint32_t>(random() % 8);
    }
    std::vector<uint32_t> places(instances.size());
    std::iota(places.begin(), places.end(), 0);
    std::shuffle(places.begin(), places.end(), random);
    std::vector<Instance> shuffled;
    for (uint32_t place : places) shuffled.push_back(instances[place]);
    const auto router = MakeRouter(options, instances);
    const auto other = MakeRouter(options, shuffled);
    for (int i = 0; i < 1'000; ++i) {
      // Conversations of one application, which grow.
      const std::string prefix = std::string(500, 'a') + std::string(1 + random() % 3'000, 'a' + random() % 20);
      Request request = ForPrefix(prefix);
      request.random = random() | 1;
      std::vector<Load> loads(instances.size());
      for (Load& load : loads) load = {static_cast<uint32_t>(random() % 6), random() % 10'000};
      std::vector<Load> shuffled_loads;
      for (uint32_t place : places) shuffled_loads.push_back(loads[place]);
      const absl::StatusOr<Decision> decision = router->Route(request, loads);
      const absl::StatusOr<Decision> same = other->Route(request, shuffled_loads);
      ASSERT_EQ(decision.status(), same.status());
      if (!decision.ok()) continue;
      ASSERT_EQ(NamedDecision(*decision, instances), NamedDecision(*same, shuffled)) << fleet << " " << i;
      ASSERT_EQ(decision->matched_bytes, same->matched_bytes);
      ASSERT_EQ(decision->uncached_bytes, same->uncached_bytes);
    }
    if (instances.size() > 1) {
      EXPECT_GT(test::CountOf(router->Stats(), Reason::kHolder), 0u);
    }
  }
}

TEST(RouteTest, ReservesNothingAndGoesByTheCallersLoadsAlone) {
  const auto router = MakeRouter(test::WithStrategy(Strategy::kLeastOutstandingRequests), MakeInstances(3));
  const std::vector<Lease> leases = test::Occupy(*router, 0, 5);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(RouteOk(*router, {}, std::vector<Load>{{0}, {1}, {1}}).instance, 0u);
  }
  EXPECT_THAT(test::OutstandingOf(*router), ::testing::ElementsAre(5, 0, 0));
}

TEST(RouteTest, LoadsBeyondEveryCountOfOurOwnAreExact) {
  const auto router = MakeRouter(test::WithBound(125, 0, 0), MakeInstances(3));
  const std::string prefix = test::PrefixesWithHome(*router, 0, 1)[0];
  const uint32_t kBillions = 3'000'000'000;
  // Level: ceil(1.25 * 9,000,000,001 / 3) is far above, and the home keeps its prefix.
  EXPECT_EQ(RouteOk(*router, ForPrefix(prefix), std::vector<Load>(3, {kBillions})).reason, Reason::kHome);
  // The cap is ceil(1.25 * 3,000,000,001 / 3) = 1,250,000,001.
  Decision decision = RouteOk(*router, ForPrefix(prefix), std::vector<Load>{{kBillions}, {0}, {0}});
  EXPECT_EQ(decision.reason, Reason::kDivertedByLoad);
  EXPECT_EQ(decision.rank, 2u);
  // 1.25 * (x + 2,000,000,001) / 3 > x as long as x < 1,428,571,429.3.
  decision = RouteOk(*router, ForPrefix(prefix), std::vector<Load>{{1'428'571'429}, {1'000'000'000}, {1'000'000'000}});
  EXPECT_EQ(decision.reason, Reason::kHome);
  decision = RouteOk(*router, ForPrefix(prefix), std::vector<Load>{{1'428'571'430}, {1'000'000'000}, {1'000'000'000}});
  EXPECT_EQ(decision.reason, Reason::kDivertedByLoad);

  Request least;
  least.strategy = Strategy::kLeastOutstandingRequests;
  EXPECT_EQ(RouteOk(*router, least, std::vector<Load>{{kBillions}, {kBillions - 1}, {kBillions}}).instance, 1u);
  EXPECT_EQ(RouteOk(*router, least, std::vector<Load>{{UINT32_MAX}, {UINT32_MAX}, {UINT32_MAX - 1}}).instance, 2u);
}

}  // namespace
}  // namespace prefixroute
