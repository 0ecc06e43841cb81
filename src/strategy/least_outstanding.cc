// SPDX-License-Identifier: Apache-2.0

#include "src/strategy/least_outstanding.h"

#include <algorithm>

#include "src/strategy/fleet_view_builder.h"

namespace prefixroute::internal {

Choice ChooseLeastOutstanding(const FleetView& fleet, bool bounded, Reason reason) noexcept {
  const uint64_t* weights = fleet.nodes().weights;
  const auto may_take = [&](uint32_t i) { return bounded ? fleet.eligible(i) : fleet.available(i); };
  Choice choice;
  choice.reason = reason;
  // Whether load `a` of instance i is less, 0 or more than load `b` of instance j, per weight.
  const auto compare = [&](uint64_t a, uint32_t i, uint64_t b, uint32_t j) {
    const Uint128 left = static_cast<Uint128>(a) * weights[j];
    const Uint128 right = static_cast<Uint128>(b) * weights[i];
    return left < right ? -1 : left == right ? 0 : 1;
  };
  uint64_t least = 0;  // The chosen one's outstanding + 1.
  bool level = false;  // Whether others have as little.
  for (uint32_t i = 0; i < fleet.size(); ++i) {
    if (!may_take(i)) continue;
    const uint64_t load = uint64_t{fleet.outstanding(i)} + 1;
    const int order = choice.instance == kNoInstance ? -1 : compare(load, i, least, choice.instance);
    level = order == 0 || (order > 0 && level);
    if (order >= 0) continue;
    choice.instance = i;
    least = load;
  }
  if (level) {
    const uint32_t one = choice.instance;
    const uint32_t first = FleetViewBuilder::OrderOf(fleet).First(fleet.random(), [&](uint32_t i) {
      return may_take(i) && compare(uint64_t{fleet.outstanding(i)} + 1, i, least, one) <= 0;
    });
    // Nobody is left where all have been given more meanwhile.
    if (first != kNoInstance) choice.instance = first;
  }
  choice.limit = static_cast<uint32_t>(std::min<uint64_t>(least, UINT32_MAX));
  return choice;
}

Choice LeastOutstandingStrategy::Choose(const FleetView& fleet) const noexcept {
  return ChooseLeastOutstanding(fleet, /*bounded=*/true, Reason::kLeastOutstanding);
}

}  // namespace prefixroute::internal
