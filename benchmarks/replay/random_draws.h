// SPDX-License-Identifier: Apache-2.0
//
// Draws from the distributions that workloads need, by integers where a library's last bit might differ.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_RANDOM_DRAWS_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_RANDOM_DRAWS_H_

#include <cstdint>

#include "benchmarks/replay/split_mix.h"
#include "prefixroute/rendezvous.h"

namespace prefixroute::replay {

// From an exponential distribution of mean 1: -ln of a uniform number.
inline double Exponential(SplitMix& random) {
  constexpr double kLn2 = 0.69314718055994530942;
  constexpr double kLog2Unit = static_cast<double>(uint64_t{1} << internal::kLog2FractionBits);
  return static_cast<double>(NegativeLog2(random.Next())) / kLog2Unit * kLn2;
}

// From 0 to below 1.
inline double Uniform(SplitMix& random) { return static_cast<double>(random.Next() >> 11) * 0x1p-53; }

// Both ends included.
inline uint32_t Between(SplitMix& random, uint32_t min, uint32_t max) { return min + random.Below(max - min + 1); }

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_RANDOM_DRAWS_H_
