// SPDX-License-Identifier: Apache-2.0
//
// Decisions while another thread changes the membership about each millisecond, in turns with decisions while nobody
// does. A turn is of milliseconds, so that it has some changes.

#include <atomic>
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

constexpr auto kTurn = std::chrono::milliseconds(5);

// Replaces the last instance by another, and that by it, and so on; all the time, or not at all.
class Churn {
 public:
  Churn(Router& router, int64_t instances) : router_(router), fleets_{BenchmarkFleet(instances), {}} {
    fleets_[1] = fleets_[0];
    fleets_[1].back().id = "another";
    thread_ = std::thread([this] { Serve(); });
  }
  ~Churn() {
    end_ = true;
    thread_.join();
  }
  Churn(const Churn&) = delete;
  Churn& operator=(const Churn&) = delete;

  // Returns when a change that is under way has ended.
  void Set(bool on) {
    on_ = on;
    while (changing_) std::this_thread::yield();
  }
  uint64_t changes() const { return changes_; }
  bool failed() const { return failed_; }

 private:
  void Serve() {
    const OnProcessor processor(1);
    while (!end_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      changing_ = true;
      if (on_) {
        ++changes_;
        if (!router_.SetInstances(fleets_[changes_ % 2]).ok()) failed_ = true;
      }
      changing_ = false;
    }
  }

  Router& router_;
  std::vector<Instance> fleets_[2];
  std::atomic<uint64_t> changes_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> on_{false};
  std::atomic<bool> changing_{false};
  std::atomic<bool> end_{false};
  std::thread thread_;
};

template <typename By>
void MeasureChurn(benchmark::State& state, Rule rule) {
  using Clock = std::chrono::steady_clock;
  const int64_t instances = state.range(0);
  const int64_t bytes = state.range(1);
  const OnProcessor processor(0);
  const auto router = MakeRouter(rule, instances, bytes);
  By decide(*router, instances);
  ShowPrefixes(0, kWarmPrefixes, bytes, decide);
  Prompts prompts(static_cast<size_t>(bytes), MostDecisions(instances), AnyOf(kWarmPrefixes));
  uint64_t refused = 0;
  Churn churn(*router, instances);
  // A turn's calls are as many as it lasts, so it is the mean call of each that is recorded.
  Turns turns(state, 1, {"calm"});
  const auto turn = [&](bool on) {
    churn.Set(on);
    Clock::duration spent{};
    uint64_t calls = 0;
    for (const Clock::time_point begin = Clock::now(); Clock::now() - begin < kTurn; calls += prompts.size()) {
      const std::vector<std::string_view>& batch = prompts.Next();
      const Clock::time_point before = Clock::now();
      for (const std::string_view prompt : batch) refused += decide(prompt) == kNoInstance ? 1 : 0;
      spent += Clock::now() - before;
    }
    turns.Record(std::chrono::duration<double>(spent).count() / static_cast<double>(calls));
  };
  while (turns.Next()) {
    turn(true);
    turn(false);
  }
  turns.Report();
  state.counters["changes"] = static_cast<double>(churn.changes());
  if (refused != 0 || churn.failed()) state.SkipWithError("a request or a change was refused");
}

void BM_RouteChurn(benchmark::State& state, Rule rule) { MeasureChurn<ByRoute>(state, rule); }
void BM_AcquireFinishChurn(benchmark::State& state, Rule rule) { MeasureChurn<ByAcquire>(state, rule); }

void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"instances", "bytes"})->ArgsProduct({{7, 1024}, {2 << 10}})->UseManualTime()->Iterations(20);
}

BENCHMARK_CAPTURE(BM_RouteChurn, strict, Rule::kStrict)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_RouteChurn, prefix_aware, Rule::kPrefixAware)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_AcquireFinishChurn, strict, Rule::kStrict)->Apply(Sizes);
BENCHMARK_CAPTURE(BM_AcquireFinishChurn, prefix_aware, Rule::kPrefixAware)->Apply(Sizes);

}  // namespace
}  // namespace prefixroute
