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
  static absl::Status CheckPrefixEntries(uint32_t prefix_entries);
  // A block of its own, with this as the sole owner.
  static std::unique_ptr<State> OnHeap(uint32_t max_instances, uint32_t prefix_entries);
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

  // Bytes that an instance has yet to prefill. Added after a reservation, taken away before its release: who dies
  // between two of the writes leaves a request's bytes too many or too few, until the slot has a new instance.
  void AddPending(uint32_t slot, uint64_t bytes) {
    if (OwnsColumn()) ChangePending(slot, column_, static_cast<int64_t>(bytes));
  }
  void RemovePending(uint32_t slot, uint64_t bytes) {
    if (OwnsColumn()) ChangePending(slot, column_, -static_cast<int64_t>(bytes));
  }
  uint64_t Pending(uint32_t slot) const {
    const int64_t pending = HeadOf(slot).pending.load(std::memory_order_relaxed);
    return pending < 0 ? 0 : static_cast<uint64_t>(pending);
  }

  // What a bare lease goes by (src/router/bare_lease.h): the column that a request is counted in, which need not be
  // this owner's, and what tells it from requests of other blocks, owners and instances.
  uint32_t column() const { return column_; }
  bool HasPlace(uint32_t slot, uint32_t column) const { return slot < layout_.slot_count && column < owners_; }
  uint64_t identity() const { return identity_; }
  uint64_t TokenOf(uint32_t column) const { return OwnerToken(column).load(std::memory_order_relaxed); }
  uint32_t IncarnationOf(uint32_t slot) const { return RecordOf(slot).incarnation.load(std::memory_order_relaxed); }
  // Whether the column's owner has any request outstanding there, and one less of them.
  bool HasAny(uint32_t slot, uint32_t column) const { return CountOf(slot).part(column) != 0; }
  bool ReleaseIfAny(uint32_t slot, uint32_t column) { return CountOf(slot).ReleaseIfAny(column); }
  void RemovePending(uint32_t slot, uint32_t column, uint64_t bytes) {
    ChangePending(slot, column, -static_cast<int64_t>(bytes));
  }
  // Takes back all that this owner has outstanding; nothing in a forked child, for it is the parent's.
  void ReleaseAll();

  // The engine's own report: what exceeds the owners' account is others'.
  void ReportLoad(uint32_t slot, const EngineLoad& load);
  uint32_t Others(uint32_t slot) const { return HeadOf(slot).others.load(std::memory_order_relaxed); }

  void ReportCache(uint32_t slot, uint64_t prompt_tokens, uint64_t cached_tokens, uint64_t expected_tokens);
  SlotRecord& RecordOf(uint32_t slot) const {
    return reinterpret_cast<SlotRecord*>(base_ + layout_.records_offset)[slot];
  }

  // The mean of the bytes that a request found uncached there: the last 16 or so count. All threads read it at every
  // decision, so they are told now only where that is said.
  uint64_t MeanWork(uint32_t slot) const { return HeadOf(slot).work.load(std::memory_order_relaxed) / kWorkUnit; }
  void NoteWork(uint32_t slot, uint64_t bytes, bool tell) {
    std::atomic<uint64_t>& work = RecordOf(slot).work;
    const uint64_t before = work.load(std::memory_order_relaxed);
    const uint64_t one = bytes * kWorkUnit;
    const uint64_t mean = before == 0 ? one : before - before / 16 + one / 16;
    work.store(mean, std::memory_order_relaxed);
    if (before == 0 || tell) HeadOf(slot).work.store(mean, std::memory_order_relaxed);
  }

  // What prefixes were seen, by requests so far, and where they were sent.
  PrefixMemory memory() const {
    return PrefixMemory(reinterpret_cast<PrefixEntry*>(base_ + layout_.memory_offset), layout_.prefix_entries);
  }
  uint32_t requests() const { return static_cast<uint32_t>(header().requests.load(std::memory_order_relaxed)); }
  void CountRequests(uint32_t count) { header().requests.fetch_add(count, std::memory_order_relaxed); }
  uint32_t CacheGeneration(uint32_t slot) const {
    return HeadOf(slot).cache_generation.load(std::memory_order_relaxed) & Holder::kGenerationMask;
  }
  // The instance has nothing cached any more.
  void ForgetCache(uint32_t slot) { HeadOf(slot).cache_generation.fetch_add(1, std::memory_order_relaxed); }

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

  static constexpr uint64_t kWorkUnit = 256;

  static void Build(void* memory, const SharedStateShape& shape);
  State(unsigned char* memory, uint64_t token);

  BlockHeader& header() const { return *reinterpret_cast<BlockHeader*>(base_); }
  std::atomic<uint64_t>& OwnerToken(uint32_t column) const {
    return reinterpret_cast<std::atomic<uint64_t>*>(base_ + layout_.owners_offset)[column];
  }
  SlotHead& HeadOf(uint32_t slot) const {
    return *reinterpret_cast<SlotHead*>(base_ + layout_.slots_offset + layout_.slot_stride * slot);
  }
  std::atomic<uint64_t>* CellsOf(uint32_t slot) const {
    return reinterpret_cast<std::atomic<uint64_t>*>(&HeadOf(slot) + 1);
  }
  std::atomic<int64_t>& PendingOf(uint32_t slot, uint32_t column) const {
    return reinterpret_cast<std::atomic<int64_t>*>(CellsOf(slot) + owners_)[column];
  }
  Count CountOf(uint32_t slot) const { return Count(&HeadOf(slot).word, CellsOf(slot), owners_); }
  void ChangePending(uint32_t slot, uint32_t column, int64_t bytes) {
    if (owners_ > 1) PendingOf(slot, column).fetch_add(bytes, std::memory_order_relaxed);
    HeadOf(slot).pending.fetch_add(bytes, std::memory_order_relaxed);
  }
  IdRecord& IdOf(uint32_t slot) const { return reinterpret_cast<IdRecord*>(base_ + layout_.ids_offset)[slot]; }

  bool OwnsColumn() const { return OwnerToken(column_).load(std::memory_order_relaxed) == token_; }
  bool IsAttached(uint64_t token) const;
  bool HasMember(uint32_t slot) const;
  uint64_t PartOf(uint32_t column) const;
  // Empties a column and frees it: this owner's own, or, under the guard, a dead one's.
  void FreeColumn(uint32_t column);
  void ResetHead(uint32_t slot);

  absl::Status EnterGuard(uint64_t may_take_from);
  void LeaveGuard();
  // Leaves it however a function ends, for memory may run out under it.
  struct GuardLeaver {
    explicit GuardLeaver(State& entered) : state(entered) {}
    ~GuardLeaver() { state.LeaveGuard(); }
    GuardLeaver(const GuardLeaver&) = delete;
    GuardLeaver& operator=(const GuardLeaver&) = delete;
    State& state;
  };

  unsigned char* base_;
  Layout layout_;
  uint32_t owners_;
  uint64_t token_;
  uint64_t identity_;
  pid_t process_;  // That attached.
  uint32_t column_ = 0;
  std::unique_ptr<unsigned char, HeapDelete> heap_;  // Null for shared memory.
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_STATE_STATE_H_
