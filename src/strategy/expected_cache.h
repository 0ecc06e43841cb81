// SPDX-License-Identifier: Apache-2.0
//
// How much of a prefix each instance is expected to have cached.
//
// What was sent there lately it has: to the deepest depth that the memory knows it as a holder of. The prefix's home
// may have more of it than this router knows: another replica of the gateway may have sent it there. With the chance
// `other_replicas` it has all.

#ifndef PREFIXROUTE_SRC_STRATEGY_EXPECTED_CACHE_H_
#define PREFIXROUTE_SRC_STRATEGY_EXPECTED_CACHE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "prefixroute/prefix_key.h"
#include "src/fleet/fleet.h"
#include "src/state/prefix_memory.h"
#include "src/state/state.h"

namespace prefixroute::internal {

// What the memory knows of the prefix to each depth; null where nothing.
using PrefixEntries = std::array<const PrefixEntry*, kMaxPrefixDepths>;

class ExpectedCache {
 public:
  struct Part {
    uint32_t instance;
    uint64_t matched;  // Bytes that were sent there.
    double expected;   // Bytes that it should have.
  };

  // O(depths * kHolders * parts).
  ExpectedCache(const PrefixKey& key, const PrefixEntries& entries, const Fleet& fleet, const State& state,
                uint32_t home, double other_replicas) {
    for (size_t i = key.depth_count(); i-- > 0 && count_ < kParts;) {
      if (entries[i] == nullptr) continue;
      for (const std::atomic<uint64_t>& place : entries[i]->holders) {
        const uint64_t word = place.load(std::memory_order_relaxed);
        if (!Holder::IsSet(word)) continue;
        const Holder holder = Holder::Unpack(word);
        const uint32_t instance = fleet.IndexOfSlot(holder.slot);
        if (instance == kNoInstance || holder.generation != state.CacheGeneration(holder.slot)) continue;
        if (Find(instance) == nullptr) Add(instance, key.depth(i));
      }
    }
    if (home == kNoInstance) return;
    Part* part = Find(home);
    if (part == nullptr) part = Add(home, 0);
    part->expected += other_replicas * (static_cast<double>(key.bytes()) - part->expected);
  }

  // Those that should have something.
  const Part* begin() const { return parts_.data(); }
  const Part* end() const { return parts_.data() + count_; }

  // Of an instance that isn't among them, 0.
  Part Of(uint32_t instance) const {
    for (const Part& part : *this) {
      if (part.instance == instance) return part;
    }
    return {instance, 0, 0};
  }

 private:
  Part* Find(uint32_t instance) {
    for (size_t i = 0; i < count_; ++i) {
      if (parts_[i].instance == instance) return &parts_[i];
    }
    return nullptr;
  }
  Part* Add(uint32_t instance, uint64_t matched) {
    parts_[count_] = {instance, matched, static_cast<double>(matched)};
    return &parts_[count_++];
  }

  // The deepest first; who holds less than so many others is none to choose. An entry may go beyond by its holders, and
  // there is the home.
  static constexpr size_t kParts = 64;
  std::array<Part, kParts + PrefixEntry::kHolders + 1> parts_;
  size_t count_ = 0;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_STRATEGY_EXPECTED_CACHE_H_
