// SPDX-License-Identifier: Apache-2.0
//
// Several threads on one router, in turns with one of them alone. "speedup" is how many times the rate of one they
// have together, and "bare_speedup" that of threads which share nothing: all that the machine has to give. "overlap" is
// how much of the time they worked together: below 0.9 the others mean nothing.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/micro/deciders.h"
#include "benchmarks/micro/decisions.h"
#include "benchmarks/micro/inputs.h"
#include "benchmarks/micro/team.h"
#include "benchmarks/micro/turns.h"
#include "prefixroute/router.h"

namespace prefixroute {
namespace {

// Of a turn. What other programs leave of a processor's cache is cold at first.
constexpr int kWarmUpBatches = 4;
constexpr int kTimedBatches = 12;

enum class Wanted { kSameInstance, kDifferentInstances };

// Of the warm prefixes, by number: those that a thread asks for. Threads that want different instances have prefixes
// with different homes.
std::vector<uint64_t> PrefixesOf(size_t thread, size_t threads, Wanted wanted, const Router& router, int64_t bytes) {
  if (wanted == Wanted::kSameInstance) return {0};
  std::vector<uint64_t> numbers;
  Prompts prompts(static_cast<size_t>(bytes), 1, [number = uint64_t{0}]() mutable { return number++; });
  for (uint64_t number = 0; number < kWarmPrefixes; ++number) {
    Request request;
    request.prefix = prompts.Next()[0];
    uint32_t home = kNoInstance;
    if (router.Rank(request, absl::MakeSpan(&home, 1)).ok() && home % threads == thread) numbers.push_back(number);
  }
  return numbers;
}

template <typename By>
struct alignas(128) Member {
  Member(By by, size_t most, int64_t bytes, std::vector<uint64_t> numbers)
      : decide(std::move(by)),
        prompts(static_cast<size_t>(bytes), most, [numbers = std::move(numbers), draw = uint64_t{0}]() mutable {
          return numbers[MixBits(++draw) % numbers.size()];
        }) {}

  By decide;
  Prompts prompts;
  double seconds = 0;  // Of the last turn.
};

template <typename MakeBy>
void MeasureThreads(benchmark::State& state, Rule rule, Wanted wanted, MakeBy make_by) {
  using By = decltype(make_by(std::declval<Router&>()));
  const int64_t instances = state.range(0);
  const int64_t bytes = state.range(1);
  const auto threads = static_cast<size_t>(state.range(2));
  const auto make_router = [&] {
    auto router = MakeRouter(rule, instances, bytes);
    By decide = make_by(*router);
    ShowPrefixes(0, kWarmPrefixes, bytes, decide);
    return router;
  };
  const auto make_member = [&](Router& router, size_t thread) {
    return std::make_unique<Member<By>>(make_by(router), MostDecisions(instances), bytes,
                                        PrefixesOf(thread, threads, wanted, router, bytes));
  };
  // The last member works alone, on a router that no other thread has touched.
  const auto router = make_router();
  const auto own_router = make_router();
  std::vector<std::unique_ptr<Member<By>>> members;
  for (size_t thread = 0; thread < threads; ++thread) members.push_back(make_member(*router, thread));
  members.push_back(make_member(*own_router, 0));
  const Floors floors(instances, bytes);
  Team team(threads);
  std::vector<double> overlaps;
  Turns turns(state, kTimedBatches * members[0]->prompts.size(), {"alone", "bare", "bare_alone"});

  const auto work = [&](size_t number, auto decide) {
    Member<By>& member = *members[number];
    member.seconds = 0;
    for (int batch = 0; batch < kWarmUpBatches + kTimedBatches; ++batch) {
      const std::vector<std::string_view>& prompts = member.prompts.Next();
      const auto begin = std::chrono::steady_clock::now();
      for (const std::string_view prompt : prompts) benchmark::DoNotOptimize(decide(member, prompt));
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      if (batch >= kWarmUpBatches) member.seconds += seconds.count();
    }
  };
  const auto together = [&](auto decide) {
    for (int tries = 0; tries < 20; ++tries) {
      team.Run([&](size_t thread) { work(thread, decide); });
      if (team.Overlap() > 0.9) break;
    }
    overlaps.push_back(team.Overlap());
    double rate = 0;
    for (size_t thread = 0; thread < threads; ++thread) rate += 1 / members[thread]->seconds;
    turns.Record(static_cast<double>(threads) / rate);
  };
  const auto alone = [&](auto decide) {
    work(threads, decide);
    turns.Record(members[threads]->seconds);
  };
  const auto ask = [](Member<By>& member, std::string_view prompt) { return member.decide(prompt); };
  const auto bare = [&](Member<By>&, std::string_view prompt) { return floors.Decide(prompt); };
  while (turns.Next()) {
    together(ask);
    alone(ask);
    together(bare);
    alone(bare);
  }
  turns.Report();
  state.counters["overlap"] = Turns::Median(overlaps);
  const auto speedup = [&](const char* one, const char* all) {
    return static_cast<double>(threads) * state.counters[one] / state.counters[all];
  };
  state.counters["speedup"] = speedup("alone_ns", "ns");
  state.counters["bare_speedup"] = speedup("bare_alone_ns", "bare_ns");
}

void BM_RouteThreads(benchmark::State& state, Rule rule, Wanted wanted) {
  MeasureThreads(state, rule, wanted, [&](Router& router) { return ByRoute(router, state.range(0)); });
}
// With more in flight, strict mode would divert from the instances that the threads want.
void BM_AcquireFinishThreads(benchmark::State& state, Rule rule, Wanted wanted) {
  MeasureThreads(state, rule, wanted, [](Router& router) { return ByAcquire(router, 1); });
}

void Threads(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"instances", "bytes", "threads"})->UseManualTime();
  const int64_t most = std::max(2u, std::thread::hardware_concurrency());
  for (int64_t threads = 2; threads <= most; threads *= 2) {
    benchmark->Args({7, 2 << 10, threads})->Args({64, 2 << 10, threads});
  }
}

BENCHMARK_CAPTURE(BM_RouteThreads, strict, Rule::kStrict, Wanted::kDifferentInstances)->Apply(Threads);
BENCHMARK_CAPTURE(BM_RouteThreads, strict_same_instance, Rule::kStrict, Wanted::kSameInstance)->Apply(Threads);
BENCHMARK_CAPTURE(BM_RouteThreads, prefix_aware, Rule::kPrefixAware, Wanted::kDifferentInstances)->Apply(Threads);
BENCHMARK_CAPTURE(BM_RouteThreads, prefix_aware_same_instance, Rule::kPrefixAware, Wanted::kSameInstance)
    ->Apply(Threads);
BENCHMARK_CAPTURE(BM_AcquireFinishThreads, strict, Rule::kStrict, Wanted::kDifferentInstances)->Apply(Threads);
BENCHMARK_CAPTURE(BM_AcquireFinishThreads, strict_same_instance, Rule::kStrict, Wanted::kSameInstance)->Apply(Threads);
BENCHMARK_CAPTURE(BM_AcquireFinishThreads, prefix_aware, Rule::kPrefixAware, Wanted::kDifferentInstances)
    ->Apply(Threads);
BENCHMARK_CAPTURE(BM_AcquireFinishThreads, prefix_aware_same_instance, Rule::kPrefixAware, Wanted::kSameInstance)
    ->Apply(Threads);

}  // namespace
}  // namespace prefixroute
