// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/rendezvous.h"
#include "tests/rendezvous/nodes.h"

namespace prefixroute {
namespace {

bool Everyone(uint32_t) { return true; }

// What the header promises, the long way: all that may be chosen, sorted.
template <typename Eligible>
std::vector<uint32_t> SortedOrder(const RendezvousNodes& nodes, uint64_t key, Eligible eligible) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < nodes.size; ++i) {
    if (nodes.weights[i] != 0 && eligible(i)) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](uint32_t a, uint32_t b) { return Precedes(ScoreOf(nodes, key, a), ScoreOf(nodes, key, b)); });
  return order;
}

TEST(RendezvousOrderTest, IsTheSortedOrderForEveryRoom) {
  constexpr uint32_t kUntouched = 0xdeadbeef;
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const OwnedNodes owned = RandomNodes(round % 40, random);
    const RendezvousNodes nodes = owned.view();
    const uint64_t key = random();
    const uint64_t eligible_bits = random() | random();
    const auto eligible = [&](uint32_t i) { return (eligible_bits >> i & 1) != 0; };
    const std::vector<uint32_t> sorted = SortedOrder(nodes, key, eligible);
    for (size_t room = 0; room <= nodes.size + 1; ++room) {
      std::vector<uint32_t> out(room + 1, kUntouched);
      const size_t count = RendezvousOrder(nodes, key, eligible, out.data(), room);
      ASSERT_EQ(count, std::min(room, sorted.size()));
      ASSERT_TRUE(std::equal(out.begin(), out.begin() + count, sorted.begin())) << "room " << room;
      ASSERT_EQ(out[room], kUntouched) << "wrote beyond its room";
    }
  }
}

TEST(RendezvousOrderTest, NeedsNoMemoryForNoRoom) {
  std::mt19937_64 random(2);
  const OwnedNodes nodes = RandomNodes(5, random);
  EXPECT_EQ(RendezvousOrder(nodes.view(), 1, Everyone, nullptr, 0), 0u);
}

TEST(RendezvousOrderTest, FirstIsItsHeadAndRankItsPlace) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 2'000; ++round) {
    const OwnedNodes owned = RandomNodes(round % 30, random);
    const RendezvousNodes nodes = owned.view();
    const uint64_t key = random();
    const std::vector<uint32_t> order = SortedOrder(nodes, key, Everyone);
    const uint32_t first = RendezvousFirst(nodes, key, Everyone);
    ASSERT_EQ(first, order.empty() ? kNoInstance : order[0]);
    for (uint32_t place = 0; place < order.size(); ++place) {
      ASSERT_EQ(RendezvousRank(nodes, key, order[place]), place + 1);
      // Whoever is left when those before are not eligible comes first.
      const auto not_before = [&](uint32_t i) {
        return std::find(order.begin(), order.begin() + place, i) == order.begin() + place;
      };
      ASSERT_EQ(RendezvousFirst(nodes, key, not_before), order[place]);
    }
  }
}

TEST(RendezvousFirstTest, AsksOnlyOfThoseThatWouldComeFirst) {
  const OwnedNodes owned{{10, 20, 30, 40, 50, 60}, std::vector<uint64_t>(6, 1), {0, 1, 2, 3, 4, 5}};
  const RendezvousNodes nodes = owned.view();
  for (uint64_t key = 0; key < 1'000; ++key) {
    uint32_t best = kNoInstance;
    RendezvousFirst(nodes, key, [&](uint32_t i) {
      EXPECT_TRUE(best == kNoInstance || Precedes(ScoreOf(nodes, key, i), ScoreOf(nodes, key, best)));
      best = i;
      return true;
    });
  }
}

TEST(RendezvousFirstTest, IsNobodyWhereNobodyMayBeChosen) {
  const OwnedNodes none;
  EXPECT_EQ(RendezvousFirst(none.view(), 1, Everyone), kNoInstance);
  const OwnedNodes weightless{{1, 2}, {0, 0}, {0, 1}};
  EXPECT_EQ(RendezvousFirst(weightless.view(), 1, Everyone), kNoInstance);
  const OwnedNodes two{{1, 2}, {1, 1}, {0, 1}};
  EXPECT_EQ(RendezvousFirst(two.view(), 1, [](uint32_t) { return false; }), kNoInstance);
}

// Two ids of one hash: no key tells them apart, so the lesser id is first for all.
TEST(RendezvousFirstTest, EqualHashesGoByTheTie) {
  const OwnedNodes owned{{77, 77, 77}, {5, 5, 5}, {2, 0, 1}};
  const RendezvousNodes nodes = owned.view();
  for (uint64_t key = 0; key < 1'000; ++key) {
    std::array<uint32_t, 3> order{};
    ASSERT_EQ(RendezvousOrder(nodes, key, Everyone, order.data(), order.size()), 3u);
    ASSERT_EQ(order, (std::array<uint32_t, 3>{1, 2, 0}));
    ASSERT_EQ(RendezvousFirst(nodes, key, Everyone), 1u);
    ASSERT_EQ(RendezvousRank(nodes, key, 0), 3u);
  }
}

// MixBits(0) is 0, the least hash there is: a key that equals an instance's hash must not break anything.
TEST(RendezvousFirstTest, AHashOfZeroComesLastAndIsStillChosen) {
  const OwnedNodes owned{{123, 456}, {1, 1}, {0, 1}};
  EXPECT_EQ(RendezvousHash(123, 123), 0u);
  EXPECT_EQ(RendezvousFirst(owned.view(), 123, Everyone), 1u);
  EXPECT_EQ(RendezvousFirst(owned.view(), 123, [](uint32_t i) { return i == 0; }), 0u);
}

constexpr uint32_t FirstOfThree(uint64_t key) {
  const std::array<uint64_t, 3> hashes{11, 22, 33};
  const std::array<uint64_t, 3> weights{1, 0, 3};
  const std::array<uint32_t, 3> ties{0, 1, 2};
  const RendezvousNodes nodes{hashes.data(), weights.data(), ties.data(), 3};
  const uint32_t first = RendezvousFirst(nodes, key, [](uint32_t) { return true; });
  return RendezvousRank(nodes, key, first) == 1 ? first : kNoInstance;
}

TEST(RendezvousFirstTest, WorksInAConstantExpression) {
  constexpr uint32_t kFirst = FirstOfThree(9);
  static_assert(kFirst == 0 || kFirst == 2);
  EXPECT_EQ(kFirst, FirstOfThree(9));
}

}  // namespace
}  // namespace prefixroute
