// SPDX-License-Identifier: Apache-2.0

#include "src/strategy/random.h"

#include "src/strategy/fleet_view_builder.h"

namespace prefixroute::internal {

Choice RandomStrategy::Choose(const FleetView& fleet) const noexcept {
  Choice choice;
  const OrderFinder& order = FleetViewBuilder::OrderOf(fleet);
  choice.instance = order.First(fleet.random(), [&](uint32_t i) { return fleet.eligible(i); });
  choice.reason = Reason::kRandom;
  return choice;
}

}  // namespace prefixroute::internal
