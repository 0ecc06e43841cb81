// SPDX-License-Identifier: Apache-2.0
//
// How keys spread over instances. Tolerances are five standard deviations of an honest spread.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/prefix_key.h"
#include "prefixroute/rendezvous.h"
#include "src/fleet/fleet.h"
#include "tests/rendezvous/prompts.h"

namespace prefixroute {
namespace {

constexpr int kPrompts = 100'000;

internal::Fleet FleetOf(const std::vector<Instance>& instances) {
  return internal::Fleet(instances, std::vector<uint8_t>(instances.size()), std::vector<uint32_t>(instances.size()));
}

bool Everyone(uint32_t) { return true; }

TEST(ShareTest, EqualInstancesGetEqualSharesAndSoDoTheirSeconds) {
  for (const std::vector<Instance>& instances : FleetsOfSeven()) {
    const internal::Fleet fleet = FleetOf(instances);
    std::array<int, 7> homes{};
    std::array<std::array<int, 7>, 7> seconds{};
    for (int i = 0; i < kPrompts; ++i) {
      std::array<uint32_t, 2> order{};
      RendezvousOrder(fleet.nodes(), MakePrefixKey(Prompt(i)).value(), Everyone, order.data(), order.size());
      ++homes[order[0]];
      ++seconds[order[0]][order[1]];
    }
    for (size_t home = 0; home < 7; ++home) {
      const double share = 100.0 * homes[home] / kPrompts;
      EXPECT_TRUE(share >= 13.73 && share <= 14.84) << instances[home].id << " has " << share << " %";
      for (size_t second = 0; second < 7; ++second) {
        if (second == home) continue;
        const double second_share = 100.0 * seconds[home][second] / homes[home];
        EXPECT_TRUE(second_share >= 15.1 && second_share <= 18.3)
            << instances[second].id << " is second to " << instances[home].id << " for " << second_share << " %";
      }
    }
  }
}

TEST(ShareTest, FollowsTheWeights) {
  const std::array<double, 4> weights{1, 1, 2, 4};
  const std::array<double, 4> expected{12.5, 12.5, 25, 50};
  // The same proportions at the least weights, the greatest, and with fractions.
  for (double unit : {1.0, 0.001, 250'000.0, 0.7}) {
    std::vector<Instance> instances = NumberedInstances("i-", 4);
    for (size_t i = 0; i < 4; ++i) instances[i].weight = weights[i] * unit;
    const internal::Fleet fleet = FleetOf(instances);
    std::array<int, 4> homes{};
    for (int i = 0; i < kPrompts; ++i) {
      ++homes[RendezvousFirst(fleet.nodes(), MakePrefixKey(Prompt(i)).value(), Everyone)];
    }
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(100.0 * homes[i] / kPrompts, expected[i], 0.6) << "weight " << instances[i].weight;
    }
  }
}

// A scope is as good a reason to spread as another prefix.
TEST(ShareTest, OnePrefixInManyScopesSpreads) {
  const internal::Fleet fleet = FleetOf(NumberedInstances("i-", 7));
  std::array<int, 7> homes{};
  for (int i = 0; i < kPrompts; ++i) {
    const PrefixKey key = MakePrefixKey(Prompt(0), absl::StrCat("tenant-", i));
    ++homes[RendezvousFirst(fleet.nodes(), key.value(), Everyone)];
  }
  for (int home : homes) {
    const double share = 100.0 * home / kPrompts;
    EXPECT_TRUE(share >= 13.73 && share <= 14.84) << share << " %";
  }
}

}  // namespace
}  // namespace prefixroute
