// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/rendezvous.h"

namespace prefixroute {
namespace {

constexpr uint64_t kGreatestWeight = (uint64_t{1} << 48) - 1;

// Values that meet each other often, the ends among them.
RendezvousScore RandomScore(std::mt19937_64& random) {
  constexpr std::array<uint64_t, 8> kHashes{0,         1, 2, 3, uint64_t{1} << 62, uint64_t{1} << 63, UINT64_MAX - 1,
                                            UINT64_MAX};
  constexpr std::array<uint64_t, 5> kWeights{1, 2, 3, 1u << 20, kGreatestWeight};
  return {random() % 2 == 0 ? kHashes[random() % kHashes.size()] : random() >> (random() % 64),
          kWeights[random() % kWeights.size()], static_cast<uint32_t>(random() % 3)};
}

bool Same(const RendezvousScore& a, const RendezvousScore& b) {
  return a.hash == b.hash && a.weight == b.weight && a.tie == b.tie;
}

TEST(PrecedesTest, IsAStrictTotalOrder) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 3'000'000; ++i) {
    std::array<RendezvousScore, 3> scores{RandomScore(random), RandomScore(random), RandomScore(random)};
    const auto& [a, b, c] = scores;
    ASSERT_FALSE(Precedes(a, a));
    ASSERT_FALSE(Precedes(a, b) && Precedes(b, a));
    if (Precedes(a, b) && Precedes(b, c)) {
      ASSERT_TRUE(Precedes(a, c));
    }
    // Two nodes of one router never have one tie.
    if (a.tie != b.tie) {
      ASSERT_TRUE(Precedes(a, b) || Precedes(b, a));
    }
    if (Same(a, b)) {
      ASSERT_FALSE(Precedes(a, b) || Precedes(b, a));
    }
  }
}

TEST(PrecedesTest, AmongEqualWeightsTheGreaterHashComesFirst) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 1'000'000; ++i) {
    RendezvousScore a = RandomScore(random);
    RendezvousScore b = RandomScore(random);
    b.weight = a.weight;
    if (a.hash != b.hash) {
      ASSERT_EQ(Precedes(a, b), a.hash > b.hash);
    }
  }
}

TEST(PrecedesTest, AmongEqualHashesTheGreaterWeightComesFirst) {
  for (uint64_t hash : {uint64_t{0}, uint64_t{1} << 63, UINT64_MAX}) {
    for (uint32_t tie : {0u, 1u}) {
      EXPECT_TRUE(Precedes({hash, 2, tie}, {hash, 1, 1 - tie}));
      EXPECT_FALSE(Precedes({hash, 1, tie}, {hash, 2, 1 - tie}));
    }
  }
}

// u = 1/4 with weight 2 is level with u = 1/2 and weight 1, exactly.
TEST(PrecedesTest, AmongEqualScoresTheGreaterHashThenTheLesserTie) {
  const RendezvousScore heavy{uint64_t{1} << 62, 2, 0};
  const RendezvousScore light{uint64_t{1} << 63, 1, 1};
  EXPECT_TRUE(Precedes(light, heavy));
  EXPECT_FALSE(Precedes(heavy, light));
  EXPECT_TRUE(Precedes({7, 3, 0}, {7, 3, 1}));
  EXPECT_FALSE(Precedes({7, 3, 1}, {7, 3, 0}));
}

// Hash 0 has the longest logarithm, and that times the greatest weight must not overflow.
TEST(PrecedesTest, NoScoreOverflows) {
  const RendezvousScore worst{0, 1, 0};
  const RendezvousScore best{UINT64_MAX, kGreatestWeight, 1};
  EXPECT_TRUE(Precedes(best, worst));
  EXPECT_FALSE(Precedes(worst, best));
  const RendezvousScore worst_but_heavy{0, kGreatestWeight, 0};
  const RendezvousScore half_but_light{uint64_t{1} << 63, 1, 1};
  EXPECT_TRUE(Precedes(worst_but_heavy, half_but_light));
}

// The order is that of real logarithms wherever those are farther apart than NegativeLog2's error.
TEST(PrecedesTest, AgreesWithRealLogarithms) {
  std::mt19937_64 random(3);
  const auto score = [](const RendezvousScore& a) {
    return -std::log2(std::ldexp(static_cast<long double>(a.hash | 1), -64)) / static_cast<long double>(a.weight);
  };
  int compared = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const RendezvousScore a{random(), 1 + random() % 1000, 0};
    const RendezvousScore b{random(), 1 + random() % 1000, 1};
    const long double left = score(a);
    const long double right = score(b);
    if (std::abs(left - right) < 3e-5L * std::max(left, right)) continue;
    ASSERT_EQ(Precedes(a, b), left < right);
    ++compared;
  }
  EXPECT_GT(compared, 900'000);
}

}  // namespace
}  // namespace prefixroute
