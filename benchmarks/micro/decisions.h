// SPDX-License-Identifier: Apache-2.0
//
// What Route's and Acquire's benchmarks have in common.

#ifndef PREFIXROUTE_BENCHMARKS_MICRO_DECISIONS_H_
#define PREFIXROUTE_BENCHMARKS_MICRO_DECISIONS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/micro/allocations.h"
#include "benchmarks/micro/floors.h"
#include "benchmarks/micro/inputs.h"
#include "benchmarks/micro/turns.h"
#include "prefixroute/rendezvous.h"
#include "src/hash/hash.h"

namespace prefixroute {

inline constexpr uint64_t kWarmPrefixes = 1'000;

// How many decisions to time at once: few where each is long.
inline size_t MostDecisions(int64_t instances) { return 16 + static_cast<size_t>((1 << 18) / instances); }

// Fleets by size for a prompt of 2 KiB, and prompts by length for a small fleet and a large one.
inline void Sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"instances", "bytes"})->UseManualTime();
  for (const int64_t instances : {7, 64, 256, 1024, 4096, 10'000}) benchmark->Args({instances, 2 << 10});
  benchmark->Args({1, 2 << 10});
  for (const int64_t instances : {7, 1024}) {
    for (const int64_t bytes : {256, 32 << 10, 128 << 10}) benchmark->Args({instances, bytes});
  }
}
// Where the prompt isn't looked at.
inline void Fleets(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"instances", "bytes"})->UseManualTime();
  for (const int64_t instances : {1, 7, 64, 256, 1024, 4096, 10'000}) benchmark->Args({instances, 2 << 10});
}

// The least that a decision costs for an instance of the prefix's choice: the hash of the prompt, and a score for each
// instance; for one of the fleet's, the scores.
class Floors {
 public:
  explicit Floors(int64_t instances) {
    for (int64_t i = 0; i < instances; ++i) hashes_.push_back(MixBits(static_cast<uint64_t>(i) + 1));
  }

  void Time(Turns& turns, Prompts& prompts) const {
    Each(turns, prompts, [&](std::string_view prompt) {
      return GreatestScore(internal::HashBytes(prompt), hashes_.data(), hashes_.size());
    });
    Each(turns, prompts, [](std::string_view prompt) { return internal::HashBytes(prompt); });
    Each(turns, prompts, [](std::string_view prompt) { return ReadOnce(prompt); });
  }
  void TimeScores(Turns& turns, Prompts& prompts) const {
    uint64_t key = 0;
    Each(turns, prompts, [&](std::string_view) { return GreatestScore(++key, hashes_.data(), hashes_.size()); });
  }

 private:
  template <typename Floor>
  static void Each(Turns& turns, Prompts& prompts, Floor floor) {
    const std::vector<std::string_view>& batch = prompts.Next();
    turns.Time([&] {
      for (const std::string_view prompt : batch) benchmark::DoNotOptimize(floor(prompt));
    });
  }

  std::vector<uint64_t> hashes_;
};

// What was chosen: whether every request got an instance, and how evenly.
class Choices {
 public:
  explicit Choices(int64_t instances) : counts_(static_cast<size_t>(instances)) {}

  void Count(const std::vector<uint32_t>& chosen) {
    for (const uint32_t instance : chosen) {
      if (instance == kNoInstance) {
        ++refused_;
      } else {
        ++counts_[instance];
        ++all_;
      }
    }
  }

  // The counter "balance": the busiest instance's decisions, in the mean of all. Of too few it would say nothing.
  void Report(benchmark::State& state) const {
    if (refused_ != 0) return state.SkipWithError("a request was refused");
    if (all_ < 100 * counts_.size()) return;
    const uint64_t most = *std::max_element(counts_.begin(), counts_.end());
    state.counters["balance"] = static_cast<double>(most * counts_.size()) / static_cast<double>(all_);
  }

 private:
  std::vector<uint64_t> counts_;
  uint64_t all_ = 0;
  uint64_t refused_ = 0;
};

// Measures decide(prompt), which returns the chosen instance, for state.range(0) instances and prefixes of
// state.range(1) bytes.
template <typename Decide>
void MeasureDecisions(benchmark::State& state, bool looks_at_prompt, PrefixNumbers numbers, Decide decide) {
  const int64_t instances = state.range(0);
  Prompts prompts(static_cast<size_t>(state.range(1)), MostDecisions(instances), std::move(numbers));
  const Floors floors(instances);
  Choices choices(instances);
  std::vector<uint32_t> chosen(prompts.size());
  uint64_t allocations = 0;
  decide(prompts.Next()[0]);  // A thread's first call may allocate.
  Turns turns(state, prompts.size(),
              looks_at_prompt ? std::vector<std::string>{"floor", "hash", "read"} : std::vector<std::string>{"floor"});
  while (turns.Next()) {
    const std::vector<std::string_view>& batch = prompts.Next();
    turns.Time([&] {
      const uint64_t before = Allocations();
      for (size_t i = 0; i < batch.size(); ++i) chosen[i] = decide(batch[i]);
      allocations += Allocations() - before;
    });
    choices.Count(chosen);
    if (looks_at_prompt) {
      floors.Time(turns, prompts);
    } else {
      floors.TimeScores(turns, prompts);
    }
  }
  turns.Report();
  choices.Report(state);
  if (allocations != 0) state.SkipWithError("a decision allocated memory");
}

// Lets the router see every prefix that AnyOf(distinct) gives.
template <typename Decide>
void ShowPrefixes(uint64_t distinct, size_t prefix_bytes, Decide decide) {
  Prompts prompts(prefix_bytes, SIZE_MAX, [number = uint64_t{0}]() mutable { return number++; });
  for (uint64_t shown = 0; shown < distinct; shown += prompts.size()) {
    for (const std::string_view prompt : prompts.Next()) decide(prompt);
  }
}

}  // namespace prefixroute

#endif  // PREFIXROUTE_BENCHMARKS_MICRO_DECISIONS_H_
