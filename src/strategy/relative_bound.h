// SPDX-License-Identifier: Apache-2.0
//
// The relative bound (RelativeBound in router.h) for one request, exact in integers.

#ifndef PREFIXROUTE_SRC_STRATEGY_RELATIVE_BOUND_H_
#define PREFIXROUTE_SRC_STRATEGY_RELATIVE_BOUND_H_

#include <algorithm>
#include <cstdint>

#include "prefixroute/strategy.h"

namespace prefixroute::internal {

class Caps {
 public:
  // Sums over the eligible instances: who can't take a request can't take a share of the load either. That is also
  // why somebody is always below his cap: the caps sum to more than what there is. O(size).
  Caps(const FleetView& fleet, const RelativeBound& bound) : weights_(fleet.nodes().weights), bound_(bound) {
    for (uint32_t i = 0; i < fleet.size(); ++i) {
      if (!fleet.eligible(i)) continue;
      load_ += fleet.outstanding(i);
      weight_ += weights_[i];
    }
  }

  // The most that instance `index` may have outstanding; 0 where nobody was eligible.
  uint64_t Of(uint32_t index) const {
    if (weight_ == 0) return 0;
    const Uint128 share = static_cast<Uint128>(load_) * weights_[index];  // Times weight_.
    const uint64_t with_margin = DivideUp(share, weight_) + bound_.margin;
    const uint64_t with_factor = DivideUp(share * bound_.factor_percent, static_cast<Uint128>(weight_) * 100);
    return std::max({uint64_t{bound_.floor}, with_margin, with_factor});
  }

 private:
  static uint64_t DivideUp(Uint128 dividend, Uint128 divisor) {
    return static_cast<uint64_t>((dividend + divisor - 1) / divisor);
  }

  const uint64_t* weights_;
  RelativeBound bound_;
  uint64_t load_ = 1;  // The new request.
  uint64_t weight_ = 0;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_STRATEGY_RELATIVE_BOUND_H_
