// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/engine/kv_pool.h"

namespace prefixroute::replay {

size_t KvPool::LeadingHits(absl::Span<const BlockId> blocks) const {
  size_t hits = 0;
  while (hits < blocks.size() && by_id_.contains(blocks[hits])) ++hits;
  return hits;
}

bool KvPool::Reserve(absl::Span<const BlockId> blocks, uint64_t pages, Holding* holding) {
  for (const BlockId block : blocks) {
    const auto found = by_id_.find(block);
    if (found == by_id_.end()) break;
    Pin(found->second);
    holding->blocks.push_back(found->second);
  }
  const uint64_t needed = pages - holding->blocks.size();
  if (pages_ - pinned_ - anonymous_ < needed) {
    Release(holding);
    return false;
  }
  while (pages_ - by_id_.size() - anonymous_ < needed) EvictOldest();
  anonymous_ += needed;
  holding->anonymous = needed;
  return true;
}

void KvPool::Fill(BlockId block, Holding* holding) {
  const auto [found, is_new] = by_id_.try_emplace(block);
  if (!is_new) return;
  uint32_t place;
  if (vacant_.empty()) {
    place = static_cast<uint32_t>(places_.size());
    places_.emplace_back();
  } else {
    place = vacant_.back();
    vacant_.pop_back();
  }
  found->second = place;
  places_[place] = {block, 1, kNone, kNone};
  ++pinned_;
  --anonymous_;
  --holding->anonymous;
  holding->blocks.push_back(place);
}

void KvPool::Release(Holding* holding) {
  for (size_t i = holding->blocks.size(); i-- > 0;) Unpin(holding->blocks[i]);
  anonymous_ -= holding->anonymous;
  holding->blocks.clear();
  holding->anonymous = 0;
}

void KvPool::Pin(uint32_t place) {
  Place& pinned = places_[place];
  if (pinned.pins++ > 0) return;
  ++pinned_;
  (pinned.newer == kNone ? newest_ : places_[pinned.newer].older) = pinned.older;
  (pinned.older == kNone ? oldest_ : places_[pinned.older].newer) = pinned.newer;
}

void KvPool::Unpin(uint32_t place) {
  Place& unpinned = places_[place];
  if (--unpinned.pins > 0) return;
  --pinned_;
  unpinned.newer = kNone;
  unpinned.older = newest_;
  (newest_ == kNone ? oldest_ : places_[newest_].newer) = place;
  newest_ = place;
}

void KvPool::EvictOldest() {
  const uint32_t place = oldest_;
  by_id_.erase(places_[place].id);
  oldest_ = places_[place].newer;
  (oldest_ == kNone ? newest_ : places_[oldest_].older) = kNone;
  vacant_.push_back(place);
}

}  // namespace prefixroute::replay
