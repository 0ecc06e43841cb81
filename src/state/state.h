// SPDX-License-Identifier: Apache-2.0
//
// One owner's view of a block of state: counts by slot, and which slot belongs to which instance.

#ifndef PREFIXROUTE_SRC_STATE_STATE_H_
#define PREFIXROUTE_SRC_STATE_STATE_H_

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "prefixroute/shared_state.h"
#include "src/state/count.h"
#include "src/state/layout.h"

namespace prefixroute::internal {

// Thread-safe, but for Join and Leave: one thread at a time (other processes may run theirs).
class State {
 public:
  static absl::Status CheckShape(const SharedStateShape& shape);  // Of shared memory.
  // A block of its own, with this as the sole owner.
  static std::unique_ptr<State> OnHeap(uint32_t max_instances);
  // See SharedState.
  static absl::Status Format(void* memory, size_t bytes, const SharedStateShape& shape);
  static absl::StatusOr<std::unique_ptr<State>> Attach(void* memory, size_t bytes, uint64_t token);

  State(const State&) = delete;
  State& operator=(const State&) = delete;
  // Frees the column, unless requests are outstanding.
  ~State();

  // Hot: lock-free, O(1).
  bool Reserve(uint32_t slot, uint32_t limit) { return OwnsColumn() && CountOf(slot).Reserve(column_, limit); }
  // Does nothing where the column was reaped: what it held is taken back already.
  void Release(uint32_t slot) {
    if (OwnsColumn()) CountOf(slot).Release(column_);
  }
  uint32_t Outstanding(uint32_t slot) const { return CountOf(slot).total(); }
  // Slots as FleetView reads them: the word of slot i at words() + i * stride().
  const unsigned char* words() const { return base_ + layout_.slots_offset; }
  size_t stride() const { return layout_.slot_stride; }

  // The id of a slot's instance; good while a request is outstanding there, or the slot is joined.
  std::string_view id(uint32_t slot) const;

  // Finds or makes a slot for each id; all or none. An id that is in another owner's fleet has that owner's slot; any
  // other gets a new one, with a count of 0.
  absl::Status Join(absl::Span<const std::string_view> ids, absl::Span<uint32_t> slots);
  // Gives slots up. Each is free for others when it has nothing outstanding and no owner left.
  void Leave(absl::Span<const uint32_t> slots);

  // What all owners have outstanding, in all slots.
  uint64_t TotalOutstanding() const;
  // What this owner has.
  uint64_t OwnOutstanding() const { return PartOf(column_); }

  bool on_heap() const { return heap_ != nullptr; }
  uint32_t max_instances() const { return layout_.slot_count / 2; }
  uint64_t token() const { return token_; }
  std::vector<SharedState::Owner> Owners() const;
  absl::Status Reap(uint64_t token);

 private:
  struct HeapDelete {
    void operator()(unsigned char* memory) const;
  };

  static void Build(void* memory, const SharedStateShape& shape);
  State(unsigned char* memory, uint64_t token);

  BlockHeader& header() const { return *reinterpret_cast<BlockHeader*>(base_); }
  std::atomic<uint64_t>& OwnerToken(uint32_t column) const {
    return reinterpret_cast<std::atomic<uint64_t>*>(base_ + layout_.owners_offset)[column];
  }
  Count CountOf(uint32_t slot) const {
    auto* word = reinterpret_cast<std::atomic<uint64_t>*>(base_ + layout_.slots_offset + layout_.slot_stride * slot);
    return Count(word, word + 1, owners_);
  }
  IdRecord& IdOf(uint32_t slot) const { return reinterpret_cast<IdRecord*>(base_ + layout_.ids_offset)[slot]; }

  bool OwnsColumn() const { return OwnerToken(column_).load(std::memory_order_relaxed) == token_; }
  bool IsAttached(uint64_t token) const;
  bool HasMember(uint32_t slot) const;
  uint64_t PartOf(uint32_t column) const;
  // Empties a column and frees it: this owner's own, or, under the guard, a dead one's.
  void FreeColumn(uint32_t column);

  absl::Status EnterGuard(uint64_t may_take_from);
  void LeaveGuard();

  unsigned char* base_;
  Layout layout_;
  uint32_t owners_;
  uint64_t token_;
  pid_t process_;  // That attached.
  uint32_t column_ = 0;
  std::unique_ptr<unsigned char, HeapDelete> heap_;  // Null for shared memory.
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_STATE_STATE_H_
