// SPDX-License-Identifier: Apache-2.0

#include "src/hash/hash.h"

#include <atomic>

namespace prefixroute::internal {

void HashSegmentsBaseline(const char* bytes, const uint64_t* ends, size_t count, uint64_t* hashes);
#ifdef __x86_64__
void HashSegmentsAvx2(const char* bytes, const uint64_t* ends, size_t count, uint64_t* hashes);
void HashSegmentsAvx512(const char* bytes, const uint64_t* ends, size_t count, uint64_t* hashes);
#endif

SegmentHashers RunnableSegmentHashers() {
  SegmentHashers hashers{{HashSegmentsBaseline}, 1};
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) hashers.functions[hashers.count++] = HashSegmentsAvx2;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    hashers.functions[hashers.count++] = HashSegmentsAvx512;
  }
#endif
  return hashers;
}

void HashSegments(const char* bytes, const uint64_t* ends, size_t count, uint64_t* hashes) {
  // Found at the first call, which may come before main(); by several threads alike.
  static std::atomic<HashSegmentsFunction> widest{nullptr};
  HashSegmentsFunction function = widest.load(std::memory_order_relaxed);
  if (function == nullptr) {
    const SegmentHashers hashers = RunnableSegmentHashers();
    function = hashers.functions[hashers.count - 1];
    widest.store(function, std::memory_order_relaxed);
  }
  function(bytes, ends, count, hashes);
}

}  // namespace prefixroute::internal
