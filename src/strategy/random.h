// SPDX-License-Identifier: Apache-2.0
//
// RANDOM: rendezvous on a random key, which respects weights and needs neither a list of the eligible nor a sum.

#ifndef PREFIXROUTE_SRC_STRATEGY_RANDOM_H_
#define PREFIXROUTE_SRC_STRATEGY_RANDOM_H_

#include "prefixroute/strategy.h"

namespace prefixroute::internal {

class RandomStrategy final : public RoutingStrategy {
 public:
  Choice Choose(const FleetView& fleet) const noexcept override;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_STRATEGY_RANDOM_H_
