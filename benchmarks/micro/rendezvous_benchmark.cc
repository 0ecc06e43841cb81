// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/micro/floors.h"
#include "benchmarks/micro/inputs.h"
#include "benchmarks/micro/turns.h"
#include "prefixroute/rendezvous.h"

namespace prefixroute {
namespace {

void BM_RendezvousFirst(benchmark::State& state, Weights weights) {
  std::vector<uint64_t> hashes;
  std::vector<uint64_t> units;
  std::vector<uint32_t> ties;
  for (const Instance& instance : BenchmarkFleet(state.range(0), weights)) {
    hashes.push_back(MixBits(hashes.size() + 1));
    units.push_back(static_cast<uint64_t>(instance.weight * kWeightUnit));
    ties.push_back(static_cast<uint32_t>(ties.size()));
  }
  const RendezvousNodes nodes = {hashes.data(), units.data(), ties.data(), static_cast<uint32_t>(hashes.size())};
  const size_t calls = 16 + (1 << 18) / hashes.size();
  uint64_t key = 0;
  Turns turns(state, calls, {"floor"});
  while (turns.Next()) {
    turns.Time([&] {
      for (size_t i = 0; i < calls; ++i) {
        benchmark::DoNotOptimize(RendezvousFirst(nodes, MixBits(++key), [](uint32_t) { return true; }));
      }
    });
    turns.Time([&] {
      for (size_t i = 0; i < calls; ++i) {
        benchmark::DoNotOptimize(GreatestScore(MixBits(++key), hashes.data(), hashes.size()));
      }
    });
  }
  turns.Report();
}

void Fleets(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("instances")->UseManualTime();
  for (const int64_t instances : {1, 7, 64, 256, 1024, 4096, 10'000}) benchmark->Arg(instances);
}

BENCHMARK_CAPTURE(BM_RendezvousFirst, equal_weights, Weights::kEqual)->Apply(Fleets);
BENCHMARK_CAPTURE(BM_RendezvousFirst, three_weights, Weights::kThreeClasses)->Apply(Fleets);
BENCHMARK_CAPTURE(BM_RendezvousFirst, all_weights_differ, Weights::kAllDifferent)->Apply(Fleets);

}  // namespace
}  // namespace prefixroute
