// SPDX-License-Identifier: Apache-2.0
//
// SetInstances and SetDraining: who is in the fleet, which prefixes move, and what becomes of the counts.

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/testing/fleet.h"
#include "tests/testing/scale.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::AllBut;
using test::ForPrefix;
using test::IsOk;
using test::MakeInstances;
using test::MakeRouter;
using test::Occupy;
using test::OrderOf;
using test::OutstandingOf;
using test::PrefixesWithHome;
using test::WithBound;
using ::testing::ElementsAre;

// ---- Which prefixes move.

constexpr int kPrefixes = 100'000;

// For each of kPrefixes prefixes, the ids of the first and the second instance of its order.
struct Homes {
  std::string home;
  std::string second;
};
std::vector<Homes> HomesOf(const Router& router) {
  const RouterStats stats = router.Stats();
  std::vector<Homes> all;
  for (int i = 0; i < kPrefixes; ++i) {
    uint32_t order[2];
    const std::string prefix = "{\"messages\":[{\"role\":\"user\",\"content\":\"" + std::to_string(i) + "\"}]}";
    EXPECT_THAT(router.Rank(ForPrefix(prefix), absl::MakeSpan(order)), IsOk());
    all.push_back({stats.instances[order[0]].id, stats.instances[order[1]].id});
  }
  return all;
}

class MovedPrefixesTest : public ::testing::Test {
 protected:
  std::unique_ptr<Router> router_ = MakeRouter({}, MakeInstances(7));
  std::vector<Homes> before_ = HomesOf(*router_);
};

TEST_F(MovedPrefixesTest, RemovalMovesExactlyTheRemovedOnesPrefixesEachToItsSecond) {
  std::vector<Instance> six = MakeInstances(7);
  six.erase(six.begin() + 3);
  ASSERT_THAT(router_->SetInstances(six), IsOk());
  const std::vector<Homes> after = HomesOf(*router_);
  for (int i = 0; i < kPrefixes; ++i) {
    ASSERT_EQ(after[i].home, before_[i].home == "i-3" ? before_[i].second : before_[i].home) << i;
  }
  // And back, at the other end of the list.
  six.push_back({"i-3"});
  ASSERT_THAT(router_->SetInstances(six), IsOk());
  const std::vector<Homes> again = HomesOf(*router_);
  for (int i = 0; i < kPrefixes; ++i) {
    ASSERT_EQ(again[i].home, before_[i].home) << i;
    ASSERT_EQ(again[i].second, before_[i].second) << i;
  }
}

TEST_F(MovedPrefixesTest, AdditionMovesOnlyToTheNewOneAndItsFairShare) {
  ASSERT_THAT(router_->SetInstances(MakeInstances(8)), IsOk());
  const std::vector<Homes> after = HomesOf(*router_);
  int moved = 0;
  for (int i = 0; i < kPrefixes; ++i) {
    if (after[i].home == before_[i].home) continue;
    ASSERT_EQ(after[i].home, "i-7") << i;
    ASSERT_EQ(after[i].second, before_[i].home) << i;
    ++moved;
  }
  EXPECT_GE(moved, kPrefixes * 0.1198);
  EXPECT_LE(moved, kPrefixes * 0.1303);
}

TEST_F(MovedPrefixesTest, MoreWeightMovesOnlyTowardsAndLessOnlyAway) {
  std::vector<Instance> heavier = MakeInstances(7);
  heavier[2].weight = 2;
  ASSERT_THAT(router_->SetInstances(heavier), IsOk());
  const std::vector<Homes> after = HomesOf(*router_);
  int moved = 0;
  for (int i = 0; i < kPrefixes; ++i) {
    if (after[i].home == before_[i].home) continue;
    ASSERT_EQ(after[i].home, "i-2") << i;
    ++moved;
  }
  // From 1/7 to 2/8 of all.
  EXPECT_NEAR(moved, kPrefixes * (2.0 / 8 - 1.0 / 7), kPrefixes * 0.006);
  // Back to 1: those and no others return.
  ASSERT_THAT(router_->SetInstances(MakeInstances(7)), IsOk());
  const std::vector<Homes> again = HomesOf(*router_);
  for (int i = 0; i < kPrefixes; ++i) ASSERT_EQ(again[i].home, before_[i].home) << i;
}

TEST_F(MovedPrefixesTest, DrainingMovesItsPrefixesToTheirSecondsAndBack) {
  ASSERT_THAT(router_->SetDraining("i-3", true), IsOk());
  const std::vector<Homes> after = HomesOf(*router_);
  for (int i = 0; i < kPrefixes; ++i) {
    ASSERT_EQ(after[i].home, before_[i].home == "i-3" ? before_[i].second : before_[i].home) << i;
  }
  ASSERT_THAT(router_->SetDraining("i-3", false), IsOk());
  const std::vector<Homes> again = HomesOf(*router_);
  for (int i = 0; i < kPrefixes; ++i) ASSERT_EQ(again[i].home, before_[i].home) << i;
}

// ---- What becomes of the counts.

TEST(MembershipTest, SameIdAddedAgainIsANewInstance) {
  const auto router = MakeRouter({}, {{"E"}, {"other"}});
  const auto count = [&] { return router->Stats().instances[0].outstanding; };
  std::vector<Lease> a = Occupy(*router, 0, 1);
  ASSERT_THAT(router->SetInstances({{"other"}}), IsOk());
  ASSERT_THAT(router->SetInstances({{"E"}, {"other"}}), IsOk());
  EXPECT_EQ(count(), 0u);
  std::vector<Lease> b = Occupy(*router, 0, 1);
  EXPECT_EQ(count(), 1u);
  EXPECT_EQ(a[0].id(), "E");
  a[0].Finish();
  EXPECT_EQ(count(), 1u);
  b[0].Finish();
  EXPECT_EQ(count(), 0u);
  EXPECT_EQ(router->Stats().outstanding, 0u);
}

TEST(MembershipTest, FinishAfterRemovalResurrectsNothing) {
  const auto router = MakeRouter({}, {{"E"}, {"other"}});
  std::vector<Lease> lease = Occupy(*router, 0, 1);
  ASSERT_THAT(router->SetInstances({{"other"}}), IsOk());
  EXPECT_EQ(router->Stats().outstanding, 1u);
  lease[0].Finish();
  const RouterStats stats = router->Stats();
  ASSERT_EQ(stats.instances.size(), 1u);
  EXPECT_EQ(stats.instances[0].id, "other");
  EXPECT_EQ(stats.instances[0].outstanding, 0u);
  EXPECT_EQ(stats.outstanding, 0u);
}

TEST(MembershipTest, RemovedInstanceLeavesTheTotalsThatTheBoundGoesBy) {
  const auto router = MakeRouter(WithBound(125, 0, 0), {{"A"}, {"B"}, {"C"}});
  std::vector<std::vector<Lease>> leases;
  for (uint32_t i = 0; i < 3; ++i) leases.push_back(Occupy(*router, i, 10));
  ASSERT_THAT(router->SetInstances({{"A"}, {"B"}}), IsOk());
  const std::string prefix = PrefixesWithHome(*router, 0, 1)[0];
  EXPECT_EQ(AcquireOk(*router, ForPrefix(prefix)).decision().reason, Reason::kHome);
  leases[2].clear();
  // 20 outstanding: the cap is ceil(1.25 * 21 / 2) = 14. Subtracted twice, it would be 7.
  std::vector<Lease> at_home;
  for (int i = 0; i < 9; ++i) {
    at_home.push_back(AcquireOk(*router, ForPrefix(prefix)));
    EXPECT_EQ(at_home.back().id(), "A") << i;
    EXPECT_EQ(at_home.back().decision().reason, Reason::kHome) << i;
  }
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(19, 10));
}

TEST(MembershipTest, KeptIdKeepsItsCountAndStaysDrainingWhereverItIsListed) {
  const auto router = MakeRouter({}, MakeInstances(3));
  const std::vector<Lease> leases = Occupy(*router, 1, 4);
  ASSERT_THAT(router->SetDraining("i-1", true), IsOk());
  ASSERT_THAT(router->SetInstances({{"new"}, {"i-2"}, {"i-0"}, {"i-1", 3.0, 7}}), IsOk());
  const RouterStats stats = router->Stats();
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(0, 0, 0, 4));
  EXPECT_TRUE(stats.instances[3].draining);
  EXPECT_EQ(stats.instances[3].weight, 3.0);
  EXPECT_EQ(stats.instances[3].max_outstanding, 7u);
  EXPECT_FALSE(stats.instances[0].draining);
}

TEST(MembershipTest, SameIdAddedAgainIsNotDraining) {
  const auto router = MakeRouter({}, MakeInstances(2));
  ASSERT_THAT(router->SetDraining("i-1", true), IsOk());
  ASSERT_THAT(router->SetInstances(MakeInstances(1)), IsOk());
  ASSERT_THAT(router->SetInstances(MakeInstances(2)), IsOk());
  EXPECT_FALSE(router->Stats().instances[1].draining);
}

class DrainingTest : public ::testing::TestWithParam<test::NamedOptions> {};
INSTANTIATE_TEST_SUITE_P(, DrainingTest, ::testing::ValuesIn(test::AllStrategies()), test::NameOf);

TEST_P(DrainingTest, KeepsCountsAndTakesNoNewRequests) {
  const auto router = MakeRouter(GetParam().options, MakeInstances(2));
  std::vector<Lease> leases = Occupy(*router, 0, 3);
  const std::string prefix = PrefixesWithHome(*router, 0, 1)[0];
  ASSERT_THAT(router->SetDraining("i-0", true), IsOk());
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(3, 0));
  for (int i = 0; i < 100; ++i) ASSERT_EQ(AcquireOk(*router, ForPrefix(prefix)).id(), "i-1");
  leases.pop_back();
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(2, 0));
  ASSERT_THAT(router->SetDraining("i-0", false), IsOk());
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(2, 0));
  leases.clear();
  // Its own prefixes come back, those that others have not learnt meanwhile.
  for (const std::string& own : PrefixesWithHome(*router, 0, 100)) {
    if (own == prefix || GetParam().options.strategy != Strategy::kPrefixAware) continue;
    ASSERT_EQ(AcquireOk(*router, ForPrefix(own)).id(), "i-0");
  }
}

TEST(MembershipTest, SameIdAddedAgainHasNothingCached) {
  const auto router = MakeRouter({}, MakeInstances(3));
  const std::string prefix(10'000, 'x');
  const uint32_t holder = AcquireOk(*router, ForPrefix(prefix)).decision().instance;
  Request request = ForPrefix(prefix);
  const std::vector<uint32_t> others = AllBut(holder, 3);
  request.exclude_indexes = others;
  const Decision known = AcquireOk(*router, request).decision();
  EXPECT_GT(known.matched_bytes, 8'000u);
  EXPECT_LT(known.uncached_bytes, 2'000u);
  // Kept, it keeps what it has, wherever it is listed.
  std::vector<Instance> instances = MakeInstances(3);
  ASSERT_THAT(router->SetInstances({instances[2], instances[1], instances[0]}), IsOk());
  ASSERT_THAT(router->SetInstances(instances), IsOk());
  EXPECT_EQ(AcquireOk(*router, request).decision().matched_bytes, known.matched_bytes);

  std::vector<Instance> without = instances;
  without.erase(without.begin() + holder);
  ASSERT_THAT(router->SetInstances(without), IsOk());
  const Decision elsewhere = AcquireOk(*router, ForPrefix(prefix)).decision();
  EXPECT_EQ(elsewhere.matched_bytes, 0u);
  ASSERT_THAT(router->SetInstances(instances), IsOk());
  const Decision again = AcquireOk(*router, request).decision();
  EXPECT_EQ(again.instance, holder);
  EXPECT_EQ(again.matched_bytes, 0u) << "a new instance, whose cache is empty";
  EXPECT_GT(again.uncached_bytes, 5'000u);
}

TEST(MembershipTest, WholeFleetCanBeReplacedWhileEveryOldInstanceHasOpenLeases) {
  RouterOptions options;
  options.max_instances = 3;
  const auto router = MakeRouter(options, MakeInstances(3));
  std::vector<std::vector<Lease>> old;
  for (uint32_t i = 0; i < 3; ++i) old.push_back(Occupy(*router, i, 2));
  ASSERT_THAT(router->SetInstances({{"a"}, {"b"}, {"c"}}), IsOk());
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(0, 0, 0));
  // A third fleet has room only when one of the first is done.
  EXPECT_THAT(router->SetInstances({{"a"}, {"b"}, {"d"}}), test::HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_EQ(router->Stats().instances[2].id, "c");
  old[1].clear();
  EXPECT_THAT(router->SetInstances({{"a"}, {"b"}, {"d"}}), IsOk());
  EXPECT_EQ(router->Stats().outstanding, 4u);
  old.clear();
  EXPECT_EQ(router->Stats().outstanding, 0u);
}

TEST(MembershipTest, EmptyFleetIsUnavailableUntilItIsFilled) {
  const auto router = MakeRouter({}, {});
  EXPECT_THAT(router->Acquire(ForPrefix("prompt")), test::HasCode(absl::StatusCode::kUnavailable));
  EXPECT_THAT(router->Route(ForPrefix("prompt"), {}), test::HasCode(absl::StatusCode::kUnavailable));
  ASSERT_THAT(router->SetInstances(MakeInstances(1)), IsOk());
  EXPECT_THAT(router->Acquire(ForPrefix("prompt")), IsOk());
  ASSERT_THAT(router->SetInstances({}), IsOk());
  EXPECT_THAT(router->Acquire(ForPrefix("prompt")), test::HasCode(absl::StatusCode::kUnavailable));
}

// Seven instances work at 20 each when an eighth joins, empty: it gets the prefixes whose home it is, and what load
// diverts; nobody floods it because it is the least loaded.
TEST(MembershipTest, ColdInstanceGetsWhatIsHomedThereAndNotEverything) {
  const auto router = MakeRouter(test::StrictOptions(), MakeInstances(7));
  std::vector<std::vector<Lease>> leases;
  for (uint32_t i = 0; i < 7; ++i) leases.push_back(Occupy(*router, i, 20));
  ASSERT_THAT(router->SetInstances(MakeInstances(8)), IsOk());
  // 140 outstanding: the cap is ceil(1.25 * 141 / 8) = 23, so nothing is diverted yet.
  int to_the_cold_one = 0;
  for (int i = 0; i < 1000; ++i) {
    const Lease lease = AcquireOk(*router, ForPrefix("prompt " + std::to_string(i)));
    ASSERT_EQ(lease.decision().reason, Reason::kHome) << i;
    ASSERT_EQ(lease.decision().instance, lease.decision().home) << i;
    if (lease.decision().instance == 7) ++to_the_cold_one;
  }
  EXPECT_NEAR(to_the_cold_one, 125, 53);  // 5 sigma.
  // None finished: some are diverted now, and the cold one never gets all of those.
  std::vector<Lease> open;
  int diverted = 0;
  int diverted_to_the_cold_one = 0;
  for (int i = 0; i < 200; ++i) {
    open.push_back(AcquireOk(*router, ForPrefix("prompt " + std::to_string(i))));
    const Decision& decision = open.back().decision();
    if (decision.reason == Reason::kHome) continue;
    ASSERT_EQ(decision.reason, Reason::kDivertedByLoad);
    ++diverted;
    if (decision.instance == 7) ++diverted_to_the_cold_one;
  }
  EXPECT_GT(diverted, 0);
  EXPECT_LT(diverted_to_the_cold_one, diverted);
  EXPECT_LT(router->Stats().instances[7].outstanding, 100u);
}

// ---- The fingerprint.

uint64_t FingerprintOf(absl::Span<const Instance> instances) {
  return MakeRouter({}, instances)->MembershipFingerprint();
}

TEST(MembershipFingerprintTest, DependsOnNeitherOrderNorHistory) {
  std::vector<Instance> instances = MakeInstances(7);
  instances[4].weight = 2.5;
  const uint64_t expected = FingerprintOf(instances);
  std::mt19937_64 random(1);
  const auto router = MakeRouter({}, MakeInstances(3));
  for (int i = 0; i < 100; ++i) {
    std::shuffle(instances.begin(), instances.end(), random);
    EXPECT_EQ(FingerprintOf(instances), expected);
    ASSERT_THAT(router->SetInstances({{"passing by " + std::to_string(i)}}), IsOk());
    ASSERT_THAT(router->SetInstances(instances), IsOk());
    EXPECT_EQ(router->MembershipFingerprint(), expected);
  }
}

TEST(MembershipFingerprintTest, TellsEveryOtherFleet) {
  std::vector<std::vector<Instance>> fleets = {
      {},
      {{"a"}},
      {{"b"}},
      {{"a", 2.0}},
      {{"a", 1.001}},
      {{"a"}, {"b"}},
      {{"a", 2.0}, {"b"}},
      {{"a"}, {"b", 2.0}},
      {{"a"}, {"b", 0.0}},
      {{"ab"}},
      {{std::string("a\0", 2)}},
      {{"a"}, {"b"}, {"c"}},
  };
  for (size_t i = 0; i < fleets.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NE(FingerprintOf(fleets[i]), FingerprintOf(fleets[j])) << i << ", " << j;
  }
}

TEST(MembershipFingerprintTest, DoesNotDependOnBoundsDrainingOptionsOrLoad) {
  const auto router = MakeRouter({}, MakeInstances(3));
  const uint64_t expected = router->MembershipFingerprint();
  const std::vector<Lease> leases = Occupy(*router, 0, 3);
  ASSERT_THAT(router->SetInstances(MakeInstances(3, /*max_outstanding=*/9)), IsOk());
  ASSERT_THAT(router->SetDraining("i-1", true), IsOk());
  ASSERT_THAT(router->SetStrategy(Strategy::kRandom), IsOk());
  EXPECT_EQ(router->MembershipFingerprint(), expected);
}

// Gateways compare fingerprints with one another, so every build of every process must come to this number.
TEST(MembershipFingerprintTest, IsTheSameInEveryProcessAndBuild) {
  EXPECT_EQ(FingerprintOf({{"10.0.0.1:8000"}, {"10.0.0.2:8000", 2.5}, {"10.0.0.3:8000", 0.001}}), 0x3d1d142979c0d727u);
}

}  // namespace
}  // namespace prefixroute
