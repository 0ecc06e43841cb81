// SPDX-License-Identifier: Apache-2.0
//
// What rules from outside the router have in common: a count of the gateway's own outstanding requests.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_RULES_COUNTING_RULE_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_RULES_COUNTING_RULE_H_

#include <cstdint>
#include <vector>

#include "benchmarks/replay/rules/rule.h"

namespace prefixroute::replay {

class CountingRule : public Rule {
 public:
  // As Instance::max_outstanding: 0 for no bound.
  explicit CountingRule(uint32_t max_outstanding) : max_outstanding_(max_outstanding) {}

  absl::Status SetInstances(absl::Span<const uint32_t> instances) override;
  absl::StatusOr<Placement> Place(uint32_t slot, const Arrival& arrival) override;
  void Finish(uint32_t slot) override;

 protected:
  // Chooses one of `eligible`, which are at least one, in ascending order, and below the bound.
  virtual Placement Choose(const Arrival& arrival, absl::Span<const uint32_t> eligible) = 0;

  uint32_t outstanding(uint32_t instance) const { return outstanding_[instance]; }

  // The instance with the least cost(instance); of equal ones a random one.
  template <typename Cost>
  static uint32_t Least(absl::Span<const uint32_t> instances, uint64_t random, const Cost& cost) {
    uint32_t best = instances[0];
    auto best_cost = cost(best);
    uint32_t level = 1;
    for (const uint32_t instance : instances.subspan(1)) {
      const auto instance_cost = cost(instance);
      if (best_cost < instance_cost) continue;
      level = instance_cost < best_cost ? 1 : level + 1;
      // Each of the level ones so far is kept with the same chance.
      if (level == 1 || OneIn(level, instance, random)) best = instance;
      best_cost = instance_cost;
    }
    return best;
  }

 private:
  static bool OneIn(uint32_t chances, uint32_t salt, uint64_t random);

  uint32_t max_outstanding_;
  std::vector<uint32_t> instances_;
  std::vector<uint32_t> eligible_;
  std::vector<uint32_t> outstanding_;       // By instance.
  std::vector<uint32_t> instance_by_slot_;  // By slot.
};

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_RULES_COUNTING_RULE_H_
