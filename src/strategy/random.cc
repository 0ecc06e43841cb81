// SPDX-License-Identifier: Apache-2.0

#include "src/strategy/random.h"

namespace prefixroute::internal {

Choice RandomStrategy::Choose(const FleetView& fleet) const noexcept {
  Choice choice;
  choice.instance = RendezvousFirst(fleet.nodes(), fleet.random(), [&](uint32_t i) { return fleet.eligible(i); });
  choice.reason = Reason::kRandom;
  return choice;
}

}  // namespace prefixroute::internal
