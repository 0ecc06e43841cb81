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
    for (uint32_t n = 0; n < count; ++n) {
      const uint32_t i = fleet.by_id()[place];
      place += step;
      if (place >= size) place -= size;
      if (!view.eligible(i)) continue;
      const uint64_t pending = std::min(view.pending_bytes(i), kMostBytes);
      const uint64_t work = state.MeanWork(fleet.slots()[i]);
      all_pending_ += pending;
      all_work_ += work;
      workers_ += work != 0 ? 1 : 0;
      index_[size_] = i;
      pending_[size_] = fleet.load_factors()[i] * static_cast<double>(pending);
      outstanding_[size_] = fleet.load_factors()[i] * view.outstanding(i);
      ++size_;
    }
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

  uint32_t size_ = 0;
  uint32_t workers_ = 0;
  uint64_t all_pending_ = 0;
  uint64_t all_work_ = 0;
  std::array<uint32_t, kMax> index_;
  std::array<double, kMax> pending_;
  std::array<double, kMax> outstanding_;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_STRATEGY_CONSIDERED_H_
