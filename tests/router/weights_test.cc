// SPDX-License-Identifier: Apache-2.0
//
// An instance's weight: its share of the prefixes, the ends of its range, and 0.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/rendezvous.h"
#include "prefixroute/router.h"
#include "src/hash/hash.h"
#include "tests/testing/fleet.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::ForPrefix;
using test::IsOk;
using test::MakeRouter;
using test::Occupy;
using test::OrderOf;
using test::OutstandingOf;
using test::RouteOk;
using test::WithStrategy;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAreArray;

const std::vector<Instance>& OneOneTwoFour() {
  static const auto* instances = new std::vector<Instance>{{"a", 1.0}, {"b", 1.0}, {"c", 2.0}, {"d", 4.0}};
  return *instances;
}

// LEAST_OUTSTANDING_REQUESTS has no share of its own where nobody has anything outstanding.
class WeightShareTest : public ::testing::TestWithParam<test::NamedOptions> {};
INSTANTIATE_TEST_SUITE_P(, WeightShareTest,
                         ::testing::Values(test::AllStrategies()[0], test::AllStrategies()[1],
                                           test::AllStrategies()[2]),
                         test::NameOf);

TEST_P(WeightShareTest, IdleInstancesGetRequestsInProportion) {
  constexpr int kRequests = 100'000;
  // In units other than 1, too: 1e6 is a weight like 1.
  for (double unit : {1.0, 0.001, 250'000.0}) {
    std::vector<Instance> instances = OneOneTwoFour();
    for (Instance& instance : instances) instance.weight *= unit;
    const auto router = MakeRouter(GetParam().options, instances);
    const std::vector<Load> idle(4);
    std::array<int, 4> counts{};
    for (int i = 0; i < kRequests; ++i) {
      ++counts[RouteOk(*router, ForPrefix("prompt " + std::to_string(i)), idle).instance];
    }
    // The greatest 5 sigma are 0.8 %; for prefixes, which are always the same, 0.6 % holds.
    const double tolerance = kRequests * (GetParam().options.strategy == Strategy::kRandom ? 0.008 : 0.006);
    EXPECT_NEAR(counts[0], kRequests * 0.125, tolerance) << "unit " << unit;
    EXPECT_NEAR(counts[1], kRequests * 0.125, tolerance) << "unit " << unit;
    EXPECT_NEAR(counts[2], kRequests * 0.25, tolerance) << "unit " << unit;
    EXPECT_NEAR(counts[3], kRequests * 0.5, tolerance) << "unit " << unit;
  }
}

TEST(WeightTest, LeastOutstandingFillsInProportion) {
  const auto router = MakeRouter(WithStrategy(Strategy::kLeastOutstandingRequests), OneOneTwoFour());
  std::vector<Lease> leases;
  for (int i = 0; i < 800; ++i) leases.push_back(AcquireOk(*router, {}));
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(100, 100, 200, 400));
}

TEST(WeightTest, ZeroTakesNoNewRequestsAndFinishesItsOwn) {
  const auto router = MakeRouter({}, {{"a"}, {"b"}, {"c"}});
  std::vector<std::vector<uint32_t>> orders;
  for (int i = 0; i < 1000; ++i) orders.push_back(OrderOf(*router, ForPrefix("prompt " + std::to_string(i))));
  std::vector<Lease> leases = Occupy(*router, 1, 3);

  ASSERT_THAT(router->SetInstances({{"a"}, {"b", 0.0}, {"c"}}), IsOk());
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(0, 3, 0));
  for (Strategy strategy : {Strategy::kRandom, Strategy::kLeastOutstandingRequests, Strategy::kPrefixAware}) {
    for (int i = 0; i < 1000; ++i) {
      const std::string prefix = "prompt " + std::to_string(i);
      Request request = ForPrefix(prefix);
      request.strategy = strategy;
      ASSERT_NE(RouteOk(*router, request, std::vector<Load>{{7}, {0}, {7}}).instance, 1u) << StrategyName(strategy);
    }
  }
  // It has no place in any order, so nobody's home is there.
  EXPECT_EQ(OrderOf(*router, ForPrefix("prompt")).size(), 2u);
  leases.clear();
  EXPECT_THAT(OutstandingOf(*router), ElementsAre(0, 0, 0));

  ASSERT_THAT(router->SetInstances({{"a"}, {"b"}, {"c"}}), IsOk());
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(OrderOf(*router, ForPrefix("prompt " + std::to_string(i))), orders[i]);
  }
}

// The bits that MixBits makes `bits` of.
uint64_t UnmixBits(uint64_t bits) {
  const auto inverse = [](uint64_t odd) {
    uint64_t result = odd;
    for (int i = 0; i < 6; ++i) result *= 2 - odd * result;  // Newton: each step doubles the bits that are right.
    return result;
  };
  bits ^= bits >> 33;
  bits *= inverse(0xc4ceb9fe1a85ec53ULL);
  bits ^= bits >> 33;
  bits *= inverse(0xff51afd7ed558ccdULL);
  bits ^= bits >> 33;
  return bits;
}

// The key for which the instance `id` has this very hash.
PrefixKey KeyWithHash(const std::string& id, uint64_t hash) {
  const PrefixKey key = PrefixKey::FromHash(internal::HashBytes(id) ^ UnmixBits(hash));
  EXPECT_EQ(RendezvousHash(key.value(), internal::HashBytes(id)), hash);
  return key;
}

TEST(WeightTest, LeastAndGreatestHashHaveAPlaceAtEveryWeight) {
  for (double weight : {kMinWeight, 1.0, kMaxWeight}) {
    const std::vector<Instance> instances = {{"a", weight}, {"b"}, {"c", kMinWeight}, {"d", kMaxWeight}, {"e"}};
    const auto router = MakeRouter({}, instances);
    Request request;
    PrefixKey key = KeyWithHash("a", UINT64_MAX);
    request.key = &key;
    EXPECT_EQ(OrderOf(*router, request)[0], 0u) << "weight " << weight;
    EXPECT_EQ(AcquireOk(*router, request).decision().instance, 0u) << "weight " << weight;

    key = KeyWithHash("a", 0);
    const std::vector<uint32_t> order = OrderOf(*router, request);
    EXPECT_THAT(order, UnorderedElementsAreArray({0u, 1u, 2u, 3u, 4u}));
    const Lease lease = AcquireOk(*router, request);
    EXPECT_EQ(lease.decision().instance, order[0]);
    EXPECT_EQ(lease.decision().rank, 1u);
    // Of one weight with others, it comes behind them.
    if (weight == 1.0) {
      EXPECT_GT(std::find(order.begin(), order.end(), 0u), std::find(order.begin(), order.end(), 1u));
      EXPECT_GT(std::find(order.begin(), order.end(), 0u), std::find(order.begin(), order.end(), 4u));
    }
  }
}

TEST(WeightTest, EndsOfTheRangeAreInIt) {
  const auto router = MakeRouter({}, {{"least", kMinWeight}, {"greatest", kMaxWeight}});
  for (int i = 0; i < 1000; ++i) AcquireOk(*router, ForPrefix("prompt " + std::to_string(i)));
  // A share of a billionth: not one of a thousand.
  EXPECT_EQ(router->Stats().instances[0].weight, kMinWeight);
  EXPECT_EQ(router->Stats().instances[1].weight, kMaxWeight);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(AcquireOk(*router, ForPrefix("prompt " + std::to_string(i))).id(), "greatest") << i;
  }
}

}  // namespace
}  // namespace prefixroute
