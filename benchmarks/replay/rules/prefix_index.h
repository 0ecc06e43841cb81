// SPDX-License-Identifier: Apache-2.0
//
// What a gateway believes is cached where: for each instance the prefixes that it sent there itself, the least recently
// used forgotten.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_RULES_PREFIX_INDEX_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_RULES_PREFIX_INDEX_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/replay/lru_cache.h"
#include "benchmarks/replay/trace.h"

namespace prefixroute::replay {

class PrefixIndex {
 public:
  PrefixIndex(uint32_t max_instances, uint64_t blocks_each) : blocks_each_(blocks_each) {
    for (uint32_t i = 0; i < max_instances; ++i) sent_.emplace_back(blocks_each);
  }

  size_t LeadingHits(uint32_t instance, absl::Span<const BlockId> blocks) const {
    return sent_[instance].LeadingHits(blocks);
  }
  size_t size(uint32_t instance) const { return sent_[instance].size(); }
  void Sent(uint32_t instance, absl::Span<const BlockId> blocks) { sent_[instance].Use(blocks); }
  void Forget(uint32_t instance) { sent_[instance] = LruCache(blocks_each_); }

 private:
  uint64_t blocks_each_;
  std::vector<LruCache> sent_;  // By instance.
};

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_RULES_PREFIX_INDEX_H_
