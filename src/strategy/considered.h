// SPDX-License-Identifier: Apache-2.0
//
// The instances whose load a decision weighs, read once: all eligible ones of a small fleet, kMax of a large one,
// others each time. To find a place for what overflows, the least busy of 64 serves about as well as the least busy of
// all, and a decision stays as fast however large the fleet. (Mitzenmacher: The power of two choices in randomized load
// balancing, 2001.)

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

  // An instance has no more to do than this; so sums stay within 64 bits, and exact.
  static constexpr uint64_t kMostPendingBytes = uint64_t{1} << 56;

  // Walks through the list sorted by id, from a place that `start` gives, until it has found kMax or seen all.
  Considered(const FleetView& view, const Fleet& fleet, const State& state, uint64_t start);

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
