// SPDX-License-Identifier: Apache-2.0
//
// Route: decide by the caller's loads.

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/micro/decisions.h"
#include "benchmarks/micro/inputs.h"
#include "prefixroute/router.h"

namespace prefixroute {
namespace {

void Route(benchmark::State& state, Rule rule, Weights weights, PrefixNumbers numbers, uint64_t show) {
  const int64_t instances = state.range(0);
  const std::unique_ptr<Router> router =
      *Router::Create(OptionsFor(rule, instances), BenchmarkFleet(instances, weights));
  const std::vector<Load> loads(static_cast<size_t>(instances), Load{4});
  Request request;
  const auto decide = [&](std::string_view prompt) {
    request.prefix = prompt;
    const absl::StatusOr<Decision> decision = router->Route(request, loads);
    return decision.ok() ? decision->instance : kNoInstance;
  };
  ShowPrefixes(show, static_cast<size_t>(state.range(1)), decide);
  const bool looks_at_prompt = rule == Rule::kStrict || rule == Rule::kPrefixAware;
  MeasureDecisions(state, looks_at_prompt, std::move(numbers), decide);
}

void BM_Route(benchmark::State& state, Rule rule, Weights weights = Weights::kEqual) {
  Route(state, rule, weights, AnyOf(kWarmPrefixes), kWarmPrefixes);
}
// The memory of prefixes knows none of the prompts.
void BM_RouteCold(benchmark::State& state) { Route(state, Rule::kPrefixAware, Weights::kEqual, NeverSeenBefore(), 0); }

BENCHMARK_CAPTURE(BM_Route, random, Rule::kRandom)->Apply(Fleets);
BENCHMARK_CAPTURE(BM_Route, least_outstanding, Rule::kLeastOutstanding)->Apply(Fleets);
BENCHMARK_CAPTURE(BM_Route, strict, Rule::kStrict)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Route, strict_three_weights, Rule::kStrict, Weights::kThreeClasses)->Apply(Fleets);
BENCHMARK_CAPTURE(BM_Route, strict_all_weights_differ, Rule::kStrict, Weights::kAllDifferent)->Apply(Fleets);
BENCHMARK_CAPTURE(BM_Route, prefix_aware, Rule::kPrefixAware)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Route, three_weights, Rule::kPrefixAware, Weights::kThreeClasses)->Apply(Fleets);
BENCHMARK_CAPTURE(BM_Route, all_weights_differ, Rule::kPrefixAware, Weights::kAllDifferent)->Apply(Fleets);
BENCHMARK(BM_RouteCold)->Apply(Sizes);

}  // namespace
}  // namespace prefixroute
