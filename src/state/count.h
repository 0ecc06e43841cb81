// SPDX-License-Identifier: Apache-2.0
//
// One instance's count of outstanding requests, exact under every race and at every instant at which a process may be
// killed.
//
// The truth is one 64-bit word: the total, which the bound is checked against, so that a reservation is one
// compare-and-swap. To know what a dead owner held, each owner also has a cell with its own part. Word and cell can't
// change in one step, so the word carries, beside the total, the *last operation* (whose, what, and its number), and
// whoever changes the word next first settles that operation: enters it in its owner's cell, marked with its number,
// unless it is there already. So at every instant
//
//   total == sum of the cells + the word's operation, if it is not settled,
//
// and anybody can settle. A dead owner's part is taken back by one more operation, which empties its cell.
//
// With a sole owner the word's total is all there is: one atomic instruction to reserve, one to release.

#ifndef PREFIXROUTE_SRC_STATE_COUNT_H_
#define PREFIXROUTE_SRC_STATE_COUNT_H_

#include <atomic>
#include <cstdint>

#include "prefixroute/instance.h"

namespace prefixroute::internal {

static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(std::atomic<uint64_t>) == sizeof(uint64_t),
              "counts are shared by processes");

class Count {
 public:
  static constexpr uint32_t kMaxOwners = 1024;

  // `cells` has `owners` elements. The memory starts as zeros.
  Count(std::atomic<uint64_t>* word, std::atomic<uint64_t>* cells, uint32_t owners)
      : word_(*word), cells_(cells), owners_(owners) {}

  uint32_t total() const { return TotalOf(word_.load(std::memory_order_acquire)); }

  // Adds one to the total and the owner's part, if the total is below `limit`.
  bool Reserve(uint32_t owner, uint32_t limit) {
    uint64_t word = word_.load();
    do {
      if (TotalOf(word) >= limit) return false;
      Settle(word);
    } while (!word_.compare_exchange_weak(word, Next(word, owner, kReserve, TotalOf(word) + 1)));
    return true;
  }

  // Takes one away. Does nothing where the owner has none: it was reaped.
  void Release(uint32_t owner) {
    if (owners_ == 1) {
      word_.fetch_sub(1);
      return;
    }
    ReleaseIfAny(owner);
  }

  // The same for who may not have one, a sole owner too; returns whether there was one.
  bool ReleaseIfAny(uint32_t owner) {
    uint64_t word = word_.load();
    do {
      Settle(word);
      if ((owners_ == 1 ? TotalOf(word) : PartOf(cells_[owner].load())) == 0) return false;
    } while (!word_.compare_exchange_weak(word, Next(word, owner, kRelease, TotalOf(word) - 1)));
    return true;
  }

  // Takes all of the owner's part away.
  void ReleaseAll(uint32_t owner) {
    uint64_t word = word_.load();
    uint32_t part;
    do {
      Settle(word);
      part = PartOf(cells_[owner].load());
      if (part == 0) return;
    } while (!word_.compare_exchange_weak(word, Next(word, owner, kReleaseAll, TotalOf(word) - part)));
  }

  // How much of the total is the owner's.
  uint32_t part(uint32_t owner) const {
    if (owners_ == 1) return total();
    Settle(word_.load());
    return PartOf(cells_[owner].load());
  }

  // Whether the instance is in the owner's fleet: kept here so that it dies with the owner's part.
  bool member(uint32_t owner) const { return (cells_[owner].load() & kMember) != 0; }
  void SetMember(uint32_t owner, bool member) {
    if (member) {
      cells_[owner].fetch_or(kMember);
    } else {
      cells_[owner].fetch_and(~kMember);
    }
  }

 private:
  // A word: total in bits 0-19 (FleetView reads them), owner in 20-29, operation in 30-31, number in 32-63.
  // A cell: part in bits 0-19, membership in bit 20, number of the last operation settled here in 32-63.
  // Numbers wrap after 2^32 operations on one instance: to err, a settler would have to sleep through exactly as many,
  // or an owner to do nothing there during exactly as many.
  static constexpr int kOwnerShift = 20;
  static constexpr int kOperationShift = 30;
  static constexpr int kNumberShift = 32;
  static constexpr uint64_t kMember = uint64_t{1} << 20;
  enum Operation : uint64_t { kNone = 0, kReserve = 1, kRelease = 2, kReleaseAll = 3 };
  static_assert(kMaxOutstanding == (1u << kOwnerShift) - 1);
  static_assert(kMaxOwners == 1u << (kOperationShift - kOwnerShift));

  static uint32_t TotalOf(uint64_t word) { return static_cast<uint32_t>(word & kMaxOutstanding); }
  static uint32_t PartOf(uint64_t cell) { return static_cast<uint32_t>(cell & kMaxOutstanding); }
  static uint32_t NumberOf(uint64_t bits) { return static_cast<uint32_t>(bits >> kNumberShift); }

  uint64_t Next(uint64_t word, uint64_t owner, Operation operation, uint32_t total) const {
    if (owners_ == 1) return total;
    const uint64_t number = static_cast<uint32_t>(NumberOf(word) + 1);
    return number << kNumberShift | operation << kOperationShift | owner << kOwnerShift | total;
  }

  // Enters the word's operation in its owner's cell, exactly once whoever tries. The cell changes only from the value
  // read here, and before the word moves on; if the word has moved on, its mover had settled.
  void Settle(uint64_t word) const {
    const uint64_t operation = word >> kOperationShift & 3;
    if (operation == kNone) return;
    const uint64_t owner = word >> kOwnerShift & (kMaxOwners - 1);
    if (owner >= owners_) return;  // Somebody else has written to the memory; at least we don't write beyond it.
    std::atomic<uint64_t>& cell = cells_[owner];
    uint64_t old_cell = cell.load();
    while (NumberOf(old_cell) != NumberOf(word) && word_.load() == word) {
      uint64_t part = PartOf(old_cell);
      part = operation == kReserve ? part + 1 : operation == kRelease ? part - 1 : 0;
      const uint64_t number = word >> kNumberShift << kNumberShift;
      if (cell.compare_exchange_weak(old_cell, number | (old_cell & kMember) | part)) return;
    }
  }

  std::atomic<uint64_t>& word_;
  std::atomic<uint64_t>* cells_;
  uint32_t owners_;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_STATE_COUNT_H_
