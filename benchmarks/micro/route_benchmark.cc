// SPDX-License-Identifier: Apache-2.0
//
// Route: decide by the caller's loads.

#include <cstdint>

#include "benchmark/benchmark.h"
#include "benchmarks/micro/deciders.h"
#include "benchmarks/micro/decisions.h"
#include "benchmarks/micro/inputs.h"

namespace prefixroute {
namespace {

void BM_Route(benchmark::State& state, Rule rule, Weights weights = Weights::kEqual) {
  const auto router = MakeRouter(rule, state.range(0), state.range(1), weights);
  MeasureWarm(state, rule, ByRoute(*router, state.range(0)));
}
void BM_RouteCold(benchmark::State& state) {
  const auto router = MakeRouter(Rule::kPrefixAware, state.range(0), state.range(1));
  MeasureCold(state, Rule::kPrefixAware, ByRoute(*router, state.range(0)));
}

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
