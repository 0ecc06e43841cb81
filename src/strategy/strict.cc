// SPDX-License-Identifier: Apache-2.0

#include "src/strategy/strict.h"

#include <algorithm>

#include "src/strategy/fleet_view_builder.h"
#include "src/strategy/least_outstanding.h"
#include "src/strategy/relative_bound.h"

namespace prefixroute::internal {
namespace {

uint32_t AsLimit(uint64_t cap) { return static_cast<uint32_t>(std::min<uint64_t>(cap, UINT32_MAX)); }

}  // namespace

Choice StrictStrategy::Choose(const FleetView& fleet) const noexcept {
  if (fleet.key().empty()) return ChooseLeastOutstanding(fleet, /*bounded=*/true, Reason::kNoPrefix);

  Choice choice;
  choice.home = FleetViewBuilder::OrderOf(fleet).First(fleet.key().value(), [](uint32_t) { return true; });
  if (choice.home == kNoInstance) return choice;
  choice.instance = choice.home;
  choice.rank = 1;
  choice.reason = Reason::kHome;
  const bool below_hard_bound = fleet.eligible(choice.home);
  const uint32_t outstanding = fleet.outstanding(choice.home);
  choice.limit = bounded() ? AsLimit(bound_.floor) : UINT32_MAX;
  if (below_hard_bound && outstanding < choice.limit) return choice;
  if (!bounded()) return Divert(fleet, nullptr, choice);

  const Caps caps(fleet, bound_);
  choice.limit = AsLimit(caps.Of(choice.home));
  if (below_hard_bound && outstanding < choice.limit) return choice;
  return Divert(fleet, &caps, choice);
}

Choice StrictStrategy::Divert(const FleetView& fleet, const Caps* caps, Choice choice) const noexcept {
  choice.reason = fleet.available(choice.home) ? Reason::kDivertedByLoad : Reason::kDivertedUnavailable;
  const OrderFinder& order = FleetViewBuilder::OrderOf(fleet);
  const uint64_t key = fleet.key().value();
  const auto below_bounds = [&](uint32_t i) {
    return i != choice.home && fleet.eligible(i) && (caps == nullptr || fleet.outstanding(i) < caps->Of(i));
  };
  choice.instance = order.First(key, below_bounds);
  if (choice.instance == kNoInstance) {
    // Counts moved while they were read, or nobody is eligible: only the hard bound refuses.
    const Choice least = ChooseLeastOutstanding(fleet, /*bounded=*/true, choice.reason);
    choice.instance = least.instance;
    choice.limit = least.limit;
    if (choice.instance == kNoInstance) return choice;
  } else {
    choice.limit = caps != nullptr ? AsLimit(caps->Of(choice.instance)) : UINT32_MAX;
  }
  choice.rank = order.Rank(key, choice.instance);
  if (choice.instance == choice.home) choice.reason = Reason::kHome;
  return choice;
}

}  // namespace prefixroute::internal
