// SPDX-License-Identifier: Apache-2.0
//
// Round robin: one after the other.

#include <algorithm>
#include <memory>

#include "benchmarks/replay/rules/counting_rule.h"
#include "benchmarks/replay/rules/rules.h"

namespace prefixroute::replay {
namespace {

class RoundRobin : public CountingRule {
 public:
  using CountingRule::CountingRule;

 protected:
  Placement Choose(const Arrival& /*arrival*/, absl::Span<const uint32_t> eligible) override {
    const uint32_t* next = std::upper_bound(eligible.begin(), eligible.end(), last_);
    last_ = next == eligible.end() ? eligible.front() : *next;
    return {last_};
  }

 private:
  uint32_t last_ = UINT32_MAX;
};

}  // namespace

std::unique_ptr<Rule> MakeRoundRobin(const RuleContext& context) {
  return std::make_unique<RoundRobin>(context.max_outstanding);
}

}  // namespace prefixroute::replay
