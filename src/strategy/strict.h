// SPDX-License-Identifier: Apache-2.0
//
// PREFIX_AWARE in strict mode: one home by plain rendezvous on the whole prefix, and diversion along the prefix's own
// order by the bounds only. It remembers nothing, so every replica of a gateway chooses alike from like loads.

#ifndef PREFIXROUTE_SRC_STRATEGY_STRICT_H_
#define PREFIXROUTE_SRC_STRATEGY_STRICT_H_

#include "prefixroute/strategy.h"

namespace prefixroute::internal {

class Caps;

class StrictStrategy final : public RoutingStrategy {
 public:
  explicit StrictStrategy(const RelativeBound& bound) : bound_(bound) {}

  // One pass to find the home; that is all where the home is below the relative bound's floor, or there is no relative
  // bound. Else one more to sum loads, and two to divert.
  Choice Choose(const FleetView& fleet) const noexcept override;

 private:
  bool bounded() const { return bound_.factor_percent != 0; }
  Choice Divert(const FleetView& fleet, const Caps* caps, Choice choice) const noexcept;

  RelativeBound bound_;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_STRATEGY_STRICT_H_
