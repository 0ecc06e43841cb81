// SPDX-License-Identifier: Apache-2.0
//
// A learned prefix tree with a match threshold and an imbalance gate, as SGLang's router publishes its "cache_aware":
// where the most loaded instance has over 32 requests more than the least loaded, and over 1.0001 times as many, the
// least loaded takes the request. Otherwise, where some instance was sent more than half of the prompt before, the one
// with the longest match takes it; else the one with the smallest tree. Each instance's tree holds 16,777,216
// characters, the least recently used going first. The tree here is one of blocks instead of characters.

#include <algorithm>
#include <memory>

#include "benchmarks/replay/rules/counting_rule.h"
#include "benchmarks/replay/rules/prefix_index.h"
#include "benchmarks/replay/rules/rules.h"

namespace prefixroute::replay {
namespace {

constexpr double kMatchThreshold = 0.5;
constexpr uint32_t kAbsoluteImbalance = 32;
constexpr double kRelativeImbalance = 1.0001;
constexpr uint64_t kTreeBytes = uint64_t{1} << 24;

class PrefixTree : public CountingRule {
 public:
  explicit PrefixTree(const RuleContext& context)
      : CountingRule(context.max_outstanding),
        trees_(context.max_instances, kTreeBytes / (uint64_t{context.block_tokens} * kBytesPerToken)) {}

  void CacheLost(uint32_t instance) override { trees_.Forget(instance); }

 protected:
  Placement Choose(const Arrival& arrival, absl::Span<const uint32_t> eligible) override {
    const absl::Span<const BlockId> blocks = arrival.trace.FullBlocks(arrival.request);
    const auto load = [this](uint32_t instance) { return outstanding(instance); };
    uint32_t least = UINT32_MAX;
    uint32_t most = 0;
    for (const uint32_t instance : eligible) {
      least = std::min(least, load(instance));
      most = std::max(most, load(instance));
    }
    Placement placement;
    if (most - least > kAbsoluteImbalance && most > kRelativeImbalance * least) {
      placement = {Least(eligible, arrival.random, load), true};
    } else {
      const auto no_match = [&](uint32_t instance) { return blocks.size() - trees_.LeadingHits(instance, blocks); };
      placement.instance = Least(eligible, arrival.random, no_match);
      const auto matched = static_cast<double>(blocks.size() - no_match(placement.instance));
      if (matched <= kMatchThreshold * arrival.request.input_tokens / arrival.trace.block_tokens) {
        placement.instance =
            Least(eligible, arrival.random, [this](uint32_t instance) { return trees_.size(instance); });
      }
    }
    trees_.Sent(placement.instance, blocks);
    return placement;
  }

 private:
  PrefixIndex trees_;
};

}  // namespace

std::unique_ptr<Rule> MakePrefixTree(const RuleContext& context) { return std::make_unique<PrefixTree>(context); }

}  // namespace prefixroute::replay
