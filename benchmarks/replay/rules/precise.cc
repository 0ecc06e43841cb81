// SPDX-License-Identifier: Apache-2.0
//
// Precise: knows every engine's true cache and queue at every instant, which takes the engines' cooperation and no
// delay, and takes the least work greedily:
//
//   prompt tokens that the engine has yet to compute + lambda * tokens of this prompt that would miss
//
// Equal work goes to the fewest requests.

#include <memory>
#include <utility>

#include "benchmarks/replay/rules/counting_rule.h"
#include "benchmarks/replay/rules/rules.h"

namespace prefixroute::replay {
namespace {

class Precise : public CountingRule {
 public:
  Precise(const RuleContext& context, uint64_t lambda)
      : CountingRule(context.max_outstanding), engines_(context.engines), lambda_(lambda) {}

 protected:
  Placement Choose(const Arrival& arrival, absl::Span<const uint32_t> eligible) override {
    const TraceRequest& request = arrival.request;
    const absl::Span<const BlockId> blocks = arrival.trace.FullBlocks(request);
    const auto work = [&](uint32_t instance) {
      const Engine& engine = engines_[instance];
      const uint64_t missed = request.input_tokens - engine.HitTokens(request.input_tokens, blocks);
      return std::pair(engine.pending_tokens() + lambda_ * missed, engine.outstanding());
    };
    return {Least(eligible, arrival.random, work)};
  }

 private:
  const std::deque<Engine>& engines_;
  uint64_t lambda_;
};

}  // namespace

std::unique_ptr<Rule> MakePrecise(const RuleContext& context, uint64_t lambda) {
  return std::make_unique<Precise>(context, lambda);
}

}  // namespace prefixroute::replay
