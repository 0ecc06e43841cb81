// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/micro/allocations.h"
#include "benchmarks/micro/floors.h"
#include "benchmarks/micro/turns.h"
#include "benchmarks/payload/bodies.h"
#include "benchmarks/payload/simdjson_walk.h"
#include "prefixroute/payload.h"
#include "src/hash/hash.h"

namespace prefixroute {
namespace {

// Bodies of some 128 KiB in all, so that they lie in L2, as one does that was just received; never fewer than two, so
// that no branch is learnt by heart.
std::vector<std::string> MakeBodies(MakeBody make, size_t bytes) {
  std::vector<std::string> bodies(std::max<size_t>(2, (128 << 10) / bytes));
  unsigned seed = 1;
  for (std::string& body : bodies) {
    body = make(bytes, seed++);
    body.reserve(body.size() + SimdjsonWalker::Padding());
  }
  return bodies;
}

// Counters: gb_per_s of the body, and what Turns has.
void BM_Read(benchmark::State& state, MakeBody make) {
  const std::vector<std::string> bodies = MakeBodies(make, static_cast<size_t>(state.range(0)));
  PayloadReader reader;
  SimdjsonWalker simdjson;
  size_t bytes = 0;
  for (const std::string& body : bodies) {
    if (reader.Read(body).form == PayloadForm::kRaw) state.SkipWithError("a body was not understood");
    simdjson.Walk(body);
    bytes += body.size();
  }
  const auto each = [&](auto call) {
    return [&bodies, call] {
      for (const std::string& body : bodies) benchmark::DoNotOptimize(call(body));
    };
  };
  Turns turns(state, bodies.size(), {"read", "hash", "index", "walk"});
  while (turns.Next()) {
    uint64_t allocations = 0;
    turns.Time([&] {
      allocations = Allocations();
      for (const std::string& body : bodies) benchmark::DoNotOptimize(reader.Read(body).key.value());
      allocations = Allocations() - allocations;
    });
    if (allocations != 0) state.SkipWithError("operator new was called");
    turns.Time(each([](std::string_view body) { return ReadOnce(body); }));
    turns.Time(each([](std::string_view body) { return internal::HashBytes(body); }));
    turns.Time(each([&](std::string_view body) {
      simdjson.Index(body);
      return 0;
    }));
    turns.Time(each([&](std::string_view body) { return simdjson.Walk(body); }));
  }
  turns.Report();
  state.counters["gb_per_s"] =
      static_cast<double>(bytes) / static_cast<double>(bodies.size()) / state.counters["ns"].value;
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("bytes")->Arg(2 << 10)->Arg(32 << 10)->Arg(1 << 20)->UseManualTime();
}

BENCHMARK_CAPTURE(BM_Read, few_long_messages, FewLongMessages)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Read, many_short_messages, ManyShortMessages)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Read, escaped_text, EscapedText)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Read, source_code, SourceCode)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Read, many_tools, ManyTools)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Read, image, Image)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_Read, token_ids, TokenIds)->Apply(Sizes);

}  // namespace
}  // namespace prefixroute
