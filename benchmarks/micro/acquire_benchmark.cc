// SPDX-License-Identifier: Apache-2.0
//
// Acquire and Finish: choose, reserve, and give the oldest of those in flight back.

#include <algorithm>
#include <cstddef>
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

void AcquireFinish(benchmark::State& state, Router& router, Rule rule, PrefixNumbers numbers, uint64_t show) {
  std::vector<Lease> in_flight(static_cast<size_t>(std::min<int64_t>(4 * state.range(0), 4096)));
  size_t oldest = 0;
  Request request;
  const auto decide = [&](std::string_view prompt) {
    request.prefix = prompt;
    absl::StatusOr<Lease> lease = router.Acquire(request);
    if (!lease.ok()) return kNoInstance;
    const uint32_t instance = lease->decision().instance;
    in_flight[oldest] = *std::move(lease);
    oldest = oldest + 1 == in_flight.size() ? 0 : oldest + 1;
    return instance;
  };
  ShowPrefixes(show, static_cast<size_t>(state.range(1)), decide);
  const bool looks_at_prompt = rule == Rule::kStrict || rule == Rule::kPrefixAware;
  MeasureDecisions(state, looks_at_prompt, std::move(numbers), decide);
}

std::unique_ptr<Router> MakeRouter(benchmark::State& state, Rule rule) {
  return *Router::Create(OptionsFor(rule, state.range(0)), BenchmarkFleet(state.range(0)));
}

void BM_AcquireFinish(benchmark::State& state, Rule rule) {
  AcquireFinish(state, *MakeRouter(state, rule), rule, AnyOf(kWarmPrefixes), kWarmPrefixes);
}
// The memory of prefixes knows none of the prompts.
void BM_AcquireFinishCold(benchmark::State& state) {
  AcquireFinish(state, *MakeRouter(state, Rule::kPrefixAware), Rule::kPrefixAware, NeverSeenBefore(), 0);
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
      *Router::Create(OptionsFor(Rule::kPrefixAware, state.range(0)), BenchmarkFleet(state.range(0)),
                      *SharedState::Attach(memory.data(), bytes, 1));
  AcquireFinish(state, *router, Rule::kPrefixAware, AnyOf(kWarmPrefixes), kWarmPrefixes);
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
