// SPDX-License-Identifier: Apache-2.0
//
// An engine's paged KV memory. A page holds one block of a prompt, or is anonymous: part of a partial last block, of
// an answer, or of a prompt not computed yet. Pages of running requests are pinned. When a request ends, its anonymous
// pages become free, and its blocks stay, to be found by later prompts, until the least recently used make room.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_ENGINE_KV_POOL_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_ENGINE_KV_POOL_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "benchmarks/replay/trace.h"

namespace prefixroute::replay {

class KvPool {
 public:
  // The pages of one running request.
  struct Holding {
    std::vector<uint32_t> blocks;  // Places of pinned blocks, in the order of the prompt.
    uint64_t anonymous = 0;
  };

  // UINT64_MAX for no limit.
  explicit KvPool(uint64_t pages) : pages_(pages) {}

  uint64_t pages() const { return pages_; }
  size_t cached_blocks() const { return by_id_.size(); }

  // How many of the leading blocks are there.
  size_t LeadingHits(absl::Span<const BlockId> blocks) const;

  // Pins the leading blocks that are there, and reserves anonymous pages for the rest of `pages`, which evicts blocks
  // where nothing is free. False, and nothing has changed, where pinned pages leave too little room. `holding` must be
  // empty.
  bool Reserve(absl::Span<const BlockId> blocks, uint64_t pages, Holding* holding);

  // The holder has computed the block into one of its anonymous pages: from now on others find it. A block that another
  // request has computed meanwhile stays anonymous.
  void Fill(BlockId block, Holding* holding);

  // The later of its blocks will be evicted first: a block is of no use without those before it.
  void Release(Holding* holding);

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Place {
    BlockId id;
    uint32_t pins;
    uint32_t newer;  // Neighbours among blocks that nobody pins; kNone at the ends.
    uint32_t older;
  };

  void Pin(uint32_t place);
  void Unpin(uint32_t place);
  void EvictOldest();

  uint64_t pages_;
  uint64_t anonymous_ = 0;
  uint64_t pinned_ = 0;  // Blocks, not pins.
  uint32_t newest_ = kNone;
  uint32_t oldest_ = kNone;
  std::vector<Place> places_;
  std::vector<uint32_t> vacant_;  // Places to use again.
  absl::flat_hash_map<BlockId, uint32_t> by_id_;
};

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_ENGINE_KV_POOL_H_
