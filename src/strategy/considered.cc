// SPDX-License-Identifier: Apache-2.0
//
// Compiled like prefix_aware.cc.

#include "src/strategy/considered.h"

#include <algorithm>

namespace prefixroute::internal {
namespace {

// A prime: whatever the size of the fleet, steps of it come to every place. 2^32 divided by the golden ratio, so that
// the places of one walk lie far apart (Knuth: The art of computer programming 3, 6.4).
constexpr uint32_t kStep = 2'654'435'761;

}  // namespace

Considered::Considered(const FleetView& view, const Fleet& fleet, const State& state, uint64_t start) {
  const Member* const members = fleet.members().data();
  const uint32_t size = view.size();
  const uint32_t step = size == 0 ? 0 : kStep % size;
  uint32_t place = static_cast<uint32_t>((static_cast<Uint128>(start) * size) >> 64);
  uint32_t eligible = 0;
  uint32_t workers = 0;
  uint64_t all_pending = 0;
  uint64_t all_work = 0;
  for (uint32_t n = 0; n < size && eligible < kMax; ++n) {
    const Member& member = members[place];
    place += step;
    place -= place >= size ? size : 0;
    if (member.closed || (view.excluded_ != nullptr && view.Excluded(member.index))) continue;
    Load load;
    if (view.loads_ != nullptr) {
      load = view.loads_[member.index];
      if (load.outstanding >= member.max_outstanding) continue;
    } else {
      const unsigned char* slot = state.words() + state.stride() * member.slot;
      const uint32_t own = FleetView::OwnOutstanding(slot);
      if (own >= std::min(member.max_outstanding, kMaxOutstanding)) continue;
      load = {FleetView::Outstanding(slot, own), FleetView::Pending(slot)};
    }
    const uint64_t pending = std::min(load.pending_bytes, kMostPendingBytes);
    const uint64_t work = state.MeanWork(member.slot);
    all_pending += pending;
    all_work += work;
    workers += work != 0 ? 1 : 0;
    index_[eligible] = member.index;
    pending_[eligible] = member.load_factor * static_cast<double>(static_cast<int64_t>(pending));
    outstanding_[eligible] = member.load_factor * load.outstanding;
    ++eligible;
  }
  size_ = eligible;
  workers_ = workers;
  all_pending_ = all_pending;
  all_work_ = all_work;
}

}  // namespace prefixroute::internal
