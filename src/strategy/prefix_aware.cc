// SPDX-License-Identifier: Apache-2.0

#include "src/strategy/prefix_aware.h"

#include <algorithm>

#include "src/strategy/least_outstanding.h"
#include "src/strategy/relative_bound.h"

namespace prefixroute::internal {
namespace {

uint32_t AsLimit(uint64_t cap) { return static_cast<uint32_t>(std::min<uint64_t>(cap, UINT32_MAX)); }

}  // namespace

Choice PrefixAwareStrategy::Choose(const FleetView& fleet) const noexcept {
  if (fleet.key().empty()) return ChooseLeastOutstanding(fleet, /*bounded=*/true, Reason::kNoPrefix);

  Choice choice;
  choice.home = RendezvousFirst(fleet.nodes(), fleet.key().value(), [](uint32_t) { return true; });
  if (choice.home == kNoInstance) return choice;
  choice.instance = choice.home;
  choice.rank = 1;
  choice.reason = Reason::kHome;
  if (!fleet.available(choice.home)) {
    choice.reason = Reason::kDivertedUnavailable;
    return Divert(fleet, choice);
  }
  const uint32_t outstanding = fleet.outstanding(choice.home);
  if (outstanding < fleet.max_outstanding(choice.home)) {
    if (!bounded()) return choice;
    choice.limit = AsLimit(bound_.floor);
    if (outstanding < choice.limit) return choice;
    choice.limit = AsLimit(Caps(fleet, bound_).Of(choice.home));
    if (outstanding < choice.limit) return choice;
  }
  choice.reason = Reason::kDivertedByLoad;
  return Divert(fleet, choice);
}

Choice PrefixAwareStrategy::Divert(const FleetView& fleet, Choice choice) const noexcept {
  const uint64_t key = fleet.key().value();
  const Caps caps(fleet, bound_);
  const auto below_bounds = [&](uint32_t i) {
    return i != choice.home && fleet.eligible(i) && (!bounded() || fleet.outstanding(i) < caps.Of(i));
  };
  choice.instance = RendezvousFirst(fleet.nodes(), key, below_bounds);
  if (choice.instance == kNoInstance) {
    // Counts moved while they were read, or nobody is eligible: only the hard bound refuses.
    const Choice least = ChooseLeastOutstanding(fleet, /*bounded=*/true, choice.reason);
    choice.instance = least.instance;
    choice.limit = least.limit;
    if (choice.instance == kNoInstance) return choice;
  } else {
    choice.limit = bounded() ? AsLimit(caps.Of(choice.instance)) : UINT32_MAX;
  }
  choice.rank = RendezvousRank(fleet.nodes(), key, choice.instance);
  if (choice.instance == choice.home) choice.reason = Reason::kHome;
  return choice;
}

}  // namespace prefixroute::internal
