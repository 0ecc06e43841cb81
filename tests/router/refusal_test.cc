// SPDX-License-Identifier: Apache-2.0
//
// What happens when an instance, or every instance, can't be chosen: full, excluded, draining, absent.

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
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
using test::Occupy;
using test::OrderOf;
using test::OutstandingOf;
using test::PrefixesWithHome;
using test::RouteOk;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr auto kExhausted = absl::StatusCode::kResourceExhausted;
constexpr auto kUnavailable = absl::StatusCode::kUnavailable;

class RefusalTest : public ::testing::TestWithParam<test::NamedOptions> {
 protected:
  RouterOptions Options() const { return GetParam().options; }
};
INSTANTIATE_TEST_SUITE_P(, RefusalTest, ::testing::ValuesIn(test::AllStrategies()), test::NameOf);

TEST_P(RefusalTest, EveryOneFullIsExhaustedAndReservesNothing) {
  const auto router = MakeRouter(Options(), MakeInstances(3, /*max_outstanding=*/1));
  std::vector<Lease> leases;
  for (int i = 0; i < 3; ++i) leases.push_back(AcquireOk(*router, ForPrefix("prompt " + std::to_string(i))));
  EXPECT_THAT(OutstandingOf(*router), Each(1u));
  for (int i = 0; i < 100; ++i) {
    ASSERT_THAT(router->Acquire(ForPrefix("prompt " + std::to_string(i))), HasCode(kExhausted));
    ASSERT_THAT(router->Route(ForPrefix("prompt"), std::vector<Load>(3, {1})), HasCode(kExhausted));
  }
  EXPECT_THAT(OutstandingOf(*router), Each(1u));
  EXPECT_EQ(router->Stats().exhausted, 200u);
}

TEST_P(RefusalTest, TheOneThatIsFreeIsChosenWhoseverHomeItIs) {
  const auto router = MakeRouter(Options(), MakeInstances(3, /*max_outstanding=*/1));
  std::vector<std::vector<Lease>> leases;
  for (uint32_t i = 0; i < 3; ++i) leases.push_back(Occupy(*router, i, 1));
  for (uint32_t free = 0; free < 3; ++free) {
    leases[free].clear();
    for (uint32_t home = 0; home < 3; ++home) {
      const std::string prefix = PrefixesWithHome(*router, home, 1)[0];
      for (int again = 0; again < 10; ++again) {
        ASSERT_EQ(AcquireOk(*router, ForPrefix(prefix)).decision().instance, free);
      }
      EXPECT_THAT(router->Acquire(ForPrefix(prefix)), IsOk());  // Being full has not stuck to it.
    }
    leases[free] = Occupy(*router, free, 1);
  }
}

TEST_P(RefusalTest, NobodyAvailableIsUnavailable) {
  const auto router = MakeRouter(Options(), MakeInstances(3));
  Request all = ForPrefix("prompt");
  const std::vector<std::string_view> ids = {"i-0", "i-1", "i-2"};
  all.exclude = ids;
  EXPECT_THAT(router->Acquire(all), HasCode(kUnavailable));
  EXPECT_THAT(router->Route(all, std::vector<Load>(3)), HasCode(kUnavailable));
  for (std::string_view id : ids) ASSERT_THAT(router->SetDraining(id, true), IsOk());
  EXPECT_THAT(router->Acquire(ForPrefix("prompt")), HasCode(kUnavailable));
  EXPECT_THAT(router->Route(ForPrefix("prompt"), std::vector<Load>(3)), HasCode(kUnavailable));
  ASSERT_THAT(router->SetInstances({}), IsOk());
  EXPECT_THAT(router->Acquire(ForPrefix("prompt")), HasCode(kUnavailable));
  EXPECT_EQ(router->Stats().unavailable, 5u);
  EXPECT_EQ(router->Stats().outstanding, 0u);
}

TEST_P(RefusalTest, OnlyWeightZeroLeftIsUnavailable) {
  const auto router = MakeRouter(Options(), {{"a", 0.0}, {"b", 1.0}, {"c", 0.0}});
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(AcquireOk(*router, ForPrefix("prompt " + std::to_string(i))).id(), "b");
  }
  ASSERT_THAT(router->SetDraining("b", true), IsOk());
  EXPECT_THAT(router->Acquire(ForPrefix("prompt")), HasCode(kUnavailable));
}

TEST_P(RefusalTest, FullAndExcludedTogetherIsExhaustedWhileSomebodyIsAvailable) {
  const auto router = MakeRouter(Options(), MakeInstances(3, /*max_outstanding=*/1));
  const std::vector<Lease> full = Occupy(*router, 0, 1);
  Request request = ForPrefix("prompt");
  const std::vector<uint32_t> others = {1, 2};
  request.exclude_indexes = others;
  EXPECT_THAT(router->Acquire(request), HasCode(kExhausted));
  ASSERT_THAT(router->SetDraining("i-0", true), IsOk());
  EXPECT_THAT(router->Acquire(request), HasCode(kUnavailable));
}

TEST_P(RefusalTest, FailOpenTakesTheLeastLoadForItsWeightAndNotTheHome) {
  RouterOptions options = Options();
  options.fail_open = true;
  // All full; (outstanding + 1) / weight is 3, 2.5 and 11 / 5 = 2.2.
  const auto router = MakeRouter(options, {{"a", 1.0, 2}, {"b", 2.0, 4}, {"c", 5.0, 10}});
  std::vector<std::vector<Lease>> leases;
  leases.push_back(Occupy(*router, 0, 2));
  leases.push_back(Occupy(*router, 1, 4));
  leases.push_back(Occupy(*router, 2, 10));
  for (uint32_t home = 0; home < 3; ++home) {
    const std::string prefix = PrefixesWithHome(*router, home, 1)[0];
    const Lease lease = AcquireOk(*router, ForPrefix(prefix));
    EXPECT_EQ(lease.id(), "c");
    EXPECT_EQ(lease.decision().reason, Reason::kFailOpen);
    EXPECT_EQ(router->Stats().instances[2].outstanding, 11u);
    const Decision decision = RouteOk(*router, ForPrefix(prefix), std::vector<Load>{{2}, {4}, {12}});
    EXPECT_EQ(decision.instance, 1u);  // 3, 2.5, 2.6.
    EXPECT_EQ(decision.reason, Reason::kFailOpen);
  }
  // As soon as one has room, it gets the request, by the strategy.
  leases[0].pop_back();
  const Lease lease = AcquireOk(*router, ForPrefix("prompt"));
  EXPECT_EQ(lease.id(), "a");
  EXPECT_NE(lease.decision().reason, Reason::kFailOpen);
}

TEST_P(RefusalTest, FailOpenSharesTheExcessByWeight) {
  RouterOptions options = Options();
  options.fail_open = true;
  const auto router = MakeRouter(options, {{"a", 1.0, 1}, {"b", 1.0, 1}, {"c", 2.0, 2}});
  std::vector<Lease> leases;
  for (int i = 0; i < 400; ++i) leases.push_back(AcquireOk(*router, ForPrefix("hot")));
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(100, 100, 200));
  EXPECT_EQ(test::CountOf(router->Stats(), Reason::kFailOpen), 396u);
}

TEST_P(RefusalTest, FailOpenDoesNotOpenWhatIsNotAvailable) {
  RouterOptions options = Options();
  options.fail_open = true;
  const auto router = MakeRouter(options, {{"full", 1.0, 1}, {"weightless", 0.0}, {"draining"}, {"excluded"}});
  ASSERT_THAT(router->SetDraining("draining", true), IsOk());
  Request request = ForPrefix("prompt");
  const std::vector<std::string_view> ids = {"excluded"};
  request.exclude = ids;
  std::vector<Lease> leases;
  for (int i = 0; i < 10; ++i) leases.push_back(AcquireOk(*router, request));
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(10, 0, 0, 0));
  const std::vector<std::string_view> both = {"excluded", "full"};
  request.exclude = both;
  EXPECT_THAT(router->Acquire(request), HasCode(kUnavailable));
}

// ---- Exclusion.

TEST_P(RefusalTest, ExcludedIsNeverChosenByIdOrIndexOrBoth) {
  constexpr uint32_t kSize = 200;  // More than the 64 of one word.
  const auto router = MakeRouter(Options(), MakeInstances(kSize));
  const std::vector<Load> loads(kSize);
  for (uint32_t left : {0u, 1u, 63u, 64u, 127u, 128u, 199u}) {
    // Of all but one, half by id, half by index, some by both; and an id that nobody has.
    std::vector<std::string> names = {"nobody", ""};
    std::vector<uint32_t> indexes;
    for (uint32_t i = 0; i < kSize; ++i) {
      if (i == left) continue;
      if (i % 2 == 0 || i % 10 == 5) names.push_back("i-" + std::to_string(i));
      if (i % 2 == 1) indexes.push_back(i);
    }
    const std::vector<std::string_view> ids(names.begin(), names.end());
    Request request = ForPrefix("prompt");
    request.exclude = ids;
    request.exclude_indexes = indexes;
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(AcquireOk(*router, request).decision().instance, left);
      ASSERT_EQ(RouteOk(*router, request, loads).instance, left);
    }
    EXPECT_THAT(OrderOf(*router, request), ElementsAre(left));
  }
}

TEST_P(RefusalTest, RetriesReachEveryInstanceOnce) {
  const auto router = MakeRouter(Options(), MakeInstances(7));
  for (int i = 0; i < 100; ++i) {
    const std::string prefix = "prompt " + std::to_string(i % 10);
    Request request = ForPrefix(prefix);
    std::vector<uint32_t> failed;
    for (int attempt = 0; attempt < 7; ++attempt) {
      request.exclude_indexes = failed;
      failed.push_back(AcquireOk(*router, request).decision().instance);
    }
    EXPECT_THAT(failed, ::testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6));
    request.exclude_indexes = failed;
    EXPECT_THAT(router->Acquire(request), HasCode(kUnavailable));
  }
  EXPECT_EQ(router->Stats().outstanding, 0u);
}

class ExclusionTest : public ::testing::TestWithParam<test::NamedOptions> {
 protected:
  RouterOptions Options() const { return GetParam().options; }
};
INSTANTIATE_TEST_SUITE_P(, ExclusionTest, ::testing::ValuesIn(test::PrefixAwareModes()), test::NameOf);

TEST(StrictExclusionTest, RetriesWalkThePrefixsOrderTheSameWayEveryTime) {
  const auto router = MakeRouter(test::StrictOptions(), MakeInstances(7));
  for (int i = 0; i < 100; ++i) {
    const std::string prefix = "prompt " + std::to_string(i);
    const std::vector<uint32_t> order = OrderOf(*router, ForPrefix(prefix));
    for (int again = 0; again < 3; ++again) {
      Request request = ForPrefix(prefix);
      std::vector<std::string> failed;
      for (uint32_t rank = 1; rank <= 7; ++rank) {
        const std::vector<std::string_view> ids(failed.begin(), failed.end());
        request.exclude = ids;
        const Lease lease = AcquireOk(*router, request);
        ASSERT_EQ(lease.decision().instance, order[rank - 1]);
        ASSERT_EQ(lease.decision().home, order[0]);
        ASSERT_EQ(lease.decision().rank, rank);
        ASSERT_EQ(lease.decision().reason, rank == 1 ? Reason::kHome : Reason::kDivertedUnavailable);
        failed.emplace_back(lease.id());
      }
      EXPECT_EQ(router->Stats().outstanding, 0u);
    }
  }
}

TEST_P(ExclusionTest, RetriesOfOneInstancesPrefixesSplitBetweenAllOthers) {
  const auto router = MakeRouter(Options(), MakeInstances(3));
  const std::vector<std::string_view> failed = {"i-0"};
  uint32_t seconds[3] = {};
  for (const std::string& prefix : PrefixesWithHome(*router, 0, 1000)) {
    Request request = ForPrefix(prefix);
    request.exclude = failed;
    ++seconds[AcquireOk(*router, request).decision().instance];
  }
  EXPECT_EQ(seconds[0], 0u);
  EXPECT_GE(seconds[1], 421u);
  EXPECT_LE(seconds[1], 579u);
  EXPECT_EQ(seconds[1] + seconds[2], 1000u);
}

TEST_P(ExclusionTest, UnknownIdsAreIgnored) {
  const auto router = MakeRouter(Options(), MakeInstances(3));
  const std::vector<std::string_view> unknown = {"i-", "i-00", "i-3", "", std::string_view("i-0\0", 4)};
  for (int i = 0; i < 100; ++i) {
    const std::string prefix = "prompt " + std::to_string(i);
    Request request = ForPrefix(prefix);
    const uint32_t home = AcquireOk(*router, request).decision().instance;
    request.exclude = unknown;
    ASSERT_EQ(AcquireOk(*router, request).decision().instance, home);
  }
}

TEST_P(ExclusionTest, HomeOfARequestThatExcludesItIsStillItsHome) {
  const auto router = MakeRouter(Options(), MakeInstances(5));
  const std::string prefix = PrefixesWithHome(*router, 2, 1)[0];
  Request request = ForPrefix(prefix);
  const std::vector<uint32_t> home = {2};
  request.exclude_indexes = home;
  Lease excluded = AcquireOk(*router, request);
  EXPECT_EQ(excluded.decision().home, 2u);
  EXPECT_EQ(excluded.decision().rank, 2u);
  excluded.Finish();
  ASSERT_THAT(router->SetDraining("i-2", true), IsOk());
  const Lease draining = AcquireOk(*router, ForPrefix(prefix));
  EXPECT_EQ(draining.decision().home, 2u);
  EXPECT_EQ(draining.decision().rank, 2u);
  EXPECT_EQ(draining.decision().reason, Reason::kDivertedUnavailable);
}

}  // namespace
}  // namespace prefixroute
