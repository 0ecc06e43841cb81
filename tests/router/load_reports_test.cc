// SPDX-License-Identifier: Apache-2.0
//
// What engines say of their load counts beside the router's own account, and takes no place of it.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
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
using test::Occupy;
using test::OutstandingOf;
using test::StatusIs;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What a decision would see, in the order of SetInstances().
std::vector<Load> SeenBy(Router& router) {
  const RouterOptions options = router.options();
  RouterOptions explainable = options;
  explainable.strict_prefix_bytes = 0;
  EXPECT_THAT(router.SetOptions(explainable), IsOk());
  Request request = ForPrefix("any");
  request.strategy = Strategy::kPrefixAware;
  const absl::StatusOr<std::vector<InstanceCost>> costs = router.Explain(request);
  EXPECT_THAT(costs, IsOk());
  EXPECT_THAT(router.SetOptions(options), IsOk());
  std::vector<Load> seen;
  for (const InstanceCost& cost : *costs) seen.push_back({cost.outstanding, cost.pending_bytes});
  return seen;
}
std::vector<uint32_t> OutstandingSeenBy(Router& router) {
  std::vector<uint32_t> outstanding;
  for (const Load& load : SeenBy(router)) outstanding.push_back(load.outstanding);
  return outstanding;
}

void Report(Router& router, const std::string& id, uint32_t outstanding, uint32_t waiting = 0) {
  EXPECT_THAT(router.ReportLoad(id, {outstanding, waiting}), IsOk());
}

std::unique_ptr<Router> MakeLeastOutstanding(uint32_t instances) {
  return MakeRouter(test::WithStrategy(Strategy::kLeastOutstandingRequests), MakeInstances(instances));
}

// Counts how often it is asked: once for each decision, where no race is lost.
class Counting : public RoutingStrategy {
 public:
  mutable std::atomic<int> asked{0};
};

class OwnLeastOutstanding final : public Counting {
 public:
  Choice Choose(const FleetView& fleet) const noexcept override {
    ++asked;
    Choice choice;
    for (uint32_t i = 0; i < fleet.size(); ++i) {
      if (!fleet.eligible(i) || fleet.outstanding(i) >= choice.limit) continue;
      choice.instance = i;
      choice.limit = fleet.outstanding(i) + 1;
    }
    return choice;
  }
};

TEST(LoadReportsTest, LeastOutstandingLevelsOwnRequestsWithThoseOfOthers) {
  const auto router = MakeLeastOutstanding(2);
  Report(*router, "i-0", 0);
  Report(*router, "i-1", 10);
  std::vector<Lease> leases;
  for (int i = 0; i < 20; ++i) leases.push_back(AcquireOk(*router, {}));
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(15, 5)) << "both have 15";
}

TEST(LoadReportsTest, AnOldReportMakesNobodyForgetHisOwnRequests) {
  const auto router = MakeLeastOutstanding(2);
  const std::vector<Lease> leases = Occupy(*router, 0, 5);
  Report(*router, "i-0", 0);
  EXPECT_THAT(OutstandingSeenBy(*router), ElementsAre(5, 0));
}

TEST(LoadReportsTest, WhatExceedsOwnRequestsIsOthersUntilTheNextReport) {
  const auto router = MakeLeastOutstanding(1);
  std::vector<Lease> leases = Occupy(*router, 0, 5);
  Report(*router, "i-0", 5);
  EXPECT_THAT(OutstandingSeenBy(*router), ElementsAre(5)) << "no others";
  Report(*router, "i-0", 8);
  EXPECT_THAT(OutstandingSeenBy(*router), ElementsAre(8)) << "three others";
  leases.resize(2);
  EXPECT_THAT(OutstandingSeenBy(*router), ElementsAre(5));
  leases.clear();
  EXPECT_THAT(OutstandingSeenBy(*router), ElementsAre(3));
  Report(*router, "i-0", 1);
  EXPECT_THAT(OutstandingSeenBy(*router), ElementsAre(1));
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(0)) << "Stats() count the router's own";
}

TEST(LoadReportsTest, ChangesOfWhatElseTheRouterKnowsKeepTheReport) {
  const auto router = MakeLeastOutstanding(2);
  Report(*router, "i-1", 10);
  ASSERT_THAT(router->SetDraining("i-1", true), IsOk());
  ASSERT_THAT(router->SetStrategy(Strategy::kRandom), IsOk());
  ASSERT_THAT(router->SetInstances({{"i-1", 3.0}, {"new"}, {"i-0"}}), IsOk());
  EXPECT_THAT(OutstandingSeenBy(*router), ElementsAre(10, 0, 0));
}

TEST(LoadReportsTest, AnIdThatWasRemovedAndComesBackStartsWithoutTheReport) {
  const auto router = MakeLeastOutstanding(2);
  AcquireOk(*router, {});
  Report(*router, "i-0", 10, 10);
  Report(*router, "i-1", 20);
  ASSERT_THAT(router->SetInstances({{"i-1"}}), IsOk());
  ASSERT_THAT(router->SetInstances(MakeInstances(2)), IsOk());
  EXPECT_THAT(OutstandingSeenBy(*router), ElementsAre(0, 20));
  EXPECT_EQ(SeenBy(*router)[0].pending_bytes, 0u);
}

TEST(LoadReportsTest, UnknownIdIsNamedAndChangesNothing) {
  const auto router = MakeLeastOutstanding(2);
  Report(*router, "i-1", 10);
  for (const char* id : {"nobody", "", "i-", "i-11"}) {
    EXPECT_THAT(router->ReportLoad(id, {5, 5}),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"" + std::string(id) + "\"")));
  }
  EXPECT_THAT(OutstandingSeenBy(*router), ElementsAre(0, 10));
}

// ---- Every strategy.

class LoadReportsOfEveryStrategyTest : public ::testing::TestWithParam<test::NamedOptions> {};

TEST_P(LoadReportsOfEveryStrategyTest, NoReportClosesAnInstance) {
  const auto router = MakeRouter(GetParam().options, MakeInstances(1, /*max_outstanding=*/3));
  for (uint32_t reported : {3u, 1'000u, kMaxOutstanding, UINT32_MAX}) {
    Report(*router, "i-0", reported, reported);
    std::vector<Lease> leases;
    for (int i = 0; i < 3; ++i) leases.push_back(AcquireOk(*router, ForPrefix("prompt")));
    EXPECT_THAT(router->Acquire(ForPrefix("prompt")), HasCode(absl::StatusCode::kResourceExhausted)) << reported;
  }
}

TEST_P(LoadReportsOfEveryStrategyTest, FailOpenTakesWhoHasLeastWithTheOthers) {
  RouterOptions options = GetParam().options;
  options.fail_open = true;
  const auto router = MakeRouter(options, MakeInstances(2, /*max_outstanding=*/1));
  std::vector<Lease> leases;
  for (uint32_t i = 0; i < 2; ++i) leases.push_back(std::move(Occupy(*router, i, 1)[0]));
  Report(*router, "i-0", 1 + 5);
  for (int i = 0; i < 5; ++i) {
    leases.push_back(AcquireOk(*router, ForPrefix("prompt")));
    EXPECT_EQ(leases.back().decision().reason, Reason::kFailOpen);
  }
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(1, 6)) << "both have 6";
}

TEST_P(LoadReportsOfEveryStrategyTest, GreatestReportsLeaveEveryInstanceOpen) {
  const auto router = MakeRouter(GetParam().options, MakeInstances(3));
  std::vector<Lease> leases = Occupy(*router, 0, 2);
  for (const char* id : {"i-0", "i-1", "i-2"}) Report(*router, id, UINT32_MAX, UINT32_MAX);
  for (int i = 0; i < 20; ++i) leases.push_back(AcquireOk(*router, ForPrefix(std::to_string(i))));
  EXPECT_THAT(OutstandingSeenBy(*router), Each(UINT32_MAX));
}

INSTANTIATE_TEST_SUITE_P(All, LoadReportsOfEveryStrategyTest, ::testing::ValuesIn(test::AllStrategies()), test::NameOf);

// What remembers nothing sends a request where it would with the same loads from the caller.
TEST(LoadReportsTest, AcquireDecidesAsRouteByTheSums) {
  for (const auto& [name, options] : test::AllStrategies()) {
    if (name == "PREFIX_AWARE") continue;
    SCOPED_TRACE(name);
    std::mt19937_64 random(1);
    const auto router = MakeRouter(options, MakeInstances(5));
    std::vector<Lease> leases;
    for (int round = 0; round < 500; ++round) {
      for (const char* id : {"i-0", "i-1", "i-2", "i-3", "i-4"}) {
        if (random() % 3 == 0) Report(*router, id, static_cast<uint32_t>(random() % 60));
      }
      const std::string prefix = "prompt " + std::to_string(random() % 20);
      Request request = ForPrefix(prefix);
      request.random = random() | 1;
      const Decision expected = test::RouteOk(*router, request, SeenBy(*router));
      leases.push_back(AcquireOk(*router, request));
      ASSERT_EQ(leases.back().decision().instance, expected.instance) << "round " << round;
      ASSERT_EQ(leases.back().decision().reason, expected.reason) << "round " << round;
      if (leases.size() > 40) leases.erase(leases.begin() + static_cast<ptrdiff_t>(random() % leases.size()));
    }
  }
}

TEST(LoadReportsTest, GreatestReportWithNewOwnRequestsIsStillTheMost) {
  const auto router = MakeLeastOutstanding(2);
  Report(*router, "i-0", UINT32_MAX);
  Report(*router, "i-1", 100);
  std::vector<Lease> leases = Occupy(*router, 0, 5);  // Five more than 32 bits hold.
  EXPECT_THAT(OutstandingSeenBy(*router), ElementsAre(UINT32_MAX, 100));
  for (int i = 0; i < 20; ++i) leases.push_back(AcquireOk(*router, {}));
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(5, 20));
}

// A choice rests on a number that has others in it; the reservation is by the router's own count.
TEST(LoadReportsTest, NoRaceIsLostAgainstAReport) {
  const auto strategy = std::make_shared<OwnLeastOutstanding>();
  RouterOptions options;
  options.custom_strategy = strategy;
  const auto router = MakeRouter(options, MakeInstances(2));
  Report(*router, "i-0", 7);
  Report(*router, "i-1", 12);
  std::vector<Lease> leases;
  for (int i = 0; i < 25; ++i) leases.push_back(AcquireOk(*router, {}));
  EXPECT_EQ(strategy->asked, 25);
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(15, 10)) << "both have 22";
}

// ---- Strict mode's relative bound.

TEST(LoadReportsTest, StrictModesBoundSeesOthers) {
  const auto router = MakeRouter(test::StrictOptions(), MakeInstances(3));
  const std::string prefix = test::PrefixesWithHome(*router, 1, 1)[0];
  Report(*router, "i-1", 15);
  const Lease last = AcquireOk(*router, ForPrefix(prefix));
  EXPECT_EQ(last.id(), "i-1") << "15 are below the floor of 16";
  const Lease next = AcquireOk(*router, ForPrefix(prefix));
  EXPECT_EQ(next.decision().reason, Reason::kDivertedByLoad);
  Report(*router, "i-1", 1);
  EXPECT_EQ(AcquireOk(*router, ForPrefix(prefix)).id(), "i-1");
}

// ---- PREFIX_AWARE's pending bytes.

class WaitingTest : public ::testing::Test {
 protected:
  WaitingTest() {
    const Lease lease = AcquireOk(*router_, ForPrefix(prompt_));
    holder_ = lease.decision().instance;
  }
  void ReportHolder(uint32_t outstanding, uint32_t waiting) {
    Report(*router_, "i-" + std::to_string(holder_), outstanding, waiting);
  }
  uint64_t Pending() { return SeenBy(*router_)[holder_].pending_bytes; }
  uint32_t Goes() { return AcquireOk(*router_, ForPrefix(prompt_)).decision().instance; }

  const std::string prompt_ = std::string(50'000, 'x');
  std::unique_ptr<Router> router_ = MakeRouter({}, MakeInstances(3));
  uint32_t holder_ = kNoInstance;
};

TEST_F(WaitingTest, DivertsUntilNobodyWaits) {
  ReportHolder(3, 0);
  EXPECT_EQ(Pending(), 0u);
  EXPECT_EQ(Goes(), holder_);
  ReportHolder(3, 3);
  EXPECT_GT(Pending(), 0u);
  const uint32_t other = Goes();
  EXPECT_NE(other, holder_);
  ASSERT_THAT(router_->ForgetCache("i-" + std::to_string(other)), IsOk());
  ReportHolder(3, 0);
  EXPECT_EQ(Pending(), 0u);
  EXPECT_EQ(Goes(), holder_);
}

TEST_F(WaitingTest, EachCountsAsTheMeanRequestThere) {
  ReportHolder(5, 1);
  const uint64_t one = Pending();
  EXPECT_GT(one, 0u);
  EXPECT_LE(one, prompt_.size());
  ReportHolder(5, 5);
  EXPECT_EQ(Pending(), 5 * one);
  ReportHolder(5, UINT32_MAX);
  EXPECT_EQ(Pending(), 5 * one) << "no more wait than there are";
}

TEST_F(WaitingTest, OwnBytesAreNotCountedTwice) {
  const std::string other(30'000, 'y');
  Request request = ForPrefix(other);
  const std::vector<uint32_t> all_but_the_holder = test::AllBut(holder_, 3);
  request.exclude_indexes = all_but_the_holder;
  Lease own = AcquireOk(*router_, request);
  const uint64_t own_bytes = own.decision().uncached_bytes;
  ASSERT_EQ(Pending(), own_bytes);
  ReportHolder(1, 0);
  EXPECT_EQ(Pending(), own_bytes) << "an old report makes nobody forget his own";
  ReportHolder(10, 10);
  const uint64_t reported = Pending();
  EXPECT_GT(reported, own_bytes);
  own.FirstToken();
  EXPECT_EQ(Pending(), reported - own_bytes) << "others', until the next report";
}

TEST_F(WaitingTest, CostsAreThoseOfTheSums) {
  std::mt19937_64 random(2);
  std::vector<Lease> leases;
  for (int round = 0; round < 300; ++round) {
    ReportHolder(static_cast<uint32_t>(random() % 20), static_cast<uint32_t>(random() % 20));
    const std::string prefix = prompt_.substr(0, random() % prompt_.size() + 1) + std::to_string(random() % 9);
    const absl::StatusOr<std::vector<InstanceCost>> own = router_->Explain(ForPrefix(prefix));
    const absl::StatusOr<std::vector<InstanceCost>> given = router_->Explain(ForPrefix(prefix), SeenBy(*router_));
    ASSERT_THAT(own, IsOk());
    ASSERT_THAT(given, IsOk());
    for (uint32_t i = 0; i < 3; ++i) ASSERT_EQ((*own)[i].cost, (*given)[i].cost) << "round " << round;
    leases.push_back(AcquireOk(*router_, ForPrefix(prefix)));
    if (leases.size() > 8) leases.erase(leases.begin());
  }
}

// ---- Threads and other owners.

TEST(LoadReportsTest, ReportsAndRequestsOfManyThreadsPassNoBoundAndLoseNothing) {
  constexpr uint32_t kBound = 3;
  const int rounds = test::Scaled(5'000);
  const auto router = MakeRouter({}, MakeInstances(2, kBound));
  std::array<std::atomic<uint32_t>, 2> inside{};
  std::atomic<bool> passed{false};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 6; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < rounds; ++i) {
        if (thread < 2) {
          const auto count = static_cast<uint32_t>(i % 50);
          (void)router->ReportLoad(i % 2 == 0 ? "i-0" : "i-1", {count, count / 2});
          continue;
        }
        Request request = ForPrefix("prompt");
        if (thread % 2 == 0) request.strategy = Strategy::kLeastOutstandingRequests;
        absl::StatusOr<Lease> lease = router->Acquire(request);
        if (!lease.ok()) continue;
        std::atomic<uint32_t>& count = inside[lease->decision().instance];
        if (++count > kBound) passed = true;
        --count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(passed);
  for (const char* id : {"i-0", "i-1"}) Report(*router, id, 0);
  EXPECT_THAT(OutstandingSeenBy(*router), Each(0u));
}

TEST(LoadReportsTest, RoutersOfOneSharedStateSeeEachOthersReportsAndRequests) {
  const test::SharedBlock block({4, 3, kMinPrefixEntries});
  RouterOptions options = test::WithStrategy(Strategy::kLeastOutstandingRequests);
  const auto one = block.MakeRouter(1, MakeInstances(2), options);
  const auto other = block.MakeRouter(2, MakeInstances(2), options);
  const std::vector<Lease> leases = Occupy(*one, 0, 5);
  Report(*other, "i-0", 7);
  for (Router* router : {one.get(), other.get()}) {
    EXPECT_THAT(OutstandingSeenBy(*router), ElementsAre(7, 0)) << "five are of one of the two";
  }
  std::vector<Lease> more;
  for (int i = 0; i < 9; ++i) more.push_back(AcquireOk(i % 2 == 0 ? *one : *other, {}));
  EXPECT_THAT(OutstandingSeenBy(*one), ElementsAre(8, 8));
}

}  // namespace
}  // namespace prefixroute
