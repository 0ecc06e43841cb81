// SPDX-License-Identifier: Apache-2.0
//
// Acquire and Finish: choose, reserve, and give the oldest of those in flight back.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/micro/deciders.h"
#include "benchmarks/micro/decisions.h"
#include "benchmarks/micro/inputs.h"
#include "prefixroute/router.h"

namespace prefixroute {
namespace {

void BM_AcquireFinish(benchmark::State& state, Rule rule) {
  const auto router = MakeRouter(rule, state.range(0), state.range(1));
  MeasureWarm(state, rule, ByAcquire(*router, state.range(0)));
}
void BM_AcquireFinishCold(benchmark::State& state) {
  const auto router = MakeRouter(Rule::kPrefixAware, state.range(0), state.range(1));
  MeasureCold(state, Rule::kPrefixAware, ByAcquire(*router, state.range(0)));
}

// Counts in a block as processes share it: a count has its owner's part beside it.
void BM_AcquireFinishShared(benchmark::State& state) {
  struct alignas(64) CacheLine {
    char bytes[64];
  };
  const size_t bytes = *SharedState::BytesNeeded({});
  std::vector<CacheLine> memory(bytes / sizeof(CacheLine));
  if (!SharedState::Format(memory.data(), bytes, {}).ok()) return state.SkipWithError("the block can't be formatted");
  const std::unique_ptr<Router> router =
      *Router::Create(OptionsFor(Rule::kPrefixAware, state.range(0), state.range(1)), BenchmarkFleet(state.range(0)),
                      *SharedState::Attach(memory.data(), bytes, 1));
  MeasureWarm(state, Rule::kPrefixAware, ByAcquire(*router, state.range(0)));
}

BENCHMARK_CAPTURE(BM_AcquireFinish, random, Rule::kRandom)->Apply(Fleets);
BENCHMARK_CAPTURE(BM_AcquireFinish, least_outstanding, Rule::kLeastOutstanding)->Apply(Fleets);
BENCHMARK_CAPTURE(BM_AcquireFinish, strict, Rule::kStrict)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_AcquireFinish, prefix_aware, Rule::kPrefixAware)->Apply(Sizes);
BENCHMARK(BM_AcquireFinishCold)->Apply(Sizes);
BENCHMARK(BM_AcquireFinishShared)
    ->ArgNames({"instances", "bytes"})
    ->ArgsProduct({{7, 1024}, {2 << 10}})
    ->UseManualTime();

}  // namespace
}  // namespace prefixroute
