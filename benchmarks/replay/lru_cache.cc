// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/lru_cache.h"

namespace prefixroute::replay {

size_t LruCache::LeadingHits(absl::Span<const BlockId> blocks) const {
  size_t hits = 0;
  while (hits < blocks.size() && places_.contains(blocks[hits])) ++hits;
  return hits;
}

void LruCache::Use(absl::Span<const BlockId> blocks) {
  if (blocks.size() > capacity_) blocks = blocks.first(capacity_);
  // From the last to the first, which so becomes the most recent.
  for (size_t i = blocks.size(); i-- > 0;) {
    const auto [place, is_new] = places_.try_emplace(blocks[i]);
    if (is_new) {
      by_use_.push_front(blocks[i]);
      place->second = by_use_.begin();
    } else {
      by_use_.splice(by_use_.begin(), by_use_, place->second);
    }
  }
  while (places_.size() > capacity_) {
    places_.erase(by_use_.back());
    by_use_.pop_back();
  }
}

}  // namespace prefixroute::replay
