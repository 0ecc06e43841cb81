// SPDX-License-Identifier: Apache-2.0
//
// SplitMix64 (Steele, Lea, Flood 2014): 64 random bits from a counter. The same numbers on every machine, which the
// standard library's distributions don't promise.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_SPLIT_MIX_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_SPLIT_MIX_H_

#include <cstdint>

namespace prefixroute::replay {

class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t bits = state_ += 0x9e3779b97f4a7c15ULL;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
    return bits ^ (bits >> 31);
  }

  // Uniform in [0, bound), but for a bias below bound / 2^32.
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(((Next() >> 32) * bound) >> 32); }

 private:
  uint64_t state_;
};

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_SPLIT_MIX_H_
