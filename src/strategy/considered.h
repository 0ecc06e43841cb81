// SPDX-License-Identifier: Apache-2.0
//
// The instances whose load a decision weighs, read once: all of a small fleet. Of a large one kMax, taken evenly from
// the list sorted by id, from a place on that the prefix's order gives: to find a place for what overflows, the least
// busy of 64 serves about as well as the least busy of all, and a decision stays as fast however large the fleet.
// (Mitzenmacher: The power of two choices in randomized load balancing, 2001.)

#ifndef PREFIXROUTE_SRC_STRATEGY_CONSIDERED_H_
#define PREFIXROUTE_SRC_STRATEGY_CONSIDERED_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "prefixroute/strategy.h"
#include "src/fleet/fleet.h"
#include "src/state/state.h"

namespace prefixroute::internal {

class Considered {
 public:
  static constexpr uint32_t kMax = 64;

  Considered(const FleetView& view, const Fleet& fleet, const State& state, uint64_t order) {
    const uint32_t size = view.size();
    const uint32_t count = std::min(size, kMax);
    const uint32_t step = count == 0 ? 0 : size / count;
    uint32_t place = static_cast<uint32_t>((static_cast<Uint128>(order) * size) >> 64);
    uint32_t eligible = 0;
    uint32_t workers = 0;
    uint64_t all_pending = 0;
    uint64_t all_work = 0;
    for (uint32_t n = 0; n < count; ++n) {
      const uint32_t i = fleet.by_id()[place];
      place += step;
      if (place >= size) place -= size;
      if (!view.available(i)) continue;
      Load load;
      if (view.loads_ != nullptr) {
        load = view.loads_[i];
        if (load.outstanding >= view.max_outstanding_[i]) continue;
      } else {
        const unsigned char* slot = view.SlotOf(i);
        const uint32_t own = FleetView::OwnOutstanding(slot);
        if (own >= std::min(view.max_outstanding_[i], kMaxOutstanding)) continue;
        load = {FleetView::Outstanding(slot, own), FleetView::Pending(slot)};
      }
      const uint64_t pending = std::min(load.pending_bytes, kMostBytes);
      const uint64_t work = state.MeanWork(fleet.slots()[i]);
      all_pending += pending;
      all_work += work;
      workers += work != 0 ? 1 : 0;
      index_[eligible] = i;
      pending_[eligible] = fleet.load_factors()[i] * static_cast<double>(pending);
      outstanding_[eligible] = fleet.load_factors()[i] * load.outstanding;
      ++eligible;
    }
    size_ = eligible;
    workers_ = workers;
    all_pending_ = all_pending;
    all_work_ = all_work;
  }

  // Only those that are eligible.
  uint32_t size() const { return size_; }
  uint32_t index(uint32_t n) const { return index_[n]; }
  // In the fleet's mean: per weight.
  double pending(uint32_t n) const { return pending_[n]; }
  double outstanding(uint32_t n) const { return outstanding_[n]; }

  // Bytes that one has pending, and 0 where there is none.
  double MeanPending() const { return size_ == 0 ? 0 : static_cast<double>(all_pending_) / size_; }
  // Uncached bytes of a request, of those that have served any; else `unknown`.
  double MeanWork(double unknown) const {
    return workers_ == 0 ? unknown : std::max(1.0, static_cast<double>(all_work_) / workers_);
  }

 private:
  // No instance has more to do; so sums stay within 64 bits, and exact.
  static constexpr uint64_t kMostBytes = uint64_t{1} << 56;

  uint32_t size_;
  uint32_t workers_;
  uint64_t all_pending_;
  uint64_t all_work_;
  std::array<uint32_t, kMax> index_;
  std::array<double, kMax> pending_;
  std::array<double, kMax> outstanding_;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_STRATEGY_CONSIDERED_H_
