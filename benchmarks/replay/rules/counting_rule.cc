// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/rules/counting_rule.h"

#include <algorithm>

#include "absl/status/status.h"
#include "benchmarks/replay/split_mix.h"

namespace prefixroute::replay {

absl::Status CountingRule::SetInstances(absl::Span<const uint32_t> instances) {
  instances_.assign(instances.begin(), instances.end());
  std::sort(instances_.begin(), instances_.end());
  if (!instances_.empty() && outstanding_.size() <= instances_.back()) outstanding_.resize(instances_.back() + 1);
  return absl::OkStatus();
}

absl::StatusOr<Placement> CountingRule::Place(uint32_t slot, const Arrival& arrival) {
  eligible_.clear();
  for (const uint32_t instance : instances_) {
    if (max_outstanding_ == 0 || outstanding_[instance] < max_outstanding_) eligible_.push_back(instance);
  }
  if (eligible_.empty()) return absl::ResourceExhaustedError("every instance is at its bound");
  const Placement placement = Choose(arrival, eligible_);
  ++outstanding_[placement.instance];
  if (instance_by_slot_.size() <= slot) instance_by_slot_.resize(slot + 1);
  instance_by_slot_[slot] = placement.instance;
  return placement;
}

void CountingRule::Finish(uint32_t slot) { --outstanding_[instance_by_slot_[slot]]; }

bool CountingRule::OneIn(uint32_t chances, uint32_t salt, uint64_t random) {
  return SplitMix(random + salt).Below(chances) == 0;
}

}  // namespace prefixroute::replay
