// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/micro/inputs.h"
#include "prefixroute/rendezvous.h"

namespace prefixroute {
namespace {

// What a router keeps of its instances.
struct Nodes {
  Nodes(int64_t size, bool weighted) {
    for (int64_t i = 0; i < size; ++i) {
      hashes.push_back(MixBits(static_cast<uint64_t>(i) + 1));
      weights.push_back((weighted ? 1 + static_cast<uint64_t>(i) % 3 : 1) * kWeightUnit);
      ties.push_back(static_cast<uint32_t>(i));
    }
  }
  RendezvousNodes view() const {
    return {hashes.data(), weights.data(), ties.data(), static_cast<uint32_t>(hashes.size())};
  }

  std::vector<uint64_t> hashes;
  std::vector<uint64_t> weights;
  std::vector<uint32_t> ties;
};

void CountInstances(benchmark::State& state) { state.SetItemsProcessed(state.iterations() * state.range(0)); }

// The floor: one hash an instance, and the greatest of them.
void BM_GreatestHash(benchmark::State& state) {
  const Nodes nodes(state.range(0), false);
  uint64_t key = 0;
  for (auto _ : state) {
    ++key;
    uint64_t greatest = 0;
    for (uint64_t hash : nodes.hashes) greatest = std::max(greatest, RendezvousHash(key, hash));
    benchmark::DoNotOptimize(greatest);
  }
  CountInstances(state);
}
BENCHMARK(BM_GreatestHash)->ArgName("instances")->Arg(7)->Arg(64)->Arg(1024);

void BM_RendezvousFirst(benchmark::State& state) {
  const Nodes nodes(state.range(0), state.range(1) != 0);
  uint64_t key = 0;
  for (auto _ : state) {
    ++key;
    benchmark::DoNotOptimize(RendezvousFirst(nodes.view(), key, [](uint32_t) { return true; }));
  }
  CountInstances(state);
}
BENCHMARK(BM_RendezvousFirst)->ArgNames({"instances", "weighted"})->ArgsProduct({{7, 64, 1024}, {0, 1}});

}  // namespace
}  // namespace prefixroute
