// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/lru_cache.h"

#include <algorithm>

namespace prefixroute::replay {

size_t LruCache::LeadingHits(absl::Span<const BlockId> blocks) const {
  // Since whole prefixes are held, whatever follows a block that is not there is not there either.
  return static_cast<size_t>(
      std::partition_point(blocks.begin(), blocks.end(), [this](BlockId block) { return places_.contains(block); }) -
      blocks.begin());
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
