// SPDX-License-Identifier: Apache-2.0
//
// Acquire and Finish: choose, reserve, give back.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/micro/inputs.h"
#include "prefixroute/router.h"

namespace prefixroute {
namespace {

void AcquireAndFinish(benchmark::State& state, Router& router, int64_t prompt_bytes) {
  Prompts prompts(prompt_bytes);
  Request request;
  uint64_t refused = 0;
  for (auto _ : state) {
    request.prefix = prompts.Next();
    const absl::StatusOr<Lease> lease = router.Acquire(request);
    if (!lease.ok()) ++refused;
  }
  if (refused != 0) state.SkipWithError("a request was refused");
  state.SetItemsProcessed(state.iterations());
}

void BM_AcquireFinish(benchmark::State& state, const RouterOptions& options) {
  const std::unique_ptr<Router> router = *Router::Create(options, BenchmarkFleet(state.range(0)));
  AcquireAndFinish(state, *router, state.range(1));
}

// All threads on one router.
void BM_AcquireFinishThreads(benchmark::State& state) {
  static Router& router = *Router::Create(WholePrompts(), BenchmarkFleet(64))->release();
  AcquireAndFinish(state, router, 2 << 10);
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
      *Router::Create(WholePrompts(), BenchmarkFleet(state.range(0)), *SharedState::Attach(memory.data(), bytes, 1));
  AcquireAndFinish(state, *router, state.range(1));
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"instances", "bytes"})->ArgsProduct({{7, 64, 1024}, {256, 2 << 10, 32 << 10}});
}

BENCHMARK_CAPTURE(BM_AcquireFinish, random, WholePrompts(Strategy::kRandom))->Apply(Sizes);
BENCHMARK_CAPTURE(BM_AcquireFinish, least_outstanding, WholePrompts(Strategy::kLeastOutstandingRequests))->Apply(Sizes);
BENCHMARK_CAPTURE(BM_AcquireFinish, prefix_aware, WholePrompts())->Apply(Sizes);
BENCHMARK_CAPTURE(BM_AcquireFinish, strict, StrictWholePrompts())->Apply(Sizes);
BENCHMARK(BM_AcquireFinishThreads)->ThreadRange(1, 8)->UseRealTime();
BENCHMARK(BM_AcquireFinishShared)->Apply(Sizes);

}  // namespace
}  // namespace prefixroute
