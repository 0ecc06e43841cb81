// SPDX-License-Identifier: Apache-2.0
//
// PREFIX_AWARE in strict mode: when a prefix stays at home, and where it goes when it can't.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "src/fleet/fleet.h"
#include "src/strategy/fleet_view_builder.h"
#include "src/strategy/relative_bound.h"
#include "tests/testing/fleet.h"
#include "tests/testing/scale.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::ForPrefix;
using test::IsOk;
using test::MakeInstances;
using test::MakeRouter;
using test::Occupy;
using test::OrderOf;
using test::OutstandingOf;
using test::PrefixesWithHome;
using test::RouteOk;
using test::WithBound;
using ::testing::ElementsAre;

// Ranks of `count` requests of one prefix, none of which finishes.
std::vector<uint32_t> RanksOfConcurrent(Router& router, uint32_t count, std::vector<Lease>& leases) {
  std::vector<uint32_t> ranks;
  for (uint32_t i = 0; i < count; ++i) {
    leases.push_back(AcquireOk(router, ForPrefix("hot")));
    ranks.push_back(leases.back().decision().rank);
  }
  return ranks;
}

TEST(StrictTest, HomeOfTwoLoadedInstancesTakesExactlyNineBeforeTheTenthIsDiverted) {
  const auto router = MakeRouter(WithBound(125, 0, 0), MakeInstances(2));
  const std::vector<Lease> zero = Occupy(*router, 0, 10);
  const std::vector<Lease> one = Occupy(*router, 1, 10);
  std::vector<Lease> leases;
  EXPECT_THAT(RanksOfConcurrent(*router, 10, leases), ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 1, 2));
  EXPECT_EQ(leases[8].decision().reason, Reason::kHome);
  EXPECT_EQ(leases[9].decision().reason, Reason::kDivertedByLoad);
  EXPECT_EQ(leases[9].decision().home, leases[8].decision().instance);
}

TEST(StrictTest, WithoutFloorConcurrentRequestsOfOnePrefixWalkItsOrder) {
  const auto router = MakeRouter(WithBound(125, 0, 0), MakeInstances(7));
  const std::vector<uint32_t> order = OrderOf(*router, ForPrefix("hot"));
  std::vector<Lease> leases;
  EXPECT_THAT(RanksOfConcurrent(*router, 5, leases), ElementsAre(1, 2, 3, 4, 5));
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(leases[i].decision().instance, order[i]);
}

TEST(StrictTest, FloorKeepsEightAtHomeAndTheNextEightAtTheSecond) {
  const auto router = MakeRouter(WithBound(125, 0, 8), MakeInstances(7));
  std::vector<Lease> leases;
  EXPECT_THAT(RanksOfConcurrent(*router, 16, leases), ElementsAre(1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2));
}

// Poisson arrivals, exponential service times, on average 3 outstanding on each of 7 instances.
TEST(StrictTest, FloorKeepsNearlyAllAtHomeUnderLowLoad) {
  struct Running {
    double end;
    Lease lease;
    bool operator<(const Running& other) const { return end > other.end; }  // The first to end is on top.
  };
  const auto share_at_home = [](uint32_t floor) {
    const auto router = MakeRouter(WithBound(125, 0, floor), MakeInstances(7));
    std::mt19937_64 random(1);
    const auto exponential = [&](double mean) {
      return -mean * std::log(static_cast<double>((random() >> 11) + 1) * 0x1p-53);
    };
    constexpr int kRequests = 50'000;
    constexpr double kServiceTime = 1.0;
    std::priority_queue<Running> running;
    double now = 0;
    int at_home = 0;
    for (int i = 0; i < kRequests; ++i) {
      now += exponential(kServiceTime / (7 * 3));
      while (!running.empty() && running.top().end <= now) running.pop();
      const std::string prefix = "prefix " + std::to_string(random() % 1000);
      Lease lease = AcquireOk(*router, ForPrefix(prefix));
      if (lease.decision().reason == Reason::kHome) ++at_home;
      running.push({now + exponential(kServiceTime), std::move(lease)});
    }
    return static_cast<double>(at_home) / kRequests;
  };
  EXPECT_GE(share_at_home(8), 0.97);
  EXPECT_LT(share_at_home(0), 0.9);
}

TEST(StrictTest, HotPrefixFillsItsOrderToTheBoundAndComesHomeAgain) {
  const auto router = MakeRouter(WithBound(125, 0, 0), MakeInstances(7));
  const std::vector<uint32_t> order = OrderOf(*router, ForPrefix("hot"));
  std::vector<Lease> leases;
  RanksOfConcurrent(*router, 1000, leases);
  std::vector<uint32_t> by_rank;
  for (uint32_t index : order) by_rank.push_back(OutstandingOf(*router)[index]);
  EXPECT_THAT(by_rank, ElementsAre(179, 179, 179, 179, 178, 106, 0));
  // The idle instance keeps its own prefixes meanwhile.
  for (const std::string& prefix : PrefixesWithHome(*router, order[6], 1000)) {
    const Lease lease = AcquireOk(*router, ForPrefix(prefix));
    ASSERT_EQ(lease.decision().instance, order[6]);
    ASSERT_EQ(lease.decision().reason, Reason::kHome);
  }
  leases.clear();
  const Lease lease = AcquireOk(*router, ForPrefix("hot"));
  EXPECT_EQ(lease.decision().reason, Reason::kHome);
  EXPECT_EQ(lease.decision().instance, order[0]);
}

TEST(StrictTest, OneOverloadedInstanceDivertsNobodyElsesPrefixes) {
  for (uint32_t floor : {0u, 8u}) {
    const auto router = MakeRouter(WithBound(125, 0, floor), MakeInstances(7));
    const std::vector<Load> loads = {{100}, {0}, {0}, {0}, {0}, {0}, {0}};
    int own = 0;
    for (int i = 0; own < 10'000; ++i) {
      const std::string prefix = "prompt " + std::to_string(i);
      const Decision decision = RouteOk(*router, ForPrefix(prefix), loads);
      if (decision.home == 0) {
        ASSERT_EQ(decision.reason, Reason::kDivertedByLoad);
        ASSERT_EQ(decision.rank, 2u);
        continue;
      }
      ASSERT_EQ(decision.reason, Reason::kHome);
      ASSERT_EQ(decision.instance, decision.home);
      ++own;
    }
  }
}

TEST(StrictTest, OnlyEligibleInstancesCountInTheMean) {
  // Two that can't be chosen have 100 each. Of the other three one has 1, which is the cap: ceil(1.25 * 2 / 3). With
  // all five it would be ceil(1.25 * 202 / 5) = 51.
  const std::vector<Load> loads = {{100}, {100}, {1}, {0}, {0}};
  const auto expect_cap_of_one = [&](Router& router, const Request& exclusions) {
    for (int i = 0; i < 1000; ++i) {
      const std::string prefix = "prompt " + std::to_string(i);
      Request request = exclusions;
      request.prefix = prefix;
      const Decision decision = RouteOk(router, request, loads);
      ASSERT_TRUE(decision.instance == 3 || decision.instance == 4) << decision.instance;
    }
  };
  {
    const auto router = MakeRouter(WithBound(125, 0, 1), MakeInstances(5));
    ASSERT_THAT(router->SetDraining("i-0", true), IsOk());
    ASSERT_THAT(router->SetDraining("i-1", true), IsOk());
    expect_cap_of_one(*router, {});
  }
  {
    const auto router = MakeRouter(WithBound(125, 0, 1), MakeInstances(5));
    const std::vector<uint32_t> excluded = {0, 1};
    Request exclusions;
    exclusions.exclude_indexes = excluded;
    expect_cap_of_one(*router, exclusions);
  }
  {
    const auto router = MakeRouter(WithBound(125, 0, 1), {{"a", 0.0}, {"b", 0.0}, {"c"}, {"d"}, {"e"}});
    expect_cap_of_one(*router, {});
  }
  {
    const auto router = MakeRouter(WithBound(125, 0, 1), {{"a", 1.0, 100}, {"b", 1.0, 100}, {"c"}, {"d"}, {"e"}});
    expect_cap_of_one(*router, {});
  }
}

TEST(StrictTest, HardBoundBelowTheFloorHolds) {
  const auto router = MakeRouter(WithBound(125, 0, 8), MakeInstances(3, /*max_outstanding=*/2));
  std::vector<Lease> leases;
  EXPECT_THAT(RanksOfConcurrent(*router, 6, leases), ElementsAre(1, 1, 2, 2, 3, 3));
  EXPECT_THAT(router->Acquire(ForPrefix("hot")), test::HasCode(absl::StatusCode::kResourceExhausted));
}

TEST(StrictTest, WithoutRelativeBoundOnlyTheHardBoundDiverts) {
  const auto router = MakeRouter(WithBound(0, 0, 0), MakeInstances(3, /*max_outstanding=*/50));
  std::vector<Lease> leases;
  RanksOfConcurrent(*router, 120, leases);
  const std::vector<uint32_t> order = OrderOf(*router, ForPrefix("hot"));
  EXPECT_EQ(OutstandingOf(*router)[order[0]], 50u);
  EXPECT_EQ(OutstandingOf(*router)[order[1]], 50u);
  EXPECT_EQ(OutstandingOf(*router)[order[2]], 20u);
}

// ---- Against the definition in router.h, taken by its word.

__extension__ using Wide = unsigned __int128;

struct ReferenceInstance {
  uint64_t weight = 0;  // In eighths.
  uint32_t max_outstanding = 0;
  uint32_t outstanding = 0;
  bool draining = false;
  bool excluded = false;

  bool available() const { return weight != 0 && !draining && !excluded; }
  bool eligible() const { return available() && (max_outstanding == 0 || outstanding < max_outstanding); }
};

// ceil(dividend / divisor).
Wide Ceil(Wide dividend, Wide divisor) { return dividend / divisor + (dividend % divisor != 0 ? 1 : 0); }

// max(floor, ceil(share) + margin, ceil(share * factor_percent / 100)) for each.
std::vector<Wide> ReferenceCaps(const std::vector<ReferenceInstance>& fleet, const RelativeBound& bound) {
  Wide load = 1;
  Wide weight = 0;
  for (const ReferenceInstance& instance : fleet) {
    if (!instance.eligible()) continue;
    load += instance.outstanding;
    weight += instance.weight;
  }
  std::vector<Wide> caps;
  for (const ReferenceInstance& instance : fleet) {
    if (weight == 0) {
      caps.push_back(0);
      continue;
    }
    const Wide with_margin = Ceil(load * instance.weight, weight) + bound.margin;
    const Wide with_factor = Ceil(load * instance.weight * bound.factor_percent, weight * 100);
    caps.push_back(std::max({Wide{bound.floor}, with_margin, with_factor}));
  }
  return caps;
}

// The first in the order that is eligible and below its cap; kNoInstance without any.
uint32_t ReferenceChoice(const std::vector<ReferenceInstance>& fleet, const std::vector<uint32_t>& order,
                         const RelativeBound& bound) {
  const std::vector<Wide> caps = ReferenceCaps(fleet, bound);
  for (uint32_t index : order) {
    if (fleet[index].eligible() && (bound.factor_percent == 0 || fleet[index].outstanding < caps[index])) return index;
  }
  return kNoInstance;
}

TEST(StrictTest, ChoosesTheFirstOfTheOrderBelowItsBoundsInAnyFleet) {
  std::mt19937_64 random(1);
  const auto below = [&](uint64_t end) { return static_cast<uint32_t>(random() % end); };
  std::array<int, kReasonCount> reasons{};
  int refused = 0;
  const int rounds = test::Scaled(20'000);
  for (int round = 0; round < rounds; ++round) {
    const uint32_t size = 1 + below(10);
    const bool hard_bounds = below(3) == 0;
    const uint32_t greatest_load = below(8) == 0 ? 4'000'000'000 : 1 + below(40);
    RelativeBound bound{below(8) == 0 ? 0 : 100 + below(below(2) == 0 ? 20 : 300), below(3), below(10)};
    std::vector<ReferenceInstance> fleet(size);
    std::vector<Instance> instances = MakeInstances(size);
    std::vector<Load> loads(size);
    for (uint32_t i = 0; i < size; ++i) {
      fleet[i].weight = below(8) == 0 ? 0 : 1 + below(below(4) == 0 ? 1000 : 16);
      if (i == 0) fleet[i].weight = 8;  // All 0 is refused.
      fleet[i].max_outstanding = hard_bounds ? 1 + below(40) : 0;
      fleet[i].outstanding = below(greatest_load);
      fleet[i].draining = below(8) == 0;
      fleet[i].excluded = below(8) == 0;
      instances[i].weight = static_cast<double>(fleet[i].weight) / 8;
      instances[i].max_outstanding = fleet[i].max_outstanding;
      loads[i].outstanding = fleet[i].outstanding;
    }
    RouterOptions options = test::StrictOptions();
    options.relative_bound = bound;
    options.max_instances = 16;
    const auto router = MakeRouter(options, instances);
    const std::string prefix = "prompt " + std::to_string(round);
    const std::vector<uint32_t> order = OrderOf(*router, ForPrefix(prefix));
    std::vector<uint32_t> excluded;
    for (uint32_t i = 0; i < size; ++i) {
      if (fleet[i].draining) {
        ASSERT_THAT(router->SetDraining(instances[i].id, true), IsOk());
      }
      if (fleet[i].excluded) excluded.push_back(i);
    }
    Request request = ForPrefix(prefix);
    request.exclude_indexes = excluded;

    const absl::StatusOr<Decision> decision = router->Route(request, loads);
    const uint32_t expected = ReferenceChoice(fleet, order, bound);
    const bool any_available = std::any_of(fleet.begin(), fleet.end(), [](const auto& i) { return i.available(); });
    if (expected == kNoInstance) {
      // The relative bound alone never refuses.
      ASSERT_TRUE(std::none_of(fleet.begin(), fleet.end(), [](const auto& i) { return i.eligible(); })) << round;
      ASSERT_THAT(decision,
                  test::HasCode(any_available ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kUnavailable));
      ++refused;
      continue;
    }
    ASSERT_THAT(decision, IsOk()) << "round " << round;
    ASSERT_EQ(decision->instance, expected) << "round " << round;
    ASSERT_EQ(decision->home, order[0]) << "round " << round;
    ASSERT_EQ(decision->rank, std::find(order.begin(), order.end(), expected) - order.begin() + 1) << round;
    ASSERT_EQ(decision->reason, expected == order[0]          ? Reason::kHome
                                : fleet[order[0]].available() ? Reason::kDivertedByLoad
                                                              : Reason::kDivertedUnavailable)
        << "round " << round;
    ++reasons[static_cast<size_t>(decision->reason)];
  }
  // All that may happen did.
  EXPECT_GT(reasons[static_cast<size_t>(Reason::kHome)], rounds / 10);
  EXPECT_GT(reasons[static_cast<size_t>(Reason::kDivertedByLoad)], rounds / 20);
  EXPECT_GT(reasons[static_cast<size_t>(Reason::kDivertedUnavailable)], rounds / 20);
  EXPECT_GT(refused, rounds / 100);
}

// The same by the router's own counts, one reservation upon another.
TEST(StrictTest, ReservesBelowTheBoundInAnyFleetAndRefusesNothingForIt) {
  std::mt19937_64 random(2);
  const auto below = [&](uint64_t end) { return static_cast<uint32_t>(random() % end); };
  const int rounds = test::Scaled(500);
  for (int round = 0; round < rounds; ++round) {
    const uint32_t size = 1 + below(10);
    const RelativeBound bound{100 + below(100), below(3), below(5)};
    std::vector<ReferenceInstance> fleet(size);
    std::vector<Instance> instances = MakeInstances(size);
    for (uint32_t i = 0; i < size; ++i) {
      fleet[i].weight = 1 + below(16);
      instances[i].weight = static_cast<double>(fleet[i].weight) / 8;
    }
    RouterOptions options = test::StrictOptions();
    options.relative_bound = bound;
    options.max_instances = 16;
    const auto router = MakeRouter(options, instances);
    std::vector<Lease> leases;
    for (int step = 0; step < 100; ++step) {
      if (below(4) == 0 && !leases.empty()) {
        std::swap(leases[below(leases.size())], leases.back());
        --fleet[leases.back().decision().instance].outstanding;
        leases.pop_back();
        continue;
      }
      const std::string prefix = "prompt " + std::to_string(below(5));
      const uint32_t expected = ReferenceChoice(fleet, OrderOf(*router, ForPrefix(prefix)), bound);
      leases.push_back(AcquireOk(*router, ForPrefix(prefix)));
      ASSERT_EQ(leases.back().decision().instance, expected) << "round " << round << ", step " << step;
      ++fleet[expected].outstanding;
    }
  }
}

// That is why the relative bound refuses nothing.
TEST(StrictTest, CapsAreExactAndSumToMoreThanWhatIsOutstanding) {
  std::mt19937_64 random(3);
  const auto below = [&](uint64_t end) { return static_cast<uint32_t>(random() % end); };
  for (int round = 0; round < 10'000; ++round) {
    const uint32_t size = 1 + below(10);
    const RelativeBound bound{100 + below(below(2) == 0 ? 1 : 100), below(2), below(2)};
    std::vector<ReferenceInstance> reference(size);
    std::vector<Instance> instances = MakeInstances(size);
    std::vector<Load> loads(size);
    Wide load = 0;
    for (uint32_t i = 0; i < size; ++i) {
      reference[i].weight = 1 + below(16);
      reference[i].outstanding = below(50);
      instances[i].weight = static_cast<double>(reference[i].weight) / 8;
      loads[i].outstanding = reference[i].outstanding;
      load += reference[i].outstanding;
    }
    const internal::Fleet fleet(instances, std::vector<uint8_t>(size), std::vector<uint32_t>(size));
    const FleetView view = internal::FleetViewBuilder::OnLoads(fleet, loads.data(), nullptr, PrefixKey(), 0);
    const internal::Caps caps(view, bound);
    const std::vector<Wide> expected = ReferenceCaps(reference, bound);
    Wide sum = 0;
    for (uint32_t i = 0; i < size; ++i) {
      ASSERT_TRUE(caps.Of(i) == expected[i]) << "round " << round;
      sum += caps.Of(i);
    }
    ASSERT_TRUE(sum >= load + 1) << "round " << round;
  }
}

}  // namespace
}  // namespace prefixroute
