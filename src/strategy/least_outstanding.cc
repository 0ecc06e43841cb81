// SPDX-License-Identifier: Apache-2.0

#include "src/strategy/least_outstanding.h"

#include <algorithm>

namespace prefixroute::internal {

Choice ChooseLeastOutstanding(const FleetView& fleet, bool bounded, Reason reason) noexcept {
  const uint64_t* weights = fleet.nodes().weights;
  Choice choice;
  choice.reason = reason;
  uint64_t least = 0;  // The chosen one's outstanding + 1.
  RendezvousScore score{};
  bool has_score = false;  // Whether `score` is the chosen one's: most are never level with another.
  for (uint32_t i = 0; i < fleet.size(); ++i) {
    if (bounded ? !fleet.eligible(i) : !fleet.available(i)) continue;
    const uint64_t load = uint64_t{fleet.outstanding(i)} + 1;
    if (choice.instance != kNoInstance) {
      const Uint128 own = static_cast<Uint128>(load) * weights[choice.instance];
      const Uint128 other = static_cast<Uint128>(least) * weights[i];
      if (own > other) continue;
      if (own == other) {
        if (!has_score) score = ScoreOf(fleet.nodes(), fleet.random(), choice.instance);
        has_score = true;
        const RendezvousScore challenger = ScoreOf(fleet.nodes(), fleet.random(), i);
        if (!Precedes(challenger, score)) continue;
        score = challenger;
      } else {
        has_score = false;
      }
    }
    choice.instance = i;
    least = load;
  }
  choice.limit = static_cast<uint32_t>(std::min<uint64_t>(least, UINT32_MAX));
  return choice;
}

Choice LeastOutstandingStrategy::Choose(const FleetView& fleet) const noexcept {
  return ChooseLeastOutstanding(fleet, /*bounded=*/true, Reason::kLeastOutstanding);
}

}  // namespace prefixroute::internal
