// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>

#include "gtest/gtest.h"
#include "prefixroute/rendezvous.h"

namespace prefixroute {
namespace {

constexpr uint64_t kOne = uint64_t{1} << internal::kLog2FractionBits;

static_assert(NegativeLog2(0) == 64 * kOne, "u = 2^-64");
static_assert(NegativeLog2(UINT64_MAX) < kOne >> 30, "u = 1 - 2^-64");
static_assert(NegativeLog2(uint64_t{1} << 63) == kOne, "u = 1/2");
static_assert(NegativeLog2(uint64_t{1} << 62) == 2 * kOne, "u = 1/4");

// -log2((hash | 1) / 2^64), good to some 2^-60 of itself also where u is near 1.
long double TrueNegativeLog2(uint64_t hash) {
  hash |= 1;
  if (hash >> 63 == 0) return 64 - std::log2(static_cast<long double>(hash));
  const uint64_t missing = ~hash + 1;  // 2^64 - hash
  return -std::log1p(-std::ldexp(static_cast<long double>(missing), -64)) / std::log(2.0L);
}

long double AsReal(uint64_t negative_log2) { return std::ldexp(static_cast<long double>(negative_log2), -57); }

// A hash whose leading bits are equally often of every length, so that small and great u are all tried.
uint64_t RandomOfAnySize(std::mt19937_64& random) { return random() >> (random() % 64); }

// Hashes around each border of a segment, and its middle, for every number of leading zeros.
template <typename Visit>
void ForEachBorder(Visit visit) {
  for (int zeros = 0; zeros < 64; ++zeros) {
    for (uint64_t half_segment = 0; half_segment < 2 * internal::kLog2Segments; ++half_segment) {
      const uint64_t border = ((uint64_t{1} << 63) | (half_segment << (62 - internal::kLog2SegmentBits))) >> zeros;
      visit(border);
    }
  }
}

TEST(NegativeLog2Test, AbsoluteErrorIsBelowOneTenMillionth) {
  long double greatest = 0;
  std::mt19937_64 random(1);
  const auto check = [&](uint64_t hash) {
    greatest = std::max(greatest, std::abs(AsReal(NegativeLog2(hash)) - TrueNegativeLog2(hash)));
  };
  for (int i = 0; i < 2'000'000; ++i) check(RandomOfAnySize(random));
  for (int i = 0; i < 1'000'000; ++i) check(random());
  ForEachBorder(check);
  EXPECT_LT(greatest, 1e-7L);
  EXPECT_GT(greatest, 1e-9L) << "the parabola has an error: the measurement sees nothing";
  std::printf("greatest absolute error: %.3Lg\n", greatest);
}

// What weights go by is the quotient of two logarithms, so the relative error matters, above all near u = 1. The place
// within a segment has 32 bits: below 1 - u = 2^-22, which is as rare, that is what limits it.
TEST(NegativeLog2Test, RelativeErrorIsSmallToo) {
  const auto greatest_error = [](int least_bits) {
    long double greatest = 0;
    std::mt19937_64 random(2);
    for (int bits = least_bits; bits <= 64; ++bits) {  // 1 - u from 2^(bits - 65) to 2^(bits - 64).
      for (int i = 0; i < 50'000; ++i) {
        const uint64_t missing = (random() >> (64 - bits)) | (uint64_t{1} << (bits - 1));
        const uint64_t hash = UINT64_MAX - missing;
        greatest = std::max(greatest, std::abs(AsReal(NegativeLog2(hash)) / TrueNegativeLog2(hash) - 1));
      }
    }
    return greatest;
  };
  const long double common = greatest_error(43);
  const long double rare = greatest_error(33);
  std::printf("greatest relative error: %.3Lg for u <= 1 - 2^-22, %.3Lg for u <= 1 - 2^-32\n", common, rare);
  EXPECT_LT(common, 2e-5L);
  EXPECT_LT(rare, 0.01L);
}

TEST(NegativeLog2Test, NeverRisesAtTheBordersOfSegments) {
  ForEachBorder([](uint64_t border) {
    for (uint64_t distance : {1, 2, 3, 4}) {
      if (border >= distance) {
        EXPECT_GE(NegativeLog2(border - distance), NegativeLog2(border)) << border;
      }
      if (border <= UINT64_MAX - distance) {
        EXPECT_LE(NegativeLog2(border + distance), NegativeLog2(border)) << border;
      }
    }
  });
}

TEST(NegativeLog2Test, NeverRisesBetweenNeighbours) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 10'000'000; ++i) {
    const uint64_t hash = RandomOfAnySize(random);
    // From the next hash to the next that has another place within the segment.
    const uint64_t step = uint64_t{1} << (random() % 40);
    if (hash > UINT64_MAX - step) continue;
    ASSERT_GE(NegativeLog2(hash), NegativeLog2(hash + step)) << hash << " and " << step << " more";
  }
}

TEST(NegativeLog2Test, StaysWithinItsRange) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 1'000'000; ++i) {
    ASSERT_LE(NegativeLog2(RandomOfAnySize(random)), 64 * kOne);
  }
  EXPECT_EQ(NegativeLog2(0), NegativeLog2(1)) << "0 has no logarithm, and is taken for 1";
  EXPECT_GE(NegativeLog2(UINT64_MAX - 1), NegativeLog2(UINT64_MAX));
}

}  // namespace
}  // namespace prefixroute
