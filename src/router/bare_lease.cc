// SPDX-License-Identifier: Apache-2.0

#include "src/router/bare_lease.h"

#include <algorithm>
#include <utility>

#include "prefixroute/prefix_key.h"
#include "prefixroute/rendezvous.h"
#include "src/router/cached_tokens.h"

namespace prefixroute::internal {
namespace {

constexpr int kSlotBits = 18;
constexpr int kColumnBits = 10;
constexpr int kIncarnationShift = 32;
static_assert(2 * kMaxInstances <= 1u << kSlotBits && Count::kMaxOwners <= 1u << kColumnBits &&
              kSlotBits + kColumnBits <= kIncarnationShift);

constexpr int kBytesBits = 25;
constexpr uint64_t kBytesMask = (uint64_t{1} << kBytesBits) - 1;
static_assert(kMaxMaxPrefixBytes <= kBytesMask);
constexpr uint64_t kFirstToken = uint64_t{1} << 62;
constexpr uint64_t kReported = uint64_t{1} << 63;
constexpr uint64_t kFlags = kFirstToken | kReported;

uint64_t PlaceOf(const State& state, uint32_t slot, uint32_t column) {
  return slot | uint64_t{column} << kSlotBits | uint64_t{state.IncarnationOf(slot)} << kIncarnationShift;
}

// Over the token that the column's owner has now. Odd factors: another bit of one word makes another sum.
uint64_t SealOf(const State& state, uint32_t column, uint64_t place, uint64_t work) {
  constexpr uint64_t kTokenFactor = 0x9e3779b97f4a7c15;
  constexpr uint64_t kPlaceFactor = 0xbf58476d1ce4e5b9;
  constexpr uint64_t kWorkFactor = 0x94d049bb133111eb;
  const uint64_t seal = MixBits(state.identity() + state.TokenOf(column) * kTokenFactor + place * kPlaceFactor +
                                (work & ~kFlags) * kWorkFactor);
  return seal != 0 ? seal : 1;
}

void Write(const State& state, uint32_t slot, uint64_t work, uint64_t* words) {
  words[1] = PlaceOf(state, slot, state.column());
  words[2] = work;
  words[0] = SealOf(state, state.column(), words[1], work);
}

}  // namespace

void BareLease::Store(Lease& lease, uint64_t* words) {
  const uint64_t prefix_bytes = std::min(lease.decision_.prefix_bytes, kBytesMask);
  const uint64_t uncached_bytes = std::min(lease.decision_.uncached_bytes, kBytesMask);
  const uint64_t flags = (lease.pending_bytes_ == 0 ? kFirstToken : 0) | (lease.reported_ ? kReported : 0);
  Write(*std::exchange(lease.state_, nullptr), lease.slot_, prefix_bytes | uncached_bytes << kBytesBits | flags, words);
}

bool BareLease::Finish(Router& router, uint64_t* words) {
  BareLease lease(router, words, __atomic_exchange_n(&words[0], 0, __ATOMIC_ACQ_REL));
  return lease.active() && lease.Release();
}

BareLease::BareLease(Router& router, uint64_t* words, uint64_t seal)
    : router_(router),
      state_(router.state()),
      words_(words),
      slot_(static_cast<uint32_t>(words[1] & ((uint64_t{1} << kSlotBits) - 1))),
      column_(static_cast<uint32_t>(words[1] >> kSlotBits & ((uint64_t{1} << kColumnBits) - 1))) {
  active_ = seal != 0 && state_.HasPlace(slot_, column_) && words[1] == PlaceOf(state_, slot_, column_) &&
            seal == SealOf(state_, column_, words[1], words[2]) && state_.HasAny(slot_, column_);
}

uint64_t BareLease::PrefixBytes() const { return words_[2] & kBytesMask; }
uint64_t BareLease::UncachedBytes() const { return words_[2] >> kBytesBits & kBytesMask; }

// Whether it was not set before.
bool BareLease::SetFlag(uint64_t flag) {
  const bool was_set = (words_[2] & flag) != 0;
  words_[2] |= flag;
  return !was_set;
}

void BareLease::FirstToken() {
  if (SetFlag(kFirstToken)) state_.RemovePending(slot_, column_, UncachedBytes());
}

void BareLease::ReportCachedTokens(uint64_t cached_tokens, uint64_t prompt_tokens) {
  if (SetFlag(kReported)) {
    internal::ReportCachedTokens(state_, slot_, PrefixBytes(), UncachedBytes(), cached_tokens, prompt_tokens);
  }
}

bool BareLease::Release() {
  FirstToken();
  return state_.ReleaseIfAny(slot_, column_);
}

absl::Status BareLease::Transfer(std::string_view id) {
  const absl::StatusOr<uint32_t> reserved = router_.ReserveAt(id);
  if (!reserved.ok()) return reserved.status();
  const uint32_t slot = *reserved;
  if ((words_[2] & kFirstToken) == 0) {
    state_.AddPending(slot, UncachedBytes());
    state_.RemovePending(slot_, column_, UncachedBytes());
  }
  state_.ReleaseIfAny(slot_, column_);
  Write(state_, slot, words_[2], words_);
  return absl::OkStatus();
}

}  // namespace prefixroute::internal
