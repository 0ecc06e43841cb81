// SPDX-License-Identifier: Apache-2.0
//
// 64-bit hashes of byte strings: XXH3_64 with seed 0, the same everywhere, by the widest vectors that the machine has,
// whatever it was compiled for.

#ifndef PREFIXROUTE_SRC_HASH_HASH_H_
#define PREFIXROUTE_SRC_HASH_HASH_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace prefixroute::internal {

// Hashes `count` segments, of which the first begins at `bytes` and each ends where ends[i] says, counted from there.
using HashSegmentsFunction = void (*)(const char* bytes, const uint64_t* ends, size_t count, uint64_t* hashes);

// The narrowest first; those that this machine can run.
struct SegmentHashers {
  HashSegmentsFunction functions[3];
  size_t count;
};
SegmentHashers RunnableSegmentHashers();

void HashSegments(const char* bytes, const uint64_t* ends, size_t count, uint64_t* hashes);

inline uint64_t HashBytes(std::string_view bytes) {
  const uint64_t end = bytes.size();
  uint64_t hash = 0;
  HashSegments(bytes.data(), &end, 1, &hash);
  return hash;
}

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_HASH_HASH_H_
