// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/rules/rules.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/replay/trace.h"

namespace prefixroute::replay {
namespace {

constexpr RuleDescription kRules[] = {
    {"round_robin", "one after the other"},
    {"random", "the router's RANDOM"},
    {"least_outstanding", "the router's LEAST_OUTSTANDING_REQUESTS"},
    {"bounded_hash", "consistent hashing with bounded loads (1.25) of the first 512 tokens"},
    {"bounded_hash_user", "the same of the first user message, where prompts are JSON messages"},
    {"prefix_tree", "learned prefix tree, match threshold 0.5, imbalance gate 32"},
    {"prefix_score", "3 * prefix score + 2 * queue score"},
    {"precise", "the engines' true caches and queues, least work"},
    {"precise_2", "the same, a missed token counting 2"},
    {"strict", "the router's PREFIX_AWARE in strict mode; a row for each of --max_prefix_tokens"},
    {"prefix_aware", "the router's PREFIX_AWARE as it is by default"},
};

NamedRule RouterRule(const std::string& name, RouterOptions options, Strategy strategy) {
  options.strategy = strategy;
  return {name, [options](const RuleContext& context) { return MakeRouterRule(context, options); }};
}

}  // namespace

absl::Span<const RuleDescription> AllRules() { return kRules; }

absl::StatusOr<std::vector<NamedRule>> FindRules(const std::string& name, const RouterOptions& router,
                                                 absl::Span<const uint64_t> strict_tokens) {
  std::vector<NamedRule> rules;
  if (name == "random") {
    rules.push_back(RouterRule(name, router, Strategy::kRandom));
  } else if (name == "least_outstanding") {
    rules.push_back(RouterRule(name, router, Strategy::kLeastOutstandingRequests));
  } else if (name == "prefix_aware") {
    rules.push_back(RouterRule(name, router, Strategy::kPrefixAware));
  } else if (name == "strict") {
    for (const uint64_t tokens : strict_tokens) {
      RouterOptions options = router;
      options.strict_prefix_bytes = tokens * kBytesPerToken;
      rules.push_back(RouterRule(absl::StrCat(name, "_", tokens), options, Strategy::kPrefixAware));
    }
  } else if (name == "round_robin") {
    rules.push_back({name, MakeRoundRobin});
  } else if (name == "bounded_hash") {
    rules.push_back({name, MakeBoundedHashOfBlock});
  } else if (name == "bounded_hash_user") {
    rules.push_back({name, MakeBoundedHashOfUserMessage});
  } else if (name == "prefix_tree") {
    rules.push_back({name, MakePrefixTree});
  } else if (name == "prefix_score") {
    rules.push_back({name, MakePrefixScore});
  } else if (name == "precise") {
    rules.push_back({name, [](const RuleContext& context) { return MakePrecise(context, 1); }});
  } else if (name == "precise_2") {
    rules.push_back({name, [](const RuleContext& context) { return MakePrecise(context, 2); }});
  } else {
    std::string names;
    for (const RuleDescription& rule : kRules) absl::StrAppend(&names, names.empty() ? "" : ", ", rule.name);
    return absl::InvalidArgumentError(absl::StrFormat("\"%s\" is none of %s", name, names));
  }
  return rules;
}

}  // namespace prefixroute::replay
