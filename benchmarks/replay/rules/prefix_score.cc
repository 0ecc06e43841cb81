// SPDX-License-Identifier: Apache-2.0
//
// A weighted sum of scores, as the Gateway API inference extension publishes its prefix-cache and queue scorers:
//
//   3 * matched blocks / blocks of the prompt + 2 * (longest queue - queue) / (longest queue - shortest queue)
//
// where the second quotient is 1 if all queues are equal. The greatest sum wins, ties at random. What matches is found
// in an LRU index for each instance, as large as its cache. The queue is the gateway's own outstanding requests.

#include <algorithm>
#include <memory>

#include "benchmarks/replay/rules/counting_rule.h"
#include "benchmarks/replay/rules/prefix_index.h"
#include "benchmarks/replay/rules/rules.h"

namespace prefixroute::replay {
namespace {

constexpr double kPrefixWeight = 3;
constexpr double kQueueWeight = 2;

class PrefixScore : public CountingRule {
 public:
  explicit PrefixScore(const RuleContext& context)
      : CountingRule(context.max_outstanding), index_(context.max_instances, context.cache_blocks) {}

  void CacheLost(uint32_t instance) override { index_.Forget(instance); }

 protected:
  Placement Choose(const Arrival& arrival, absl::Span<const uint32_t> eligible) override {
    const absl::Span<const BlockId> blocks = arrival.trace.FullBlocks(arrival.request);
    uint32_t least = UINT32_MAX;
    uint32_t most = 0;
    for (const uint32_t instance : eligible) {
      least = std::min(least, outstanding(instance));
      most = std::max(most, outstanding(instance));
    }
    const auto minus_score = [&](uint32_t instance) {
      double score = kQueueWeight;
      if (most > least) score *= static_cast<double>(most - outstanding(instance)) / (most - least);
      if (!blocks.empty()) {
        score += kPrefixWeight * static_cast<double>(index_.LeadingHits(instance, blocks)) /
                 static_cast<double>(blocks.size());
      }
      return -score;
    };
    const uint32_t instance = Least(eligible, arrival.random, minus_score);
    index_.Sent(instance, blocks);
    return {instance};
  }

 private:
  PrefixIndex index_;
};

}  // namespace

std::unique_ptr<Rule> MakePrefixScore(const RuleContext& context) { return std::make_unique<PrefixScore>(context); }

}  // namespace prefixroute::replay
