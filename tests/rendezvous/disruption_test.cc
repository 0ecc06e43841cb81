// SPDX-License-Identifier: Apache-2.0
//
// Which keys move when the fleet changes: exactly those that must, as an idle router decides.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/rendezvous/prompts.h"
#include "tests/testing/fleet.h"

namespace prefixroute {
namespace {

constexpr int kPrompts = 100'000;

// The home and the second of every prompt, by id: indexes change with the fleet.
struct Homes {
  std::vector<std::string> first;
  std::vector<std::string> second;
};

Homes HomesIn(Router& router, const std::vector<Instance>& instances) {
  const std::vector<Load> idle(instances.size());
  Homes homes;
  for (int i = 0; i < kPrompts; ++i) {
    const std::string prompt = Prompt(i);
    const Request request = test::ForPrefix(prompt);
    const Decision decision = test::RouteOk(router, request, idle);
    EXPECT_EQ(decision.reason, Reason::kHome);
    std::array<uint32_t, 2> order{};
    EXPECT_EQ(router.Rank(request, absl::MakeSpan(order)).value_or(0), 2u);
    EXPECT_EQ(order[0], decision.instance);
    homes.first.push_back(instances[order[0]].id);
    homes.second.push_back(instances[order[1]].id);
  }
  return homes;
}

TEST(DisruptionTest, ARemovedInstancesKeysMoveEachToItsSecondAndNoOthers) {
  for (const std::vector<Instance>& all : FleetsOfSeven()) {
    const std::unique_ptr<Router> router = test::MakeRouter(test::StrictOptions(), all);
    const Homes before = HomesIn(*router, all);
    std::vector<Instance> rest = all;
    const std::string removed = rest[3].id;
    rest.erase(rest.begin() + 3);

    ASSERT_THAT(router->SetInstances(rest), test::IsOk());
    const Homes without = HomesIn(*router, rest);
    int moved = 0;
    for (int i = 0; i < kPrompts; ++i) {
      ASSERT_EQ(without.first[i], before.first[i] == removed ? before.second[i] : before.first[i]);
      moved += without.first[i] != before.first[i];
    }
    EXPECT_EQ(moved, std::count(before.first.begin(), before.first.end(), removed));

    // Back again, and listed elsewhere.
    rest.push_back({removed});
    ASSERT_THAT(router->SetInstances(rest), test::IsOk());
    const Homes after = HomesIn(*router, rest);
    EXPECT_EQ(after.first, before.first);
    EXPECT_EQ(after.second, before.second);
  }
}

TEST(DisruptionTest, AnAddedInstanceTakesItsShareAndNothingElseMoves) {
  for (std::vector<Instance> instances : FleetsOfSeven()) {
    const std::unique_ptr<Router> router = test::MakeRouter(test::StrictOptions(), instances);
    const Homes before = HomesIn(*router, instances);
    instances.push_back({"the eighth"});
    ASSERT_THAT(router->SetInstances(instances), test::IsOk());
    const Homes after = HomesIn(*router, instances);
    int moved = 0;
    for (int i = 0; i < kPrompts; ++i) {
      if (after.first[i] == before.first[i]) continue;
      ++moved;
      ASSERT_EQ(after.first[i], "the eighth");
      ASSERT_EQ(after.second[i], before.first[i]);
    }
    const double share = 100.0 * moved / kPrompts;
    EXPECT_TRUE(share >= 11.98 && share <= 13.03) << share << " % moved";
  }
}

TEST(DisruptionTest, AChangedWeightMovesKeysOnlyToOrFromItsInstance) {
  std::vector<Instance> instances = NumberedInstances("i-", 7);
  const std::unique_ptr<Router> router = test::MakeRouter(test::StrictOptions(), instances);
  const Homes light = HomesIn(*router, instances);
  instances[2].weight = 2;
  ASSERT_THAT(router->SetInstances(instances), test::IsOk());
  const Homes heavy = HomesIn(*router, instances);
  int moved = 0;
  for (int i = 0; i < kPrompts; ++i) {
    if (heavy.first[i] == light.first[i]) continue;
    ++moved;
    ASSERT_EQ(heavy.first[i], "i-2") << "a heavier instance gives nothing away, and others exchange nothing";
  }
  // From 1/7 to 2/8.
  EXPECT_NEAR(100.0 * moved / kPrompts, 100.0 * (2.0 / 8 - 1.0 / 7), 0.6);

  instances[2].weight = 1;
  ASSERT_THAT(router->SetInstances(instances), test::IsOk());
  EXPECT_EQ(HomesIn(*router, instances).first, light.first);

  // Weight 0 is as good as gone; 1 again restores all.
  instances[2].weight = 0;
  ASSERT_THAT(router->SetInstances(instances), test::IsOk());
  const Homes none = HomesIn(*router, instances);
  for (int i = 0; i < kPrompts; ++i) {
    ASSERT_EQ(none.first[i], light.first[i] == "i-2" ? light.second[i] : light.first[i]);
  }
  instances[2].weight = 1;
  ASSERT_THAT(router->SetInstances(instances), test::IsOk());
  EXPECT_EQ(HomesIn(*router, instances).first, light.first);
}

}  // namespace
}  // namespace prefixroute
