// SPDX-License-Identifier: Apache-2.0
//
// PREFIX_AWARE where a decision weighs only some of the instances (considered.h).

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "src/strategy/considered.h"
#include "tests/testing/fleet.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::ForPrefix;
using test::MakeInstances;
using test::MakeRouter;
using test::OutstandingOf;
using test::RouteOk;

constexpr uint32_t kInstances = 300;
static_assert(kInstances > 4 * internal::Considered::kMax);

// All but so many, spread over the fleet.
std::vector<uint32_t> AllBut(uint32_t count) {
  std::vector<uint32_t> excluded;
  for (uint32_t i = 0; i < kInstances; ++i) {
    if (i % (kInstances / count) != 0) excluded.push_back(i);
  }
  return excluded;
}

TEST(LargeFleetTest, OneKeyThatAllSendUsesAllInstances) {
  const auto router = MakeRouter({}, MakeInstances(kInstances));
  const PrefixKey key = PrefixKey::FromHash(0x1234'5678'9abc'def0);
  Request request;
  request.key = &key;
  std::vector<Lease> open;
  for (uint32_t i = 0; i < 20 * kInstances; ++i) open.push_back(AcquireOk(*router, request));
  const std::vector<uint32_t> outstanding = OutstandingOf(*router);
  EXPECT_GT(*std::min_element(outstanding.begin(), outstanding.end()), 10u);
  EXPECT_LT(*std::max_element(outstanding.begin(), outstanding.end()), 40u);
}

TEST(LargeFleetTest, ASubsetIsUsedEvenlyHoweverFewItsInstances) {
  const std::vector<uint32_t> excluded = AllBut(10);
  for (const uint32_t keys : {1u, 20u}) {
    const auto router = MakeRouter({}, MakeInstances(kInstances));
    std::vector<Lease> open;
    for (uint32_t i = 0; i < 1'000; ++i) {
      const std::string prefix = std::string(2'000, 'x') + std::to_string(i % keys);
      Request request = ForPrefix(prefix);
      request.exclude_indexes = excluded;
      open.push_back(AcquireOk(*router, request));
    }
    const std::vector<uint32_t> outstanding = OutstandingOf(*router);
    EXPECT_LT(*std::max_element(outstanding.begin(), outstanding.end()), 150u) << keys << " keys";
    EXPECT_EQ(std::accumulate(outstanding.begin(), outstanding.end(), 0u), 1'000u);
  }
}

TEST(LargeFleetTest, ABusyHolderIsLeftForIdleOthersThoughNearlyAllAreExcluded) {
  const std::vector<uint32_t> excluded = AllBut(10);
  const auto router = MakeRouter({}, MakeInstances(kInstances));
  for (int i = 0; i < 200; ++i) {
    const std::string prefix = std::to_string(i) + std::string(2'000, 'x');
    Request request = ForPrefix(prefix);
    request.exclude_indexes = excluded;
    std::vector<Load> loads(kInstances);
    const uint32_t holder = RouteOk(*router, request, loads).instance;
    loads[holder] = {5'000, 50'000'000};
    ASSERT_NE(RouteOk(*router, request, loads).instance, holder) << i;
  }
}

TEST(LargeFleetTest, TheOnlyOneThatIsLeftIsFound) {
  const auto router = MakeRouter({}, MakeInstances(kInstances));
  for (uint32_t left = 0; left < kInstances; ++left) {
    std::vector<uint32_t> excluded(kInstances);
    std::iota(excluded.begin(), excluded.end(), 0);
    excluded.erase(excluded.begin() + left);
    const std::string prefix = "prompt " + std::to_string(left);
    Request request = ForPrefix(prefix);
    request.exclude_indexes = excluded;
    ASSERT_EQ(AcquireOk(*router, request).decision().instance, left);
  }
}

}  // namespace
}  // namespace prefixroute
