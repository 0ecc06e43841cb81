// SPDX-License-Identifier: Apache-2.0
//
// The rules that there are, by name. Those from outside the router are written anew from what their projects publish,
// each in a file of its own, which says what the rule is.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_RULES_RULES_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_RULES_RULES_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "benchmarks/replay/engine/engine.h"
#include "benchmarks/replay/rules/rule.h"
#include "prefixroute/router.h"

namespace prefixroute::replay {

// What a rule is made for.
struct RuleContext {
  const std::deque<Engine>& engines;  // By number. Only precise rules look.
  uint32_t block_tokens;
  uint64_t cache_blocks;     // Of one instance; UINT64_MAX for no limit.
  uint32_t max_outstanding;  // Of one instance; 0 for none.
  uint32_t max_instances;    // That there will ever be.
  uint32_t gateways;
};

using RuleMaker = std::function<std::unique_ptr<Rule>(const RuleContext&)>;

struct NamedRule {
  std::string name;
  RuleMaker make;
};

// The router's own strategy, with these options.
std::unique_ptr<Rule> MakeRouterRule(const RuleContext& context, const RouterOptions& options);
std::unique_ptr<Rule> MakeRoundRobin(const RuleContext& context);
// Consistent hashing with bounded loads, of the first 512 tokens or of the first user message.
std::unique_ptr<Rule> MakeBoundedHashOfBlock(const RuleContext& context);
std::unique_ptr<Rule> MakeBoundedHashOfUserMessage(const RuleContext& context);
std::unique_ptr<Rule> MakePrefixTree(const RuleContext& context);
std::unique_ptr<Rule> MakePrefixScore(const RuleContext& context);
std::unique_ptr<Rule> MakePrecise(const RuleContext& context, uint64_t lambda);

// Whether MakeBoundedHashOfUserMessage() finds one in this prompt.
bool HasUserMessage(const TraceRequest& request);

// Every rule's name, in the order of reports, and what it is. "strict" stands for a rule a prefix limit.
struct RuleDescription {
  const char* name;
  const char* what;
};
absl::Span<const RuleDescription> AllRules();

// The rules of that name: one, or for "strict" one a limit, in tokens. `router` is what the router's own start from.
// InvalidArgument where there is none of that name.
absl::StatusOr<std::vector<NamedRule>> FindRules(const std::string& name, const RouterOptions& router,
                                                 absl::Span<const uint64_t> strict_tokens);

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_RULES_RULES_H_
