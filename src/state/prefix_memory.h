// SPDX-License-Identifier: Apache-2.0
//
// What a router remembers of prefixes: how often each fingerprint is seen, and which instances were last sent it, its
// *holders*. A table of fixed size; its time is the traffic, counted in requests.
//
// Lock-free, and careless on purpose: threads and processes write the same entries without waiting. An entry that two
// of them mixed up, or that was displaced, costs a cache hit, and never more. What everybody sends is read by all and
// written rarely.

#ifndef PREFIXROUTE_SRC_STATE_PREFIX_MEMORY_H_
#define PREFIXROUTE_SRC_STATE_PREFIX_MEMORY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "prefixroute/instance.h"

namespace prefixroute::internal {

// Times are counts of requests, that wrap. A thread may be late by some, and see what is to come.
inline bool IsBefore(uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) < 0; }
inline uint32_t Age(uint32_t then, uint32_t now) { return IsBefore(now, then) ? 0 : now - then; }

// How often something was seen lately. Counts are halved as one epoch of requests follows the other, and so is the
// count of all requests: at any instant the one is a share of the other, and both fit a word.
struct DecayedCount {
  static constexpr uint32_t kEpoch = 4096;  // Requests.
  static constexpr uint32_t kUnit = 256;    // One, so that a few halvings leave something.

  // The count, in units of 1 / kUnit, of what was seen `count` in the epoch of `then`, at `now`.
  static uint64_t At(uint64_t count, uint32_t then, uint32_t now) {
    if (IsBefore(now, then)) return count;
    const uint32_t epochs = now / kEpoch - then / kEpoch;
    return epochs < 64 ? count >> epochs : 0;
  }
  // The same for all requests.
  static uint64_t OfAll(uint32_t now) {
    const uint32_t epochs = now / kEpoch;
    const uint64_t before = epochs == 0 ? 0 : epochs < 32 ? kEpoch - (kEpoch >> epochs) : kEpoch;
    return (before + now % kEpoch) * kUnit;
  }
};

// One instance that was sent a fingerprint: when, and to which incarnation of its cache.
struct Holder {
  uint32_t slot;
  uint32_t generation;
  uint32_t when;  // The requests counted then.

  static constexpr int kSlotBits = 18;
  static constexpr uint32_t kGenerationMask = (1u << (32 - kSlotBits)) - 1;
  static_assert(2 * kMaxInstances < 1u << kSlotBits, "0 stands for nobody");

  uint64_t Pack() const {
    return uint64_t{when} << 32 | uint64_t{generation & kGenerationMask} << kSlotBits | (slot + 1);
  }
  static bool IsSet(uint64_t word) { return word != 0; }
  // Equal for the same incarnation of a cache, whenever it was sent something; 0 for nobody.
  static uint32_t Who(uint64_t word) { return static_cast<uint32_t>(word); }
  static bool IsOfSlot(uint64_t word, uint32_t slot) { return (word & ((1u << kSlotBits) - 1)) == slot + 1; }
  static Holder Unpack(uint64_t word) {
    return {static_cast<uint32_t>(word & ((1u << kSlotBits) - 1)) - 1,
            static_cast<uint32_t>(word >> kSlotBits) & kGenerationMask, static_cast<uint32_t>(word >> 32)};
  }
};

struct alignas(64) PrefixEntry {
  static constexpr size_t kHolders = 4;
  // Seen more often than this lately, it is written by chance only.
  static constexpr uint64_t kAlwaysWritten = uint64_t{256} * DecayedCount::kUnit;

  std::atomic<uint64_t> fingerprint;  // 0: empty.
  std::atomic<uint64_t> seen;         // When last, in the upper half; how often, a DecayedCount, in the lower.
  std::array<std::atomic<uint64_t>, kHolders> holders;

  // Requests since it was last seen; the most there is for an empty one.
  uint32_t AgeAt(uint32_t now) const {
    if (fingerprint.load(std::memory_order_relaxed) == 0) return UINT32_MAX;
    return Age(static_cast<uint32_t>(seen.load(std::memory_order_relaxed) >> 32), now);
  }
  uint64_t SeenAt(uint32_t now) const {
    const uint64_t word = seen.load(std::memory_order_relaxed);
    return DecayedCount::At(word & UINT32_MAX, static_cast<uint32_t>(word >> 32), now);
  }

  // It was seen once more, and sent to the holder. Where it is seen often, this counts 2^n with a chance of 1 in 2^n,
  // by `random`, else does nothing: the line of a prompt that all send would go from thread to thread. (Morris:
  // Counting large numbers of events in small registers, 1978.)
  void Note(const Holder& holder, uint64_t random) {
    const uint64_t count = SeenAt(holder.when);
    const int doublings = count < kAlwaysWritten ? 0 : 64 - __builtin_clzll(count / kAlwaysWritten);
    if ((random & ((uint64_t{1} << doublings) - 1)) != 0) return;
    const uint64_t word = seen.load(std::memory_order_relaxed);
    const auto last = static_cast<uint32_t>(word >> 32);
    const uint32_t when = word != 0 && IsBefore(holder.when, last) ? last : holder.when;
    const uint64_t noted = count + (uint64_t{DecayedCount::kUnit} << doublings);
    seen.store(uint64_t{when} << 32 | (noted & UINT32_MAX), std::memory_order_relaxed);
    PlaceFor(holder).store(holder.Pack(), std::memory_order_relaxed);
  }

 private:
  // Its own, a free one, or that of the holder that was sent nothing for longest.
  std::atomic<uint64_t>& PlaceFor(const Holder& holder) {
    for (std::atomic<uint64_t>& each : holders) {
      if (Holder::IsOfSlot(each.load(std::memory_order_relaxed), holder.slot)) return each;
    }
    std::atomic<uint64_t>* place = &holders[0];
    uint32_t oldest = 0;
    for (std::atomic<uint64_t>& each : holders) {
      const uint64_t word = each.load(std::memory_order_relaxed);
      const uint32_t age = Holder::IsSet(word) ? Age(Holder::Unpack(word).when, holder.when) : UINT32_MAX;
      if (age > oldest) {
        oldest = age;
        place = &each;
      }
    }
    return *place;
  }
};
static_assert(sizeof(PrefixEntry) == 64, "one cache line");

// A view of the table in a block of state. Two places for each fingerprint, side by side.
class PrefixMemory {
 public:
  // `size` is a power of two, at least 2; the memory starts as zeros.
  PrefixMemory(PrefixEntry* entries, uint32_t size) : entries_(entries), mask_(size - 1) {}

  // Asks for the first of its places alone: the other is mostly somebody else's, and another thread may be writing it.
  void Prefetch(uint64_t fingerprint) const { __builtin_prefetch(&entries_[fingerprint & mask_]); }

  // The fingerprint's entry, or null.
  PrefixEntry* Find(uint64_t fingerprint) const {
    for (const uint64_t flip : {0, 1}) {
      PrefixEntry& entry = entries_[(fingerprint & mask_) ^ flip];
      if (entry.fingerprint.load(std::memory_order_relaxed) == fingerprint) return &entry;
    }
    return nullptr;
  }

  // The fingerprint was seen, and sent to the holder; `found` is what Find() said before. Displaces what has not been
  // seen for longest.
  void Note(uint64_t fingerprint, PrefixEntry* found, const Holder& holder, uint64_t random) {
    const bool displaced = found == nullptr || found->fingerprint.load(std::memory_order_relaxed) != fingerprint;
    PrefixEntry& entry = displaced ? EntryFor(fingerprint, holder.when) : *found;
    entry.Note(holder, random);
  }

 private:
  PrefixEntry& EntryFor(uint64_t fingerprint, uint32_t now) {
    PrefixEntry& first = entries_[fingerprint & mask_];
    PrefixEntry& second = entries_[(fingerprint & mask_) ^ 1];
    if (first.fingerprint.load(std::memory_order_relaxed) == fingerprint) return first;
    if (second.fingerprint.load(std::memory_order_relaxed) == fingerprint) return second;
    PrefixEntry& older = first.AgeAt(now) >= second.AgeAt(now) ? first : second;
    older.fingerprint.store(0, std::memory_order_relaxed);
    older.seen.store(0, std::memory_order_relaxed);
    for (std::atomic<uint64_t>& holder : older.holders) holder.store(0, std::memory_order_relaxed);
    older.fingerprint.store(fingerprint, std::memory_order_relaxed);
    return older;
  }

  PrefixEntry* entries_;
  uint64_t mask_;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_STATE_PREFIX_MEMORY_H_
