// SPDX-License-Identifier: Apache-2.0
//
// A set of prefixes, as blocks, the least recently used of which make room: what a rule remembers, and the ceiling of
// what any rule can find.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_LRU_CACHE_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_LRU_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "benchmarks/replay/trace.h"

namespace prefixroute::replay {

// Holds whole prefixes at all times: of one prompt's blocks the later are evicted first, as engines do, since a block
// is of no use without those before it.
class LruCache {
 public:
  // Room for so many blocks.
  explicit LruCache(uint64_t capacity = UINT64_MAX) : capacity_(capacity) {}
  // A copy's places would lie in the original.
  LruCache(LruCache&&) = default;
  LruCache& operator=(LruCache&&) = default;

  // How many of a prompt's leading blocks are there. Each id must name all that precedes its block. O(log(blocks)).
  size_t LeadingHits(absl::Span<const BlockId> blocks) const;

  // Makes the blocks of a prompt the most recently used. Where they don't all fit, the first of them stay.
  void Use(absl::Span<const BlockId> blocks);

  size_t size() const { return places_.size(); }

 private:
  uint64_t capacity_;
  std::list<BlockId> by_use_;  // The most recently used first.
  absl::flat_hash_map<BlockId, std::list<BlockId>::iterator> places_;
};

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_LRU_CACHE_H_
