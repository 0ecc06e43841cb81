// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "benchmark/benchmark.h"
#include "benchmarks/micro/inputs.h"
#include "prefixroute/prefix_key.h"

namespace prefixroute {
namespace {

void Lengths(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("bytes")->Arg(64)->Arg(256)->Arg(2 << 10)->Arg(32 << 10)->Arg(1 << 20);
}

void CountBytes(benchmark::State& state) { state.SetBytesProcessed(state.iterations() * state.range(0)); }

// The floor: whoever looks at all bytes must read them once. The sums don't wait for each other.
void BM_ReadBytesOnce(benchmark::State& state) {
  using Block = std::array<uint64_t, 8>;
  Prompts prompts(state.range(0));
  for (auto _ : state) {
    const std::string_view prompt = prompts.Next();
    Block sums{};
    for (size_t i = 0; i + sizeof(Block) <= prompt.size(); i += sizeof(Block)) {
      Block block;
      std::memcpy(&block, prompt.data() + i, sizeof(block));
      for (size_t word = 0; word < block.size(); ++word) sums[word] += block[word];
    }
    benchmark::DoNotOptimize(sums);
  }
  CountBytes(state);
}
BENCHMARK(BM_ReadBytesOnce)->Apply(Lengths);

void BM_MakePrefixKey(benchmark::State& state) {
  Prompts prompts(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(MakePrefixKey(prompts.Next(), "model", kMaxMaxPrefixBytes));
  CountBytes(state);
}
BENCHMARK(BM_MakePrefixKey)->Apply(Lengths);

void BM_PrefixHasherIn4KiBPieces(benchmark::State& state) {
  constexpr size_t kPiece = 4 << 10;
  Prompts prompts(state.range(0));
  for (auto _ : state) {
    PrefixHasher hasher(kMaxMaxPrefixBytes);
    hasher.AddScope("model");
    for (std::string_view rest = prompts.Next(); !rest.empty(); rest.remove_prefix(std::min(kPiece, rest.size()))) {
      hasher.Update(rest.substr(0, kPiece));
    }
    benchmark::DoNotOptimize(hasher.Key());
  }
  CountBytes(state);
}
BENCHMARK(BM_PrefixHasherIn4KiBPieces)->Apply(Lengths);

}  // namespace
}  // namespace prefixroute
