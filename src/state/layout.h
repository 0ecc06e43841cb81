// SPDX-License-Identifier: Apache-2.0
//
// Where things are in a block of state. Offsets only, so that each process may map the block at another address:
//
//   BlockHeader | a token for each owner | slots: SlotHead, a cell and pending bytes for each owner |
//   ids: one for each slot | SlotRecords: one for each slot | memory of prefixes
//
// A slot is one incarnation of an instance. There are twice as many as instances, so that a fleet can be replaced
// as a whole while every old instance still has open leases. The memory of prefixes (prefix_memory.h) comes last, so
// that it may stay untouched, and take no pages. All zeros but the header is an empty block.

#ifndef PREFIXROUTE_SRC_STATE_LAYOUT_H_
#define PREFIXROUTE_SRC_STATE_LAYOUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "prefixroute/instance.h"
#include "prefixroute/shared_state.h"
#include "src/state/prefix_memory.h"

namespace prefixroute::internal {

// To be changed with any change of the layout, of Count's bits or of what they mean.
inline constexpr uint32_t kLayoutVersion = 4;
inline constexpr uint64_t kBlockMagic = 0x7078'726f'7574'6531;  // "pxroute1"
inline constexpr size_t kBlockAlignment = 64;                   // A cache line.

struct alignas(kBlockAlignment) BlockHeader {
  std::atomic<uint64_t> magic;  // Written last.
  uint32_t layout_version;
  uint32_t max_instances;
  uint32_t max_owners;
  uint32_t prefix_entries;
  uint64_t bytes;
  uint64_t identity;                                        // Random: no other block's.
  std::atomic<uint64_t> membership_guard;                   // The token of the owner that is changing membership, or 0.
  alignas(kBlockAlignment) std::atomic<uint64_t> requests;  // That the memory of prefixes has seen.
};

// What a slot has beside its cells: written by those who choose the instance, read by all who decide. FleetView knows
// where the first four are.
struct SlotHead {
  std::atomic<uint64_t> word;              // Count's.
  std::atomic<int64_t> pending;            // Bytes.
  std::atomic<uint64_t> others_pending;    // Bytes, from requests of others than the owners: by the last report.
  std::atomic<uint32_t> others;            // Requests outstanding from others: by the last report.
  std::atomic<uint32_t> cache_generation;  // What was remembered under another is lost.
  std::atomic<uint64_t> work;              // SlotRecord's, as last told.
};

static_assert(offsetof(SlotHead, pending) == 8 && offsetof(SlotHead, others_pending) == 16 &&
                  offsetof(SlotHead, others) == 24,
              "FleetView::Read()");

// What a slot has that no choice reads.
struct alignas(kBlockAlignment) SlotRecord {
  std::atomic<uint64_t> work;         // Decayed mean of the uncached bytes of a request here, times kWorkUnit.
  std::atomic<uint32_t> incarnation;  // How many instances the slot has had.
  // What engines said of their caches, in tokens, beside what was expected.
  std::atomic<uint64_t> prompt;
  std::atomic<uint64_t> cached;
  std::atomic<uint64_t> expected;
};

struct IdRecord {
  uint8_t length;  // 0: the slot was never used.
  char bytes[kMaxInstanceIdBytes];
};

struct Layout {
  explicit constexpr Layout(const SharedStateShape& shape)
      : slot_count(2 * shape.max_instances),
        prefix_entries(shape.prefix_entries),
        owners_offset(sizeof(BlockHeader)),
        slots_offset(Aligned(owners_offset + sizeof(uint64_t) * shape.max_owners)),
        slot_stride(Aligned(sizeof(SlotHead) + 2 * sizeof(uint64_t) * shape.max_owners)),
        ids_offset(slots_offset + slot_stride * slot_count),
        records_offset(Aligned(ids_offset + sizeof(IdRecord) * slot_count)),
        memory_offset(records_offset + sizeof(SlotRecord) * slot_count),
        bytes(memory_offset + sizeof(PrefixEntry) * shape.prefix_entries) {}

  uint32_t slot_count;
  uint32_t prefix_entries;
  size_t owners_offset;
  size_t slots_offset;
  size_t slot_stride;  // Slots don't share cache lines: threads that choose different instances write different lines.
  size_t ids_offset;
  size_t records_offset;
  size_t memory_offset;
  size_t bytes;

 private:
  static constexpr size_t Aligned(size_t offset) { return (offset + kBlockAlignment - 1) & ~(kBlockAlignment - 1); }
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_STATE_LAYOUT_H_
