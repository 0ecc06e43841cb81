// SPDX-License-Identifier: Apache-2.0
//
// An engine's KV memory, in blocks of equally many tokens. A block holds a piece of a prompt, which others whose prompt
// begins alike find by its id, or is merely reserved, for what is not computed yet and for answers. Blocks of running
// sequences are pinned; what they leave behind stays until the least recently used makes room.

#ifndef PREFIXROUTE_EXAMPLES_ENGINE_BLOCK_CACHE_H_
#define PREFIXROUTE_EXAMPLES_ENGINE_BLOCK_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace engine {

// Names a block together with all that precede it.
using BlockId = uint64_t;

// The ids of the full blocks of a prompt.
std::vector<BlockId> ChainBlocks(std::string_view prompt, size_t block_bytes);

class BlockCache {
 public:
  // What one sequence has pinned.
  struct Holding {
    std::vector<BlockId> blocks;
    uint64_t reserved = 0;
  };

  explicit BlockCache(uint64_t capacity) : capacity_(capacity) {}

  uint64_t capacity() const { return capacity_; }
  // The share that running sequences have pinned.
  double Usage() const { return static_cast<double>(pinned_ + reserved_) / static_cast<double>(capacity_); }

  // Pins the first `usable` blocks, as far as the leading ones are there, and reserves the rest of `total`. False, and
  // nothing has changed, where pinned blocks leave too little room.
  bool Reserve(const std::vector<BlockId>& blocks, size_t usable, uint64_t total, Holding* holding);

  // One of the reserved blocks has been computed.
  void Fill(BlockId block, Holding* holding);

  void Release(Holding* holding);

 private:
  struct Entry {
    uint32_t pins = 0;
    std::list<BlockId>::iterator idle;  // Its place in idle_, where nobody pins it.
  };

  void Pin(Entry* entry);

  uint64_t capacity_;
  uint64_t pinned_ = 0;
  uint64_t reserved_ = 0;
  std::unordered_map<BlockId, Entry> entries_;
  std::list<BlockId> idle_;  // The least recently used first.
};

}  // namespace engine

#endif  // PREFIXROUTE_EXAMPLES_ENGINE_BLOCK_CACHE_H_
