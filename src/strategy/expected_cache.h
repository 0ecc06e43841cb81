// SPDX-License-Identifier: Apache-2.0
//
// How much of a prefix each instance is expected to have cached.
//
// What was sent there lately it has: to the deepest depth that the memory knows it as a holder of. A part that is seen
// often, or has more holders than the memory has room for, is hot, and all its homes are taken to have it: who has it
// not will, after one miss. The prefix's home may have more of it than this router knows, for another replica of the
// gateway may have sent it there: with the chance `other_replicas` it has all.

#ifndef PREFIXROUTE_SRC_STRATEGY_EXPECTED_CACHE_H_
#define PREFIXROUTE_SRC_STRATEGY_EXPECTED_CACHE_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "prefixroute/prefix_key.h"
#include "src/fleet/fleet.h"
#include "src/state/prefix_memory.h"
#include "src/state/state.h"
#include "src/strategy/constants.h"
#include "src/strategy/nested_homes.h"

namespace prefixroute::internal {

// What the memory knows of the prefix to each depth; null where nothing.
using PrefixEntries = std::array<PrefixEntry*, kMaxPrefixDepths>;

class ExpectedCache {
 public:
  struct Part {
    uint32_t instance;
    uint64_t matched;  // Bytes that were sent there.
    double expected;   // Bytes that it should have.
  };

  // O(depths * kHolders + parts^2 + instances / 64).
  ExpectedCache(const PrefixKey& key, const PrefixEntries& entries, const Fleet& fleet, const State& state,
                const NestedHomes& homes, uint32_t now, double other_replicas) {
    std::fill_n(is_part_.begin(), fleet.size() / 64 + 1, 0);
    const size_t everywhere = homes.everywhere();
    if (everywhere != NestedHomes::kNone && IsHot(entries[everywhere], now, fleet.size())) {
      everywhere_ = key.depth(everywhere);
    }
    // Most depths have the holders of the one below, in the same places.
    std::array<uint32_t, PrefixEntry::kHolders> below{};
    for (size_t i = key.depth_count(); i-- > 0 && count_ < kParts;) {
      if (entries[i] == nullptr) continue;
      for (size_t place = 0; place < PrefixEntry::kHolders; ++place) {
        const uint64_t word = entries[i]->holders[place].load(std::memory_order_relaxed);
        if (Holder::Who(word) == below[place]) continue;
        below[place] = Holder::Who(word);
        if (!Holder::IsSet(word)) continue;
        const Holder holder = Holder::Unpack(word);
        const uint32_t instance = fleet.IndexOfSlot(holder.slot);
        if (instance == kNoInstance || IsPart(instance)) continue;
        if (holder.generation == state.CacheGeneration(holder.slot)) Add(instance, key.depth(i));
      }
    }
    for (const uint32_t* home = homes.begin(); home != homes.end() && count_ < kParts; ++home) {
      const size_t i = homes.DeepestOf(home);
      if (IsHot(entries[i], now, homes.end() - homes.begin())) Expect(*home, static_cast<double>(key.depth(i)), 1);
    }
    if (homes.home() != kNoInstance) Expect(homes.home(), static_cast<double>(key.bytes()), other_replicas);
  }

  // Those that should have something.
  const Part* begin() const { return parts_.data(); }
  const Part* end() const { return parts_.data() + count_; }

  // Bytes that all others should have.
  double everywhere() const { return static_cast<double>(everywhere_); }

  Part Of(uint32_t instance) const {
    return IsPart(instance) ? parts_[PlaceOf(instance)] : Part{instance, 0, everywhere()};
  }

 private:
  bool IsPart(uint32_t instance) const { return (is_part_[instance / 64] >> (instance % 64) & 1) != 0; }
  // Of one that is a part.
  size_t PlaceOf(uint32_t instance) const {
    size_t place = 0;
    while (parts_[place].instance != instance) ++place;
    return place;
  }
  void Add(uint32_t instance, uint64_t matched) {
    is_part_[instance / 64] |= uint64_t{1} << (instance % 64);
    parts_[count_++] = {instance, matched, static_cast<double>(std::max(matched, everywhere_))};
  }
  void Expect(uint32_t instance, double bytes, double probability) {
    if (!IsPart(instance)) Add(instance, 0);
    Part& part = parts_[PlaceOf(instance)];
    if (bytes > part.expected) part.expected += probability * (bytes - part.expected);
  }
  // Whether all of the part's `homes` are taken to have it.
  static bool IsHot(const PrefixEntry* entry, uint32_t now, size_t homes) {
    if (entry == nullptr) return false;
    if (static_cast<double>(entry->SeenAt(now)) >= kSeenPerHome * static_cast<double>(homes * DecayedCount::kUnit)) {
      return true;
    }
    return std::all_of(entry->holders.begin(), entry->holders.end(), [](const std::atomic<uint64_t>& holder) {
      return Holder::IsSet(holder.load(std::memory_order_relaxed));
    });
  }

  uint64_t everywhere_ = 0;
  // The deepest first; of those that hold less than so many others, none is looked at. An entry may go beyond by its
  // holders, and there is the home.
  static constexpr size_t kParts = 64;
  std::array<Part, kParts + PrefixEntry::kHolders + 1> parts_;
  size_t count_ = 0;
  std::array<uint64_t, kMaxInstances / 64 + 1> is_part_;  // A bit an instance; only what the fleet needs is written.
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_STRATEGY_EXPECTED_CACHE_H_
