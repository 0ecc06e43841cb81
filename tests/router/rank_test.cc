// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cstddef>
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
using test::IsOk;
using test::MakeInstances;
using test::MakeRouter;
using test::OrderOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

TEST(RankTest, BeginsWithTheHomeAndHasEveryInstanceOnce) {
  for (const auto& [name, options] : test::PrefixAwareModes()) {
    const auto router = MakeRouter(options, MakeInstances(100));
    for (int i = 0; i < 500; ++i) {
      // One beginning, which more and more requests have.
      const std::string prefix = std::string(1'000, 'x') + std::to_string(i) + std::string(1'000, 'y');
      const std::vector<uint32_t> order = OrderOf(*router, ForPrefix(prefix));
      ASSERT_EQ(std::set<uint32_t>(order.begin(), order.end()).size(), 100u) << name;
      const Decision decision = AcquireOk(*router, ForPrefix(prefix)).decision();
      ASSERT_EQ(order[0], decision.home) << name;
      const auto place = std::find(order.begin(), order.end(), decision.instance) - order.begin() + 1;
      ASSERT_EQ(decision.rank, std::min<ptrdiff_t>(place, 65)) << name;
    }
  }
}

TEST(RankTest, ShorterSpanGetsTheBeginningOfTheOrder) {
  std::vector<Instance> instances = MakeInstances(100);
  for (size_t i = 0; i < instances.size(); ++i) instances[i].weight = 1.0 + static_cast<double>(i % 3);
  const auto router = MakeRouter({}, instances);
  for (int i = 0; i < 100; ++i) AcquireOk(*router, ForPrefix("prompt"));  // Several homes.
  const std::vector<uint32_t> order = OrderOf(*router, ForPrefix("prompt"));
  for (size_t room = 0; room <= 100; ++room) {
    std::vector<uint32_t> out(room, 12345);
    const absl::StatusOr<size_t> ranked = router->Rank(ForPrefix("prompt"), absl::MakeSpan(out));
    ASSERT_THAT(ranked, IsOk());
    ASSERT_EQ(*ranked, room);
    ASSERT_EQ(out, std::vector<uint32_t>(order.begin(), order.begin() + static_cast<ptrdiff_t>(room)));
  }
}

TEST(RankTest, LongerSpanIsNotWrittenBehindTheOrder) {
  const auto router = MakeRouter({}, MakeInstances(3));
  std::array<uint32_t, 6> out;
  out.fill(12345);
  const absl::StatusOr<size_t> ranked = router->Rank(ForPrefix("prompt"), absl::MakeSpan(out));
  ASSERT_THAT(ranked, IsOk());
  EXPECT_EQ(*ranked, 3u);
  EXPECT_EQ(out[3], 12345u);
  EXPECT_EQ(out[5], 12345u);
}

TEST(RankTest, LeavesOutDrainingExcludedAndWeightless) {
  const auto router = MakeRouter({}, {{"a"}, {"b"}, {"c", 0.0}, {"d"}, {"e"}, {"f"}});
  const std::vector<uint32_t> before = OrderOf(*router, ForPrefix("prompt"));
  ASSERT_THAT(before, UnorderedElementsAre(0, 1, 3, 4, 5));
  ASSERT_THAT(router->SetDraining("b", true), IsOk());
  Request request = ForPrefix("prompt");
  const std::vector<std::string_view> ids = {"e"};
  const std::vector<uint32_t> indexes = {3};
  request.exclude = ids;
  request.exclude_indexes = indexes;
  // The others keep their order.
  std::vector<uint32_t> expected;
  for (uint32_t index : before) {
    if (index == 0 || index == 5) expected.push_back(index);
  }
  EXPECT_EQ(OrderOf(*router, request), expected);
}

TEST(RankTest, DependsOnNeitherLoadNorBounds) {
  const auto router = MakeRouter(test::WithBound(100, 0, 1), MakeInstances(5, /*max_outstanding=*/4));
  const std::vector<uint32_t> order = OrderOf(*router, ForPrefix("prompt"));
  std::vector<Lease> leases;
  for (int i = 0; i < 20; ++i) {
    leases.push_back(AcquireOk(*router, ForPrefix("prompt")));
    ASSERT_EQ(OrderOf(*router, ForPrefix("prompt")), order);
  }
}

TEST(RankTest, NobodyAvailableIsAnEmptyOrder) {
  const auto router = MakeRouter({}, {});
  std::array<uint32_t, 3> out;
  absl::StatusOr<size_t> ranked = router->Rank(ForPrefix("prompt"), absl::MakeSpan(out));
  ASSERT_THAT(ranked, IsOk());
  EXPECT_EQ(*ranked, 0u);
  ASSERT_THAT(router->SetInstances(MakeInstances(1)), IsOk());
  ASSERT_THAT(router->SetDraining("i-0", true), IsOk());
  ranked = router->Rank(ForPrefix("prompt"), absl::MakeSpan(out));
  ASSERT_THAT(ranked, IsOk());
  EXPECT_EQ(*ranked, 0u);
}

TEST(RankTest, EmptyPrefixGetsARandomOrder) {
  const auto router = MakeRouter({}, MakeInstances(7));
  std::set<uint32_t> firsts;
  for (int i = 0; i < 500; ++i) {
    const std::vector<uint32_t> order = OrderOf(*router, ForPrefix(""));
    ASSERT_THAT(order, UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6));
    firsts.insert(order[0]);
  }
  EXPECT_EQ(firsts.size(), 7u);
  Request fixed;
  fixed.random = 42;
  EXPECT_EQ(OrderOf(*router, fixed), OrderOf(*router, fixed));
}

TEST(RankTest, CountsAsNoDecision) {
  const auto router = MakeRouter({}, MakeInstances(3));
  OrderOf(*router, ForPrefix("prompt"));
  const RouterStats stats = router->Stats();
  EXPECT_EQ(stats.outstanding, 0u);
  EXPECT_THAT(stats.decisions, Not(Contains(::testing::Ne(0u))));
}

}  // namespace
}  // namespace prefixroute
