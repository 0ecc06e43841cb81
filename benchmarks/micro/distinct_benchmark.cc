// SPDX-License-Identifier: Apache-2.0
//
// PREFIX_AWARE's memory of prefixes is of a fixed size: what a decision costs when far more distinct prefixes were seen
// than it has room for, beside what it costs when they are few.

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/micro/deciders.h"
#include "benchmarks/micro/decisions.h"
#include "benchmarks/micro/inputs.h"
#include "benchmarks/micro/turns.h"
#include "prefixroute/router.h"

namespace prefixroute {
namespace {

// A router that has seen so many prefixes, and what asks it.
template <typename By>
struct Experienced {
  Experienced(int64_t instances, int64_t bytes, uint64_t distinct)
      : router(MakeRouter(Rule::kPrefixAware, instances, bytes)), decide(*router, instances) {
    ShowPrefixes(0, distinct, bytes, decide);
  }

  std::unique_ptr<Router> router;
  By decide;
};

template <typename By>
void MeasureDistinct(benchmark::State& state) {
  const int64_t instances = state.range(0);
  const int64_t bytes = state.range(1);
  const auto distinct = static_cast<uint64_t>(state.range(2));
  // Made once, for it takes seconds, and a benchmark is called many times.
  static auto& known = *new std::map<std::tuple<int64_t, int64_t, uint64_t>, std::unique_ptr<Experienced<By>>>;
  auto& many = known[{instances, bytes, distinct}];
  if (many == nullptr) many = std::make_unique<Experienced<By>>(instances, bytes, distinct);
  Experienced<By> few(instances, bytes, kWarmPrefixes);

  Prompts many_prompts(static_cast<size_t>(bytes), MostDecisions(instances), AnyOf(distinct));
  Prompts few_prompts(static_cast<size_t>(bytes), MostDecisions(instances), AnyOf(kWarmPrefixes));
  const auto time = [](Turns& turns, By& decide, Prompts& prompts) {
    const std::vector<std::string_view>& batch = prompts.Next();
    turns.Time([&] {
      for (const std::string_view prompt : batch) benchmark::DoNotOptimize(decide(prompt));
    });
  };
  Turns turns(state, many_prompts.size(), {"warm"});
  while (turns.Next()) {
    time(turns, many->decide, many_prompts);
    time(turns, few.decide, few_prompts);
  }
  turns.Report();
}

void Counts(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"instances", "bytes", "distinct"})->UseManualTime();
  for (int64_t distinct = 1'000; distinct <= 10'000'000; distinct *= 10) benchmark->Args({7, 2 << 10, distinct});
  benchmark->Args({7, 32 << 10, 1'000'000})->Args({1024, 2 << 10, 1'000'000});
}

void BM_RouteDistinct(benchmark::State& state) { MeasureDistinct<ByRoute>(state); }
void BM_AcquireFinishDistinct(benchmark::State& state) { MeasureDistinct<ByAcquire>(state); }

BENCHMARK(BM_RouteDistinct)->Apply(Counts);
BENCHMARK(BM_AcquireFinishDistinct)->Apply(Counts);

}  // namespace
}  // namespace prefixroute
