// SPDX-License-Identifier: Apache-2.0
//
// A strategy from outside the library: what it sees, what it may answer, and what becomes of a bad answer.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/rendezvous.h"
#include "prefixroute/router.h"
#include "prefixroute/strategy.h"
#include "tests/testing/fleet.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::ForPrefix;
using test::HasCode;
using test::IsOk;
using test::MakeInstances;
using test::MakeRouter;
using test::OutstandingOf;
using test::RouteOk;
using test::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Does what a test says, and counts how often it is asked.
class Rule final : public RoutingStrategy {
 public:
  explicit Rule(std::function<Choice(const FleetView&)> choose) : choose_(std::move(choose)) {}
  Choice Choose(const FleetView& fleet) const noexcept override {
    ++asked;
    return choose_(fleet);
  }

  mutable std::atomic<int> asked{0};

 private:
  std::function<Choice(const FleetView&)> choose_;
};

Choice ChoiceOf(uint32_t instance, uint32_t limit = UINT32_MAX) {
  Choice choice;
  choice.instance = instance;
  choice.limit = limit;
  return choice;
}

RouterOptions WithRule(std::shared_ptr<const RoutingStrategy> rule) {
  RouterOptions options;
  options.custom_strategy = std::move(rule);
  return options;
}
RouterOptions With(std::function<Choice(const FleetView&)> choose) {
  return WithRule(std::make_shared<Rule>(std::move(choose)));
}

TEST(CustomStrategyTest, ChoosesInPlaceOfTheBuiltInOnes) {
  const auto router = MakeRouter(With([](const FleetView&) { return ChoiceOf(2); }), MakeInstances(3));
  for (int i = 0; i < 10; ++i) {
    const Lease lease = AcquireOk(*router, ForPrefix(std::to_string(i)));
    EXPECT_EQ(lease.id(), "i-2");
    EXPECT_EQ(lease.decision().reason, Reason::kCustom);
    EXPECT_EQ(lease.decision().home, kNoInstance);
    EXPECT_EQ(lease.decision().rank, 0u);
    EXPECT_EQ(RouteOk(*router, ForPrefix(std::to_string(i)), std::vector<Load>(3)).instance, 2u);
  }
}

TEST(CustomStrategyTest, DecisionCarriesWhatTheStrategySays) {
  const auto router = MakeRouter(With([](const FleetView& fleet) {
                                   const uint64_t key = fleet.key().value();
                                   Choice choice;
                                   choice.home = RendezvousFirst(fleet.nodes(), key, [](uint32_t) { return true; });
                                   // The last of the order.
                                   for (uint32_t i = 0; i < fleet.size(); ++i) {
                                     if (RendezvousRank(fleet.nodes(), key, i) == fleet.size()) choice.instance = i;
                                   }
                                   choice.rank = fleet.size();
                                   choice.reason = Reason::kDivertedByLoad;
                                   return choice;
                                 }),
                                 MakeInstances(5));
  const std::vector<uint32_t> order = test::OrderOf(*router, ForPrefix("prompt"));
  const Lease lease = AcquireOk(*router, ForPrefix("prompt"));
  EXPECT_EQ(lease.decision().instance, order[4]);
  EXPECT_EQ(lease.decision().home, order[0]);
  EXPECT_EQ(lease.decision().rank, 5u);
  EXPECT_EQ(lease.decision().reason, Reason::kDivertedByLoad);
  EXPECT_EQ(test::CountOf(router->Stats(), Reason::kDivertedByLoad), 1u);
}

TEST(CustomStrategyTest, IsSwitchedLiveAndOverriddenByRequests) {
  const auto router = MakeRouter({}, MakeInstances(3));
  const std::string prefix = test::PrefixesWithHome(*router, 1, 1)[0];
  EXPECT_EQ(AcquireOk(*router, ForPrefix(prefix)).id(), "i-1");
  ASSERT_THAT(router->SetOptions(With([](const FleetView&) { return ChoiceOf(0); })), IsOk());
  Lease lease = AcquireOk(*router, ForPrefix(prefix));
  EXPECT_EQ(lease.id(), "i-0");
  Request request = ForPrefix(prefix);
  request.strategy = Strategy::kPrefixAware;
  EXPECT_EQ(AcquireOk(*router, request).id(), "i-1");
  ASSERT_THAT(router->SetOptions(With([](const FleetView&) { return ChoiceOf(2); })), IsOk());
  EXPECT_EQ(AcquireOk(*router, ForPrefix(prefix)).id(), "i-2");
  ASSERT_THAT(router->SetStrategy(Strategy::kPrefixAware), IsOk());
  EXPECT_EQ(AcquireOk(*router, ForPrefix(prefix)).id(), "i-1");
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(1, 0, 0));
  lease.Finish();
  EXPECT_EQ(router->Stats().outstanding, 0u);
}

TEST(CustomStrategyTest, LivesAsLongAsItIsUsedAndNoLonger) {
  auto rule = std::make_shared<Rule>([](const FleetView&) { return ChoiceOf(0); });
  const std::weak_ptr<Rule> watch = rule;
  const auto router = MakeRouter(WithRule(std::move(rule)), MakeInstances(2));
  ASSERT_FALSE(watch.expired());
  ASSERT_THAT(router->SetInstances(MakeInstances(3)), IsOk());
  AcquireOk(*router, {});
  ASSERT_FALSE(watch.expired());
  ASSERT_THAT(router->SetStrategy(Strategy::kRandom), IsOk());
  EXPECT_TRUE(watch.expired());
}

TEST(CustomStrategyTest, SeesTheFleetAsItIs) {
  std::vector<uint32_t> outstanding;
  uint64_t random = 0;
  PrefixKey key;
  const auto rule = std::make_shared<Rule>([&](const FleetView& fleet) {
    EXPECT_EQ(fleet.size(), 5u);
    EXPECT_EQ(fleet.id(0), "a");
    EXPECT_EQ(fleet.id(4), "weightless");
    EXPECT_EQ(fleet.weight(0), 2.5);
    EXPECT_EQ(fleet.weight(4), 0.0);
    EXPECT_EQ(fleet.max_outstanding(0), 4u);
    outstanding.clear();
    for (uint32_t i = 0; i < fleet.size(); ++i) outstanding.push_back(fleet.outstanding(i));
    EXPECT_TRUE(fleet.available(0));
    EXPECT_TRUE(fleet.eligible(0));
    EXPECT_TRUE(fleet.available(1)) << "full, and yet available";
    EXPECT_FALSE(fleet.eligible(1)) << "full";
    EXPECT_FALSE(fleet.available(2)) << "draining";
    EXPECT_FALSE(fleet.available(3)) << "excluded";
    EXPECT_FALSE(fleet.available(4)) << "of weight 0";
    for (uint32_t i = 2; i < 5; ++i) EXPECT_FALSE(fleet.eligible(i));
    random = fleet.random();
    key = fleet.key();
    return ChoiceOf(0);
  });
  const auto router = MakeRouter({}, {{"a", 2.5, 4}, {"full", 1.0, 2}, {"draining"}, {"excluded"}, {"weightless", 0}});
  const std::vector<Lease> full = test::Occupy(*router, 1, 2);
  const std::vector<Lease> one = test::Occupy(*router, 0, 1);
  ASSERT_THAT(router->SetDraining("draining", true), IsOk());
  ASSERT_THAT(router->SetOptions(WithRule(rule)), IsOk());
  Request request = ForPrefix("prompt");
  request.scope = "model";
  request.random = 77;
  const std::vector<std::string_view> excluded = {"excluded"};
  request.exclude = excluded;
  AcquireOk(*router, request);
  EXPECT_THAT(outstanding, ElementsAre(1, 2, 0, 0, 0));
  EXPECT_EQ(random, 77u);
  EXPECT_EQ(key, MakePrefixKey("prompt", "model"));
  RouteOk(*router, request, std::vector<Load>{{3}, {9}, {9}, {9}, {9}});
  EXPECT_THAT(outstanding, ElementsAre(3, 9, 9, 9, 9));
  EXPECT_EQ(rule->asked, 2);
}

TEST(CustomStrategyTest, InstanceWithoutHardBoundHasTheCountersOwnOrNone) {
  std::vector<uint32_t> bounds;
  const auto router = MakeRouter(With([&](const FleetView& fleet) {
                                   bounds.push_back(fleet.max_outstanding(0));
                                   return ChoiceOf(0);
                                 }),
                                 MakeInstances(1));
  AcquireOk(*router, {});
  RouteOk(*router, {}, std::vector<Load>(1));
  EXPECT_THAT(bounds, ElementsAre(kMaxOutstanding, UINT32_MAX));
}

TEST(CustomStrategyTest, NoneIsARefusal) {
  const auto router = MakeRouter(With([](const FleetView&) { return Choice(); }), MakeInstances(2));
  EXPECT_THAT(router->Acquire({}), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(router->Route({}, std::vector<Load>(2)), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(router->Stats().exhausted, 2u);
  ASSERT_THAT(router->SetDraining("i-0", true), IsOk());
  ASSERT_THAT(router->SetDraining("i-1", true), IsOk());
  EXPECT_THAT(router->Acquire({}), HasCode(absl::StatusCode::kUnavailable));
  EXPECT_EQ(router->Stats().unavailable, 1u);
}

TEST(CustomStrategyTest, AnswerThatMayNotBeChosenIsInternalAndReservesNothing) {
  std::atomic<uint32_t> answer{0};
  const auto router = MakeRouter(With([&](const FleetView&) { return ChoiceOf(answer); }),
                                 {{"a"}, {"weightless", 0.0}, {"draining"}, {"excluded"}});
  ASSERT_THAT(router->SetDraining("draining", true), IsOk());
  Request request = ForPrefix("prompt");
  const std::vector<std::string_view> excluded = {"excluded"};
  request.exclude = excluded;
  EXPECT_THAT(router->Acquire(request), IsOk());
  for (uint32_t bad : {1u, 2u, 3u, 4u, 64u, 65'536u, kNoInstance - 1}) {
    answer = bad;
    const auto is_internal = StatusIs(absl::StatusCode::kInternal, HasSubstr("instance " + std::to_string(bad)));
    EXPECT_THAT(router->Acquire(request), is_internal);
    EXPECT_THAT(router->Route(request, std::vector<Load>(4)), is_internal);
  }
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(test::CountOf(router->Stats(), Reason::kCustom), 1u);
}

TEST(CustomStrategyTest, ReasonThatIsNoneIsInternalAndReservesNothing) {
  const auto router = MakeRouter(With([](const FleetView&) {
                                   Choice choice = ChoiceOf(0);
                                   choice.reason = static_cast<Reason>(kReasonCount);
                                   return choice;
                                 }),
                                 MakeInstances(2));
  const auto is_internal = StatusIs(absl::StatusCode::kInternal, HasSubstr("reason " + std::to_string(kReasonCount)));
  EXPECT_THAT(router->Acquire({}), is_internal);
  EXPECT_THAT(router->Route({}, std::vector<Load>(2)), is_internal);
  const RouterStats stats = router->Stats();
  EXPECT_EQ(stats.outstanding, 0u);
  EXPECT_EQ(stats.unavailable, 0u);
  EXPECT_EQ(stats.exhausted, 0u);
}

TEST(CustomStrategyTest, OneThatInsistsOnAFullInstanceIsRefusedInTheEnd) {
  const auto rule = std::make_shared<Rule>([](const FleetView&) { return ChoiceOf(0); });
  const auto router = MakeRouter(WithRule(rule), MakeInstances(2, /*max_outstanding=*/1));
  const Lease lease = AcquireOk(*router, {});
  EXPECT_EQ(rule->asked, 1);
  EXPECT_THAT(router->Acquire({}), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_GT(rule->asked, 2) << "it is asked again first";
  EXPECT_THAT(router->Route({}, std::vector<Load>{{1}, {0}}), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(1, 0));
}

TEST(CustomStrategyTest, OneThatInsistsOnAFullInstanceFailsOpenWhereAllAreFull) {
  RouterOptions options = With([](const FleetView&) { return ChoiceOf(0); });
  options.fail_open = true;
  const auto router = MakeRouter(options, MakeInstances(2, /*max_outstanding=*/1));
  std::vector<Lease> leases = test::Occupy(*router, 1, 1);
  leases.push_back(AcquireOk(*router, {}));
  ASSERT_THAT(OutstandingOf(*router), ElementsAre(1, 1));
  leases.push_back(AcquireOk(*router, {}));
  EXPECT_EQ(leases.back().decision().reason, Reason::kFailOpen);
  EXPECT_EQ(RouteOk(*router, {}, std::vector<Load>{{5}, {4}}).instance, 1u);
}

TEST(CustomStrategyTest, LimitReservesOnlyBelowItAndAsksAgain) {
  // While it thinks, somebody else takes the instance that it has chosen.
  std::unique_ptr<Router> router;
  std::vector<Lease> others;
  int asked = 0;
  router = MakeRouter(With([&](const FleetView& fleet) {
                        ++asked;
                        const uint32_t least = fleet.outstanding(0) <= fleet.outstanding(1) ? 0 : 1;
                        const uint32_t seen = fleet.outstanding(least);
                        if (asked == 1) {
                          Request other;
                          other.strategy = Strategy::kLeastOutstandingRequests;
                          const std::vector<uint32_t> second = {1};
                          other.exclude_indexes = second;
                          others.push_back(AcquireOk(*router, other));
                        }
                        return ChoiceOf(least, seen + 1);
                      }),
                      MakeInstances(2));
  const Lease lease = AcquireOk(*router, {});
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(lease.id(), "i-1");
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(1, 1));
}

TEST(CustomStrategyTest, LimitThatCannotBeMetGivesWayToTheHardBound) {
  const auto rule = std::make_shared<Rule>([](const FleetView&) { return ChoiceOf(0, /*limit=*/0); });
  const auto router = MakeRouter(WithRule(rule), MakeInstances(2, /*max_outstanding=*/1));
  const Lease lease = AcquireOk(*router, {});
  EXPECT_EQ(lease.id(), "i-0");
  EXPECT_THAT(router->Acquire({}), HasCode(absl::StatusCode::kResourceExhausted));
}

TEST(CustomStrategyTest, HardBoundHoldsWhateverTheLimit) {
  const auto router =
      MakeRouter(With([](const FleetView& fleet) {
                   return ChoiceOf(RendezvousFirst(fleet.nodes(), fleet.random(), [](uint32_t) { return true; }));
                 }),
                 MakeInstances(3, /*max_outstanding=*/4));
  std::vector<Lease> leases;
  for (int i = 0; i < 1000; ++i) {
    absl::StatusOr<Lease> lease = router->Acquire({});
    if (lease.ok()) leases.push_back(*std::move(lease));
  }
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(4, 4, 4));
}

}  // namespace
}  // namespace prefixroute
