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

// The least that a decision costs for an instance of the prefix's choice: the hash of the prefix, and a score for each
// instance; for one of the fleet's, the scores.
class Floors {
 public:
  Floors(int64_t instances, int64_t prefix_bytes) : prefix_bytes_(static_cast<size_t>(prefix_bytes)) {
    for (int64_t i = 0; i < instances; ++i) hashes_.push_back(MixBits(static_cast<uint64_t>(i) + 1));
  }

  uint64_t Hash(std::string_view prompt) const { return internal::HashBytes(prompt.substr(0, prefix_bytes_)); }
  uint64_t Decide(std::string_view prompt) const { return GreatestScore(Hash(prompt), hashes_.data(), hashes_.size()); }

  void Time(Turns& turns, Prompts& prompts) const {
    Each(turns, prompts, [&](std::string_view prompt) { return Decide(prompt); });
    Each(turns, prompts, [&](std::string_view prompt) { return Hash(prompt); });
    Each(turns, prompts, [&](std::string_view prompt) { return ReadOnce(prompt.substr(0, prefix_bytes_)); });
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

  size_t prefix_bytes_;
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

// Lets the router see the prefixes of the numbers from `begin` to `end` at least; from 0, all that AnyOf(end) gives.
template <typename Decide>
void ShowPrefixes(uint64_t begin, uint64_t end, int64_t prefix_bytes, Decide& decide) {
  Prompts prompts(static_cast<size_t>(prefix_bytes), SIZE_MAX, [begin]() mutable { return begin++; });
  for (uint64_t shown = begin; shown < end; shown += prompts.size()) {
    for (const std::string_view prompt : prompts.Next()) decide(prompt);
  }
}

// Times a batch of decisions, and counts what they chose. Returns how often memory was allocated.
template <typename Decide>
uint64_t TimeDecisions(Turns& turns, Prompts& prompts, Decide& decide, Choices& choices) {
  const std::vector<std::string_view>& batch = prompts.Next();
  std::vector<uint32_t> chosen(batch.size());
  uint64_t allocations = 0;
  turns.Time([&] {
    const uint64_t before = Allocations();
    for (size_t i = 0; i < batch.size(); ++i) chosen[i] = decide(batch[i]);
    allocations = Allocations() - before;
  });
  choices.Count(chosen);
  return allocations;
}

// Measures decide(prompt) for state.range(0) instances and prefixes of state.range(1) bytes.
template <typename Decide>
void MeasureDecisions(benchmark::State& state, Rule rule, PrefixNumbers numbers, Decide& decide) {
  const int64_t instances = state.range(0);
  const bool looks_at_prompt = rule == Rule::kStrict || rule == Rule::kPrefixAware;
  Prompts prompts(static_cast<size_t>(state.range(1)), MostDecisions(instances), std::move(numbers));
  const Floors floors(instances, state.range(1));
  Choices choices(instances);
  uint64_t allocations = 0;
  Turns turns(state, prompts.size(),
              looks_at_prompt ? std::vector<std::string>{"floor", "hash", "read"} : std::vector<std::string>{"floor"});
  while (turns.Next()) {
    allocations += TimeDecisions(turns, prompts, decide, choices);
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

// The prefixes are known to the router: each was seen before.
template <typename Decide>
void MeasureWarm(benchmark::State& state, Rule rule, Decide decide) {
  ShowPrefixes(0, kWarmPrefixes, state.range(1), decide);
  MeasureDecisions(state, rule, AnyOf(kWarmPrefixes), decide);
}
// It knows none of them.
template <typename Decide>
void MeasureCold(benchmark::State& state, Rule rule, Decide decide) {
  decide("some other prompt");  // A thread's first call may allocate.
  MeasureDecisions(state, rule, NeverSeenBefore(), decide);
}

}  // namespace prefixroute

#endif  // PREFIXROUTE_BENCHMARKS_MICRO_DECISIONS_H_
