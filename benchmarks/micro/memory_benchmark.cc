// SPDX-License-Identifier: Apache-2.0
//
// How much memory a router takes that has seen more distinct prefixes than it has room for, in pages that are resident.

#include <malloc.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

#include "benchmark/benchmark.h"
#include "benchmarks/micro/deciders.h"
#include "benchmarks/micro/decisions.h"
#include "benchmarks/micro/inputs.h"
#include "prefixroute/router.h"

namespace prefixroute {
namespace {

constexpr uint64_t kPrefixes = 50'000;  // 12 depths each: 9 times the room by default.

// Of the process, without what was freed.
double ResidentBytes() {
  malloc_trim(0);
  std::ifstream file("/proc/self/statm");
  double pages = 0;
  file >> pages >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

void BM_Memory(benchmark::State& state) {
  const int64_t instances = state.range(0);
  constexpr int64_t kBytes = 2 << 10;
  for (auto _ : state) {
    const double before = ResidentBytes();
    const auto router = *Router::Create(OptionsFor(Rule::kPrefixAware, instances, kBytes), BenchmarkFleet(1));
    const auto show = [&](uint64_t begin) {
      ByAcquire decide(*router, instances);
      ShowPrefixes(begin, begin + kPrefixes, kBytes, decide);
      return ResidentBytes();
    };
    show(0);
    if (!router->SetInstances(BenchmarkFleet(instances)).ok()) return state.SkipWithError("SetInstances failed");
    Request anywhere;
    anywhere.strategy = Strategy::kRandom;
    for (int64_t i = 0; i < 20 * instances; ++i) benchmark::DoNotOptimize(router->Acquire(anywhere));
    const double with_all = show(kPrefixes);
    const double later = show(2 * kPrefixes);
    state.counters["bytes"] = later - before;
    state.counters["growth"] = later - with_all;
  }
}
BENCHMARK(BM_Memory)
    ->ArgName("instances")
    ->Arg(7)
    ->Arg(1024)
    ->Arg(10'000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace prefixroute
