// SPDX-License-Identifier: Apache-2.0
//
// Compiled at -O3, at which compilers vectorise these loops. What is called within them is spelled out: a function that
// another file might share would be taken from there, compiled for a narrower machine.

#include "benchmarks/micro/floors.h"

#include <cstring>

// As src/base/runnable.h chooses.
#if defined(__x86_64__) && defined(PREFIXROUTE_WITHOUT_AVX512)
#define PREFIXROUTE_WIDEST_VECTORS __attribute__((target_clones("avx2", "default")))
#elif defined(__x86_64__) && defined(__clang__)
#define PREFIXROUTE_WIDEST_VECTORS __attribute__((target_clones("avx512dq", "avx2", "default")))
#elif defined(__x86_64__)
#define PREFIXROUTE_WIDEST_VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PREFIXROUTE_WIDEST_VECTORS
#endif

namespace prefixroute {

PREFIXROUTE_WIDEST_VECTORS
uint64_t ReadOnce(std::string_view bytes) {
  const char* const begin = bytes.data();
  const size_t words = bytes.size() / sizeof(uint64_t);
  uint64_t sum = 0;
  for (size_t i = 0; i < words; ++i) {
    uint64_t word;
    std::memcpy(&word, begin + i * sizeof(word), sizeof(word));
    sum += word;
  }
  return sum;
}

PREFIXROUTE_WIDEST_VECTORS
uint64_t GreatestScore(uint64_t key, const uint64_t* hashes, size_t count) {
  uint64_t greatest = 0;
  for (size_t i = 0; i < count; ++i) {
    uint64_t score = key ^ hashes[i];
    score *= 0xff51afd7ed558ccdULL;
    score ^= score >> 33;
    score *= 0xc4ceb9fe1a85ec53ULL;
    greatest = score > greatest ? score : greatest;
  }
  return greatest;
}

}  // namespace prefixroute
