// SPDX-License-Identifier: Apache-2.0
//
// Explain() shows what the next decision goes by, and changes nothing.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/state/shared_block.h"
#include "tests/testing/fleet.h"
#include "tests/testing/scale.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::ForPrefix;
using test::HasCode;
using test::IsOk;
using test::MakeInstances;
using test::MakeRouter;
using test::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// A fleet as it may be at any moment, and what may be asked of it.
class Situations {
 public:
  explicit Situations(uint64_t seed) : random_(seed) {
    for (int i = 0; i < 6; ++i) systems_.push_back(Text(Below(8'000)));
  }

  uint32_t Below(uint64_t end) { return static_cast<uint32_t>(random_() % end); }

  std::unique_ptr<Router> MakeFleet() {
    std::vector<Instance> instances = MakeInstances(1 + Below(12));
    for (Instance& instance : instances) {
      instance.weight = Below(4);
      instance.max_outstanding = Below(3) == 0 ? 1 + Below(4) : 0;
    }
    instances[Below(instances.size())].weight = 1;
    RouterOptions options;
    options.gateway_replicas = 1 + Below(3);
    options.max_instances = 16;
    options.prefix_entries = kMinPrefixEntries;
    size_ = static_cast<uint32_t>(instances.size());
    return MakeRouter(options, instances);
  }

  // Prompts that share their beginnings at all depths.
  std::string Prompt() {
    const std::string& system = systems_[Below(systems_.size())];
    return system.substr(0, Below(4) == 0 ? Below(system.size() + 1) : system.size()) + Text(Below(2'000) + 1);
  }
  std::vector<uint32_t> Exclusions() {
    std::vector<uint32_t> excluded;
    for (uint32_t i = 0; i < size_; ++i) {
      if (Below(6) == 0) excluded.push_back(i);
    }
    return excluded;
  }
  std::vector<Load> Loads() {
    std::vector<Load> loads;
    for (uint32_t i = 0; i < size_; ++i) loads.push_back({Below(6), Below(3) == 0 ? Below(100'000) : 0});
    return loads;
  }

  // Something happens to one instance, or one lease.
  void Stir(Router& router, std::vector<Lease>& leases) {
    const std::string id = "i-" + std::to_string(Below(size_));
    switch (Below(8)) {
      case 0:
        EXPECT_THAT(router.SetDraining(id, Below(2) == 0), IsOk());
        break;
      case 1:
        EXPECT_THAT(router.ReportLoad(id, {Below(10), Below(10)}), IsOk());
        break;
      case 2:
        if (Below(4) == 0) {
          EXPECT_THAT(router.ForgetCache(id), IsOk());
        }
        break;
      default:
        if (leases.empty()) break;
        Lease& lease = leases[Below(leases.size())];
        lease.FirstToken();
        if (Below(2) == 0) lease = Lease();
    }
  }

 private:
  std::string Text(uint32_t size) {
    std::string text(size, '\0');
    for (char& byte : text) byte = static_cast<char>(random_());
    return text;
  }

  std::mt19937_64 random_;
  std::vector<std::string> systems_;
  uint32_t size_ = 0;
};

// The decision is what was explained.
void ExpectExplains(const std::vector<InstanceCost>& costs, const Decision& decision) {
  double least = std::numeric_limits<double>::infinity();
  for (const InstanceCost& cost : costs) {
    if (cost.eligible) least = std::min(least, cost.cost);
  }
  const InstanceCost& chosen = costs[decision.instance];
  EXPECT_TRUE(chosen.eligible);
  EXPECT_EQ(chosen.cost, least);
  EXPECT_EQ(chosen.instance, decision.instance);
  EXPECT_EQ(chosen.rank, decision.rank);
  EXPECT_EQ(chosen.matched_bytes, decision.matched_bytes);
  EXPECT_EQ(chosen.uncached_bytes, decision.uncached_bytes);
  EXPECT_EQ(costs[decision.home].rank, 1u);
}

// Ranks count all that have weight.
void ExpectRanks(const std::vector<InstanceCost>& costs, const Router& router) {
  const std::vector<InstanceStats> instances = router.Stats().instances;
  ASSERT_EQ(costs.size(), instances.size());
  std::set<uint32_t> ranks;
  for (size_t i = 0; i < costs.size(); ++i) {
    EXPECT_EQ(costs[i].instance, i);
    if (instances[i].weight == 0) {
      EXPECT_EQ(costs[i].rank, 0u);
      EXPECT_FALSE(costs[i].eligible);
    } else {
      EXPECT_TRUE(ranks.insert(costs[i].rank).second);
    }
  }
  EXPECT_EQ(*ranks.begin(), 1u);
  EXPECT_EQ(*ranks.rbegin(), ranks.size());
}

TEST(ExplainTest, TheLeastCostIsTheNextDecisionInEverySituation) {
  Situations situations(1);
  int refused = 0;
  int decided = 0;
  const int fleets = test::Scaled(100);
  for (int fleet = 0; fleet < fleets; ++fleet) {
    const auto router = situations.MakeFleet();
    std::vector<Lease> leases;
    for (int step = 0; step < 60; ++step) {
      situations.Stir(*router, leases);
      const std::string prompt = situations.Prompt();
      const std::vector<uint32_t> excluded = situations.Exclusions();
      Request request = ForPrefix(prompt);
      request.exclude_indexes = excluded;
      const bool by_loads = situations.Below(3) == 0;
      const std::vector<Load> loads = by_loads ? situations.Loads() : std::vector<Load>();
      const absl::StatusOr<std::vector<InstanceCost>> costs = router->Explain(request, loads);
      ASSERT_THAT(costs, IsOk());
      ExpectRanks(*costs, *router);
      const bool any_eligible =
          std::any_of(costs->begin(), costs->end(), [](const InstanceCost& cost) { return cost.eligible; });
      absl::StatusOr<Decision> decision;
      if (by_loads) {
        for (const InstanceCost& cost : *costs) {
          ASSERT_EQ(cost.outstanding, loads[cost.instance].outstanding);
          ASSERT_EQ(cost.pending_bytes, loads[cost.instance].pending_bytes);
        }
        decision = router->Route(request, loads);
      } else if (absl::StatusOr<Lease> lease = router->Acquire(request); lease.ok()) {
        decision = lease->decision();
        leases.push_back(*std::move(lease));
      } else {
        decision = lease.status();
      }
      ASSERT_EQ(decision.ok(), any_eligible) << decision.status();
      if (decision.ok()) ExpectExplains(*costs, *decision);
      ++(decision.ok() ? decided : refused);
      ASSERT_FALSE(HasFailure()) << "fleet " << fleet << ", step " << step;
    }
  }
  EXPECT_GT(refused, decided / 100);
  EXPECT_GT(decided, refused);
}

TEST(ExplainTest, DecidesNothing) {
  const test::SharedBlock block({16, 3, kMinPrefixEntries});
  const auto router = block.MakeRouter(1, MakeInstances(5, /*max_outstanding=*/4));
  Situations situations(2);
  std::vector<Lease> leases;
  for (int i = 0; i < 15; ++i) leases.push_back(AcquireOk(*router, ForPrefix(situations.Prompt())));
  const std::string memory(static_cast<const char*>(block.data()), block.size());
  const RouterStats stats = router->Stats();
  for (int i = 0; i < 100; ++i) {
    const std::string prompt = situations.Prompt();
    const std::vector<Load> loads(i % 2 == 0 ? 0 : 5, {1, 1'000});
    EXPECT_THAT(router->Explain(ForPrefix(prompt), loads), IsOk());
  }
  EXPECT_EQ(std::memcmp(memory.data(), block.data(), block.size()), 0);
  EXPECT_EQ(router->Stats().decisions, stats.decisions);
  EXPECT_EQ(router->Stats().outstanding, stats.outstanding);
  EXPECT_EQ(router->Stats().unavailable, 0u);
  EXPECT_EQ(router->Stats().exhausted, 0u);
}

TEST(ExplainTest, LaterDecisionsAreThoseOfARouterThatNeverExplained) {
  Situations situations(3);
  const auto silent = MakeRouter({}, MakeInstances(5));
  const auto explaining = MakeRouter({}, MakeInstances(5));
  std::vector<Lease> leases;
  for (int i = 0; i < 500; ++i) {
    const std::string prompt = situations.Prompt();
    for (int times = 0; times < 3; ++times) EXPECT_THAT(explaining->Explain(ForPrefix(prompt)), IsOk());
    leases.push_back(AcquireOk(*silent, ForPrefix(prompt)));
    leases.push_back(AcquireOk(*explaining, ForPrefix(prompt)));
    const Decision& one = leases[leases.size() - 2].decision();
    const Decision& other = leases.back().decision();
    ASSERT_EQ(one.instance, other.instance) << "request " << i;
    ASSERT_EQ(one.uncached_bytes, other.uncached_bytes) << "request " << i;
    if (leases.size() > 20) leases.erase(leases.begin(), leases.begin() + 2);
  }
}

// ---- What can't be explained.

TEST(ExplainTest, OtherStrategiesAndEmptyPrefixesHaveNoCosts) {
  constexpr auto kFailed = absl::StatusCode::kFailedPrecondition;
  const auto router = MakeRouter({}, MakeInstances(3));
  EXPECT_THAT(router->Explain({}), StatusIs(kFailed, HasSubstr("prefix is empty")));
  const PrefixKey empty;
  Request request = ForPrefix("prompt");
  request.key = &empty;
  EXPECT_THAT(router->Explain(request), StatusIs(kFailed, HasSubstr("prefix is empty")));
  request.key = nullptr;
  for (Strategy strategy : {Strategy::kRandom, Strategy::kLeastOutstandingRequests}) {
    request.strategy = strategy;
    EXPECT_THAT(router->Explain(request), StatusIs(kFailed, HasSubstr("strategy")));
    ASSERT_THAT(router->SetStrategy(strategy), IsOk());
    EXPECT_THAT(router->Explain(ForPrefix("prompt")), StatusIs(kFailed, HasSubstr("strategy")));
  }
  request.strategy = Strategy::kPrefixAware;
  EXPECT_THAT(router->Explain(request), IsOk()) << "the request's own strategy counts";
  ASSERT_THAT(router->SetOptions(test::StrictOptions()), IsOk());
  EXPECT_THAT(router->Explain(request), StatusIs(kFailed, HasSubstr("strict")));
}

TEST(ExplainTest, BadInputIsNamed) {
  const auto router = MakeRouter({}, MakeInstances(3));
  for (size_t size : {1, 2, 4}) {
    EXPECT_THAT(router->Explain(ForPrefix("prompt"), std::vector<Load>(size)),
                StatusIs(kInvalid, AllOf(HasSubstr("loads"), HasSubstr(std::to_string(size)), HasSubstr("3"))));
  }
  const std::vector<uint32_t> indexes = {0, 3};
  Request request = ForPrefix("prompt");
  request.exclude_indexes = indexes;
  EXPECT_THAT(router->Explain(request), StatusIs(kInvalid, HasSubstr("exclude_indexes[1] is 3")));
  request = ForPrefix("prompt");
  request.strategy = static_cast<Strategy>(3);
  EXPECT_THAT(router->Explain(request), StatusIs(kInvalid, HasSubstr("strategy is 3")));
}

TEST(ExplainTest, AFleetWithoutInstancesHasNoCosts) {
  const auto router = MakeRouter({}, {});
  const absl::StatusOr<std::vector<InstanceCost>> costs = router->Explain(ForPrefix("prompt"));
  ASSERT_THAT(costs, IsOk());
  EXPECT_TRUE(costs->empty());
}

}  // namespace
}  // namespace prefixroute
