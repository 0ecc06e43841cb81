// SPDX-License-Identifier: Apache-2.0
//
// Every option matters: two values, two outcomes. And the defaults are those that the headers document.

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/testing/fleet.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::ForPrefix;
using test::HasCode;
using test::IsOk;
using test::MakeInstances;
using test::MakeRouter;
using test::OrderOf;
using test::OutstandingOf;
using test::PrefixesWithHome;
using test::RouteOk;
using ::testing::ElementsAre;

class AlwaysTheLast final : public RoutingStrategy {
 public:
  Choice Choose(const FleetView& fleet) const noexcept override {
    Choice choice;
    choice.instance = fleet.size() - 1;
    return choice;
  }
};

// How many requests of one prefix its home takes before one is diverted.
uint32_t TakenAtHome(Router& router) {
  std::vector<Lease> leases;
  for (int i = 0; i < 1000; ++i) {
    leases.push_back(AcquireOk(router, ForPrefix("hot")));
    if (leases.back().decision().reason != Reason::kHome) return static_cast<uint32_t>(leases.size()) - 1;
  }
  return UINT32_MAX;
}
uint32_t TakenAtHome(const RouterOptions& options) { return TakenAtHome(*MakeRouter(options, MakeInstances(7))); }

TEST(OptionsTest, DefaultsAreThoseThatAreDocumented) {
  const RouterOptions options = MakeRouter({}, {})->options();
  EXPECT_EQ(options.strategy, Strategy::kPrefixAware);
  EXPECT_EQ(options.custom_strategy, nullptr);
  EXPECT_EQ(options.max_prefix_bytes, 1'048'576u);
  EXPECT_EQ(options.strict_prefix_bytes, 0u);
  EXPECT_EQ(options.relative_bound.factor_percent, 125u);
  EXPECT_EQ(options.relative_bound.margin, 0u);
  EXPECT_EQ(options.relative_bound.floor, 16u);
  EXPECT_FALSE(options.fail_open);
  EXPECT_EQ(options.max_instances, 1024u);
  EXPECT_EQ(options.prefix_entries, 65'536u);
  EXPECT_EQ(options.gateway_replicas, 1u);

  const Instance instance;
  EXPECT_EQ(instance.weight, 1.0);
  EXPECT_EQ(instance.max_outstanding, 0u);
}

TEST(OptionsTest, DefaultsAreThoseThatAct) {
  const auto router = MakeRouter({}, MakeInstances(7));
  // PREFIX_AWARE, and not strict: it remembers.
  EXPECT_EQ(AcquireOk(*router, ForPrefix("prompt")).decision().matched_bytes, 0u);
  EXPECT_EQ(AcquireOk(*router, ForPrefix("prompt")).decision().matched_bytes, 6u);
  // Strict, with a floor of 16.
  ASSERT_THAT(router->SetOptions(test::StrictOptions()), IsOk());
  EXPECT_EQ(TakenAtHome(*router), 16u);
  // A factor of 125 % without margin: the cap is ceil(1.25 * (360 + h + 1) / 7), which is 79 for all h here.
  const std::string prefix = PrefixesWithHome(*router, 0, 1)[0];
  std::vector<Load> loads(7, {60});
  loads[0] = {78};
  EXPECT_EQ(RouteOk(*router, ForPrefix(prefix), loads).reason, Reason::kHome);
  loads[0] = {79};
  EXPECT_EQ(RouteOk(*router, ForPrefix(prefix), loads).reason, Reason::kDivertedByLoad);
  // Full is refused.
  ASSERT_THAT(router->SetInstances(MakeInstances(1, /*max_outstanding=*/1)), IsOk());
  const Lease lease = AcquireOk(*router, ForPrefix("prompt"));
  EXPECT_THAT(router->Acquire(ForPrefix("prompt")), HasCode(absl::StatusCode::kResourceExhausted));
  // The first MiB of a prefix counts.
  ASSERT_THAT(router->SetOptions({}), IsOk());
  ASSERT_THAT(router->SetInstances(MakeInstances(64)), IsOk());
  const std::string prompt(1'048'577, 'x');
  EXPECT_EQ(AcquireOk(*router, ForPrefix(prompt)).decision().prefix_bytes, 1'048'576u);
  // Room for 1024.
  EXPECT_THAT(router->SetInstances(MakeInstances(1024)), IsOk());
  EXPECT_THAT(router->SetInstances(MakeInstances(1025)), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST(OptionsTest, StrategyMatters) {
  const std::vector<Load> loads(3);
  const auto reason = [&](Strategy strategy) {
    return RouteOk(*MakeRouter(test::WithStrategy(strategy), MakeInstances(3)), ForPrefix("prompt"), loads).reason;
  };
  EXPECT_EQ(reason(Strategy::kRandom), Reason::kRandom);
  EXPECT_EQ(reason(Strategy::kLeastOutstandingRequests), Reason::kLeastOutstanding);
  EXPECT_EQ(reason(Strategy::kPrefixAware), Reason::kHome);
}

TEST(OptionsTest, CustomStrategyMattersAndComesFirst) {
  RouterOptions options = test::WithStrategy(Strategy::kLeastOutstandingRequests);
  options.custom_strategy = std::make_shared<AlwaysTheLast>();
  const auto router = MakeRouter(options, MakeInstances(3));
  EXPECT_EQ(RouteOk(*router, ForPrefix("prompt"), std::vector<Load>{{0}, {1}, {2}}).instance, 2u);
  options.custom_strategy = nullptr;
  ASSERT_THAT(router->SetOptions(options), IsOk());
  EXPECT_EQ(RouteOk(*router, ForPrefix("prompt"), std::vector<Load>{{0}, {1}, {2}}).instance, 0u);
}

TEST(OptionsTest, MaxPrefixBytesMatters) {
  RouterOptions options;
  options.max_prefix_bytes = 5;
  const auto router = MakeRouter(options, MakeInstances(64));
  EXPECT_EQ(OrderOf(*router, ForPrefix("promp")), OrderOf(*router, ForPrefix("prompt")));
  EXPECT_EQ(AcquireOk(*router, ForPrefix("prompt")).decision().prefix_bytes, 5u);
  options.max_prefix_bytes = 6;
  ASSERT_THAT(router->SetOptions(options), IsOk());
  EXPECT_NE(OrderOf(*router, ForPrefix("promp")), OrderOf(*router, ForPrefix("prompt")));
}

TEST(OptionsTest, StrictPrefixBytesMatter) {
  const auto router = MakeRouter(test::StrictOptions(5), MakeInstances(64));
  EXPECT_EQ(OrderOf(*router, ForPrefix("promp")), OrderOf(*router, ForPrefix("prompt")));
  for (int i = 0; i < 2; ++i) {
    const Decision decision = AcquireOk(*router, ForPrefix("prompt")).decision();
    EXPECT_EQ(decision.matched_bytes, 0u) << "it remembers nothing";
    EXPECT_EQ(decision.uncached_bytes, 0u);
  }
  ASSERT_THAT(router->SetOptions(test::StrictOptions(6)), IsOk());
  EXPECT_NE(OrderOf(*router, ForPrefix("promp")), OrderOf(*router, ForPrefix("prompt")));
  ASSERT_THAT(router->SetOptions(test::StrictOptions(0)), IsOk());
  AcquireOk(*router, ForPrefix("prompt"));
  EXPECT_EQ(AcquireOk(*router, ForPrefix("prompt")).decision().matched_bytes, 6u);
}

TEST(OptionsTest, KeysOfTheirKeyBytesStandForThePrompt) {
  RouterOptions adaptive;
  adaptive.max_prefix_bytes = 6;
  for (const RouterOptions& options : {adaptive, test::StrictOptions(5)}) {
    const auto router = MakeRouter(options, MakeInstances(64));
    const PrefixKey key = MakePrefixKey("prompt and more", "", options.key_bytes());
    Request request;
    request.key = &key;
    EXPECT_EQ(OrderOf(*router, request), OrderOf(*router, ForPrefix("prompt and more")));
  }
}

TEST(OptionsTest, PrefixEntriesMatter) {
  const auto remembers_after_5000_others = [](uint32_t prefix_entries) {
    RouterOptions options;
    options.prefix_entries = prefix_entries;
    const auto router = MakeRouter(options, MakeInstances(3));
    AcquireOk(*router, ForPrefix("prompt"));
    for (int i = 0; i < 5'000; ++i) AcquireOk(*router, ForPrefix("other " + std::to_string(i)));
    return AcquireOk(*router, ForPrefix("prompt")).decision().matched_bytes != 0;
  };
  EXPECT_FALSE(remembers_after_5000_others(1'024));
  EXPECT_TRUE(remembers_after_5000_others(65'536));
}

TEST(OptionsTest, FloorMatters) {
  EXPECT_EQ(TakenAtHome(test::WithBound(125, 0, 0)), 1u);
  EXPECT_EQ(TakenAtHome(test::WithBound(125, 0, 3)), 3u);
  EXPECT_EQ(TakenAtHome(test::WithBound(125, 0, 20)), 20u);
}

TEST(OptionsTest, MarginMatters) {
  // With k at home, ceil((k + 1) / 7) + margin.
  EXPECT_EQ(TakenAtHome(test::WithBound(100, 0, 0)), 1u);
  EXPECT_EQ(TakenAtHome(test::WithBound(100, 2, 0)), 3u);
  EXPECT_EQ(TakenAtHome(test::WithBound(100, 7, 0)), 9u);  // ceil(9 / 7) + 7.
}

TEST(OptionsTest, FactorMatters) {
  // With k at home, ceil((k + 1) / 7 * factor).
  EXPECT_EQ(TakenAtHome(test::WithBound(300, 0, 0)), 1u);
  EXPECT_EQ(TakenAtHome(test::WithBound(600, 0, 0)), 6u);  // ceil(7 / 7 * 6).
  EXPECT_EQ(TakenAtHome(test::WithBound(700, 0, 0)), UINT32_MAX);
  EXPECT_EQ(TakenAtHome(test::WithBound(0, 0, 0)), UINT32_MAX) << "0 turns the bound off";
  EXPECT_EQ(TakenAtHome(test::WithBound(0, 1, 1)), UINT32_MAX) << "0 turns the bound off, margin and floor with it";
}

TEST(OptionsTest, FailOpenMatters) {
  RouterOptions options;
  const auto router = MakeRouter(options, MakeInstances(2, /*max_outstanding=*/1));
  std::vector<Lease> leases;
  for (int i = 0; i < 2; ++i) leases.push_back(AcquireOk(*router, ForPrefix("prompt")));
  EXPECT_THAT(router->Acquire(ForPrefix("prompt")), HasCode(absl::StatusCode::kResourceExhausted));
  options.fail_open = true;
  ASSERT_THAT(router->SetOptions(options), IsOk());
  EXPECT_THAT(router->Acquire(ForPrefix("prompt")), IsOk());
}

TEST(OptionsTest, MaxInstancesMatters) {
  RouterOptions options;
  options.max_instances = 2;
  EXPECT_THAT(Router::Create(options, MakeInstances(3)), HasCode(absl::StatusCode::kInvalidArgument));
  options.max_instances = 3;
  EXPECT_THAT(Router::Create(options, MakeInstances(3)), IsOk());
  options.max_instances = kMaxInstances;
  const auto router = MakeRouter(options, MakeInstances(kMaxInstances));
  Request request = ForPrefix("prompt");
  const std::vector<uint32_t> all_others = test::AllBut(kMaxInstances - 1, kMaxInstances);
  request.exclude_indexes = all_others;
  EXPECT_EQ(AcquireOk(*router, request).decision().instance, kMaxInstances - 1);
}

TEST(OptionsTest, SetOptionsTakesEffectAtTheNextDecisionAndKeepsLeases) {
  const auto router = MakeRouter(test::WithBound(125, 0, 2), MakeInstances(7));
  std::vector<Lease> leases;
  for (int i = 0; i < 2; ++i) leases.push_back(AcquireOk(*router, ForPrefix("hot")));
  ASSERT_THAT(router->SetOptions(test::WithBound(125, 0, 3)), IsOk());
  leases.push_back(AcquireOk(*router, ForPrefix("hot")));
  EXPECT_EQ(leases.back().decision().reason, Reason::kHome);
  leases.push_back(AcquireOk(*router, ForPrefix("hot")));
  EXPECT_EQ(leases.back().decision().reason, Reason::kDivertedByLoad);
  ASSERT_THAT(router->SetOptions(test::WithBound(125, 0, 1)), IsOk());
  leases.push_back(AcquireOk(*router, ForPrefix("hot")));
  EXPECT_EQ(leases.back().decision().reason, Reason::kDivertedByLoad);
  EXPECT_EQ(router->Stats().outstanding, 5u);
  leases.clear();
  EXPECT_EQ(router->Stats().outstanding, 0u);
}

TEST(OptionsTest, SetStrategyChangesTheStrategyAlone) {
  RouterOptions options = test::WithBound(150, 3, 5);
  options.custom_strategy = std::make_shared<AlwaysTheLast>();
  options.max_prefix_bytes = 77;
  options.fail_open = true;
  options.max_instances = 9;
  options.prefix_entries = 2048;
  const auto router = MakeRouter(options, MakeInstances(3));
  ASSERT_THAT(router->SetStrategy(Strategy::kRandom), IsOk());
  const RouterOptions now = router->options();
  EXPECT_EQ(now.strategy, Strategy::kRandom);
  EXPECT_EQ(now.custom_strategy, nullptr);
  EXPECT_EQ(now.max_prefix_bytes, 77u);
  EXPECT_EQ(now.strict_prefix_bytes, 8192u);
  EXPECT_EQ(now.relative_bound.factor_percent, 150u);
  EXPECT_EQ(now.relative_bound.margin, 3u);
  EXPECT_EQ(now.relative_bound.floor, 5u);
  EXPECT_TRUE(now.fail_open);
  EXPECT_EQ(now.max_instances, 9u);
  EXPECT_EQ(now.prefix_entries, 2048u);
  EXPECT_EQ(AcquireOk(*router, ForPrefix("prompt")).decision().reason, Reason::kRandom);
}

TEST(OptionsTest, RequestsOwnStrategyGoesBeforeTheRouters) {
  RouterOptions options = test::WithStrategy(Strategy::kPrefixAware);
  const auto router = MakeRouter(options, MakeInstances(3));
  for (bool custom : {false, true}) {
    if (custom) options.custom_strategy = std::make_shared<AlwaysTheLast>();
    ASSERT_THAT(router->SetOptions(options), IsOk());
    Request request = ForPrefix("prompt");
    request.strategy = Strategy::kRandom;
    EXPECT_EQ(AcquireOk(*router, request).decision().reason, Reason::kRandom);
    request.strategy = Strategy::kLeastOutstandingRequests;
    EXPECT_EQ(AcquireOk(*router, request).decision().reason, Reason::kLeastOutstanding);
    request.strategy = Strategy::kPrefixAware;
    EXPECT_EQ(AcquireOk(*router, request).decision().reason, Reason::kHome);
    request.strategy.reset();
    EXPECT_EQ(AcquireOk(*router, request).decision().reason, custom ? Reason::kCustom : Reason::kHome);
  }
}

}  // namespace
}  // namespace prefixroute
