// SPDX-License-Identifier: Apache-2.0
//
// SetInstances: one instance goes, and comes back. Its floor hashes the ids.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/micro/allocations.h"
#include "benchmarks/micro/inputs.h"
#include "benchmarks/micro/turns.h"
#include "prefixroute/router.h"
#include "src/hash/hash.h"

namespace prefixroute {
namespace {

// The homes of `count` keys.
std::vector<uint32_t> HomesOf(const Router& router, uint64_t count) {
  std::vector<uint32_t> homes(count, kNoInstance);
  for (uint64_t i = 0; i < count; ++i) {
    const PrefixKey key = PrefixKey::FromHash(MixBits(i + 1));
    Request request;
    request.key = &key;
    (void)router.Rank(request, absl::MakeSpan(&homes[i], 1));
  }
  return homes;
}

void BM_SetInstances(benchmark::State& state) {
  const std::vector<Instance> all = BenchmarkFleet(state.range(0));
  const std::vector<Instance> fewer(all.begin(), all.end() - 1);  // The last goes, so that indexes stay.
  const auto router = MakeRouter(Rule::kPrefixAware, state.range(0), 0);
  uint64_t allocations = 0;
  uint64_t failed = 0;
  const auto set = [&](const std::vector<Instance>& instances) {
    const uint64_t before = Allocations();
    failed += router->SetInstances(instances).ok() ? 0 : 1;
    allocations += Allocations() - before;
  };
  Turns turns(state, 2, {"floor"});
  while (turns.Next()) {
    turns.Time([&] {
      set(fewer);
      set(all);
    });
    turns.Time([&] {
      for (const std::vector<Instance>* instances : {&fewer, &all}) {
        for (const Instance& instance : *instances) benchmark::DoNotOptimize(internal::HashBytes(instance.id));
      }
    });
  }
  turns.Report();
  state.counters["allocations"] = static_cast<double>(allocations) / static_cast<double>(state.iterations());

  // What an instance's going moves, beside the keys that it was home to, which have to.
  const std::vector<uint32_t> before = HomesOf(*router, 10'000);
  set(fewer);
  const std::vector<uint32_t> after = HomesOf(*router, 10'000);
  double moved = 0;
  double had_to = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    moved += before[i] != after[i] ? 1 : 0;
    had_to += before[i] == fewer.size() ? 1 : 0;
  }
  state.counters["moved"] = moved / static_cast<double>(before.size());
  state.counters["had_to_move"] = had_to / static_cast<double>(before.size());
  if (failed != 0) state.SkipWithError("a change was refused");
}
BENCHMARK(BM_SetInstances)
    ->ArgName("instances")
    ->Arg(2)
    ->Arg(7)
    ->Arg(64)
    ->Arg(256)
    ->Arg(1024)
    ->Arg(4096)
    ->Arg(10'000)
    ->UseManualTime();

}  // namespace
}  // namespace prefixroute
