// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/micro/inputs.h"
#include "prefixroute/router.h"

namespace prefixroute {
namespace {

void BM_Route(benchmark::State& state, const RouterOptions& options) {
  const std::unique_ptr<Router> router = *Router::Create(options, BenchmarkFleet(state.range(0)));
  const std::vector<Load> loads(static_cast<size_t>(state.range(0)), Load{4});
  Prompts prompts(state.range(1));
  Request request;
  for (auto _ : state) {
    request.prefix = prompts.Next();
    benchmark::DoNotOptimize(router->Route(request, loads));
  }
  state.SetItemsProcessed(state.iterations());
}

// Strict mode, and the home is busy: sums the loads, and goes on along the prefix's order.
void BM_RouteDiverted(benchmark::State& state) {
  const std::unique_ptr<Router> router = *Router::Create(StrictWholePrompts(), BenchmarkFleet(state.range(0)));
  std::vector<Load> loads(static_cast<size_t>(state.range(0)));
  Prompts prompts(state.range(1));
  Request request;
  request.prefix = prompts.Next();
  loads[router->Route(request, loads)->home].outstanding = 1'000;
  for (auto _ : state) benchmark::DoNotOptimize(router->Route(request, loads));
  const RouterStats stats = router->Stats();
  state.counters["diverted"] = static_cast<double>(stats.decisions[static_cast<size_t>(Reason::kDivertedByLoad)]) /
                               static_cast<double>(state.iterations());
  state.SetItemsProcessed(state.iterations());
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"instances", "bytes"})->ArgsProduct({{7, 64, 1024}, {256, 2 << 10, 32 << 10}});
}

BENCHMARK_CAPTURE(BM_Route, random, WholePrompts(Strategy::kRandom))->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Route, least_outstanding, WholePrompts(Strategy::kLeastOutstandingRequests))->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Route, prefix_aware, WholePrompts())->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Route, strict, StrictWholePrompts())->Apply(Sizes);
BENCHMARK(BM_RouteDiverted)->ArgNames({"instances", "bytes"})->ArgsProduct({{7, 64, 1024}, {256}});

}  // namespace
}  // namespace prefixroute
