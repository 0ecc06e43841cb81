// SPDX-License-Identifier: Apache-2.0
//
// What nobody who routes by a prompt can do without, by the widest vectors that the machine has: the least that a
// decision can cost. (The third floor, XXH3 of the prompt, is the library's own HashBytes.)

#ifndef PREFIXROUTE_BENCHMARKS_MICRO_FLOORS_H_
#define PREFIXROUTE_BENCHMARKS_MICRO_FLOORS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace prefixroute {

// Reads every byte, but for the last 7: their sum.
uint64_t ReadOnce(std::string_view bytes);

// Scores every instance for the key, and returns the greatest score: MixBits, without its first step, which can be done
// once for each instance and each key, and its last, which leaves the upper bits as they are.
uint64_t GreatestScore(uint64_t key, const uint64_t* hashes, size_t count);

}  // namespace prefixroute

#endif  // PREFIXROUTE_BENCHMARKS_MICRO_FLOORS_H_
