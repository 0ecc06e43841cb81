// SPDX-License-Identifier: Apache-2.0
//
// LEAST_OUTSTANDING_REQUESTS: the least (outstanding + 1) / weight, the new request counted. A tie goes by rendezvous
// on the random bits: to each of those that are level with the same chance, in one pass.

#ifndef PREFIXROUTE_SRC_STRATEGY_LEAST_OUTSTANDING_H_
#define PREFIXROUTE_SRC_STRATEGY_LEAST_OUTSTANDING_H_

#include "prefixroute/strategy.h"

namespace prefixroute::internal {

class LeastOutstandingStrategy final : public RoutingStrategy {
 public:
  Choice Choose(const FleetView& fleet) const noexcept override;
};

// Among the available ones that are below their hard bound, or, with `bounded` false, among all that are available.
// The choice holds for the count that was seen.
Choice ChooseLeastOutstanding(const FleetView& fleet, bool bounded, Reason reason) noexcept;

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_STRATEGY_LEAST_OUTSTANDING_H_
