// SPDX-License-Identifier: Apache-2.0

#include "block_cache.h"

#include <functional>

namespace engine {

std::vector<BlockId> ChainBlocks(std::string_view prompt, size_t block_bytes) {
  std::vector<BlockId> ids;
  ids.reserve(prompt.size() / block_bytes);
  BlockId id = 0;
  for (; prompt.size() >= block_bytes; prompt.remove_prefix(block_bytes)) {
    const uint64_t content = std::hash<std::string_view>()(prompt.substr(0, block_bytes));
    id = ((id << 23 | id >> 41) + content) * 0x9e3779b97f4a7c15ULL;  // Odd, so that no bit is lost.
    ids.push_back(id);
  }
  return ids;
}

void BlockCache::Pin(Entry* entry) {
  if (entry->pins++ > 0) return;
  idle_.erase(entry->idle);
  ++pinned_;
}

bool BlockCache::Reserve(const std::vector<BlockId>& blocks, size_t usable, uint64_t total, Holding* holding) {
  for (size_t i = 0; i < usable; ++i) {
    const auto found = entries_.find(blocks[i]);
    if (found == entries_.end()) break;
    Pin(&found->second);
    holding->blocks.push_back(blocks[i]);
  }
  const uint64_t needed = total - holding->blocks.size();
  if (capacity_ - pinned_ - reserved_ < needed) {
    Release(holding);
    return false;
  }
  for (; capacity_ - entries_.size() - reserved_ < needed; idle_.pop_front()) entries_.erase(idle_.front());
  reserved_ += needed;
  holding->reserved = needed;
  return true;
}

void BlockCache::Fill(BlockId block, Holding* holding) {
  const auto [found, is_new] = entries_.try_emplace(block);
  if (!is_new) return;  // Another sequence has computed the same meanwhile; this one keeps its copy to itself.
  found->second.pins = 1;
  ++pinned_;
  --reserved_;
  --holding->reserved;
  holding->blocks.push_back(block);
}

void BlockCache::Release(Holding* holding) {
  // Later blocks first: they are of no use without those before them.
  for (auto block = holding->blocks.rbegin(); block != holding->blocks.rend(); ++block) {
    Entry& entry = entries_.find(*block)->second;
    if (--entry.pins > 0) continue;
    --pinned_;
    entry.idle = idle_.insert(idle_.end(), *block);
  }
  reserved_ -= holding->reserved;
  *holding = {};
}

}  // namespace engine
