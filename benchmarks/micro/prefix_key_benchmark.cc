// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/micro/floors.h"
#include "benchmarks/micro/inputs.h"
#include "benchmarks/micro/turns.h"
#include "prefixroute/prefix_key.h"
#include "src/hash/hash.h"

namespace prefixroute {
namespace {

// The caller's whole prompt is the prefix.
PrefixKey InOnePiece(std::string_view prompt) { return MakePrefixKey(prompt, {}, kMaxMaxPrefixBytes); }

PrefixKey In4KiBPieces(std::string_view prompt) {
  constexpr size_t kPiece = 4 << 10;
  PrefixHasher hasher(kMaxMaxPrefixBytes);
  for (; !prompt.empty(); prompt.remove_prefix(std::min(kPiece, prompt.size()))) {
    hasher.Update(prompt.substr(0, kPiece));
  }
  return hasher.Key();
}

// `next` gives the prompts of one turn.
template <typename Next>
void MeasureKeys(benchmark::State& state, size_t calls, PrefixKey (*make)(std::string_view), Next next) {
  const auto each = [&](auto call) {
    return [&batch = next(), call] {
      for (const std::string_view prompt : batch) benchmark::DoNotOptimize(call(prompt));
    };
  };
  Turns turns(state, calls, {"hash", "read"});
  while (turns.Next()) {
    turns.Time(each(make));
    turns.Time(each([](std::string_view prompt) { return internal::HashBytes(prompt); }));
    turns.Time(each([](std::string_view prompt) { return ReadOnce(prompt); }));
  }
  turns.Report();
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void BM_PrefixKey(benchmark::State& state, PrefixKey (*make)(std::string_view)) {
  Prompts prompts(static_cast<size_t>(state.range(0)), SIZE_MAX, AnyOf(kMaxInstances), 0);
  MeasureKeys(
      state, prompts.size(), make, [&]() -> const auto& { return prompts.Next(); });
}

// 512 MiB, or less where memory is short; a power of two.
std::string MakePool() {
  size_t bytes = 512 << 20;
  std::ifstream info("/proc/meminfo");
  std::string field;
  while (info >> field && field != "MemAvailable:") info.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  size_t available_kib = 0;
  if (info >> available_kib) {
    while (bytes > (1 << 20) && bytes >> 10 > available_kib / 2) bytes /= 2;
  }
  return std::string(bytes, 'x');
}

// Prompts that are in no cache: places in a pool far larger than any, in an order that no prefetcher follows.
void BM_PrefixKeyFromDram(benchmark::State& state) {
  static const std::string pool_bytes = MakePool();  // When first needed.
  const std::string_view pool = pool_bytes;
  const auto bytes = static_cast<uint64_t>(state.range(0));
  const uint64_t places = pool.size() / bytes;
  std::vector<std::string_view> batch(std::max<uint64_t>(1, (256 << 10) / bytes));
  MeasureKeys(
      state, batch.size(), InOnePiece, [&, place = uint64_t{0} ]() mutable -> const auto& {
        for (std::string_view& prompt : batch) {
          // Both are powers of two: every place comes before one comes again.
          place = (place * 6364136223846793005 + 1442695040888963407) % places;
          prompt = pool.substr(place * bytes, bytes);
        }
        return batch;
      });
}

void Lengths(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("bytes")->RangeMultiplier(4)->Range(64, 1 << 20)->UseManualTime();
}

BENCHMARK_CAPTURE(BM_PrefixKey, in_one_piece, InOnePiece)->Apply(Lengths);
BENCHMARK_CAPTURE(BM_PrefixKey, in_4_KiB_pieces, In4KiBPieces)->Apply(Lengths);
BENCHMARK(BM_PrefixKeyFromDram)->Apply(Lengths);

}  // namespace
}  // namespace prefixroute
