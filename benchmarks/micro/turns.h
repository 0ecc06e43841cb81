// SPDX-License-Identifier: Apache-2.0
//
// Times an operation and its floors in turns, so that whatever else the machine does hits them alike. Means and minima
// of separate runs would compare the machine's moods; the median of what was timed within microseconds doesn't.

#ifndef PREFIXROUTE_BENCHMARKS_MICRO_TURNS_H_
#define PREFIXROUTE_BENCHMARKS_MICRO_TURNS_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"

namespace prefixroute {

// Of a benchmark with UseManualTime:
//
//   Turns turns(state, calls, {"hash", "read"});
//   while (turns.Next()) {
//     turns.Time([&] { /* `calls` calls of the operation */ });
//     turns.Time([&] { /* of the first floor */ });
//     turns.Time([&] { /* of the second */ });
//   }
//   turns.Report();
//
// The counters, medians all: ns, a call of the operation; hash_ns and read_ns, of the floors; ratio, to the first
// floor, round by round; ratio_read, to the second.
class Turns {
 public:
  Turns(benchmark::State& state, size_t calls, std::vector<std::string> floors)
      : state_(state), calls_(calls), floors_(std::move(floors)), turn_(floors_.size() + 1), ns_(turn_) {}

  // Whether there is another round.
  bool Next() {
    if (turn_ != ns_.size()) state_.SkipWithError("a turn was left out");
    turn_ = 0;
    return state_.KeepRunningBatch(static_cast<benchmark::IterationCount>(calls_));
  }

  template <typename Work>
  void Time(Work work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    Record(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  // In place of Time(), where the turn was timed elsewhere.
  void Record(double seconds) {
    if (turn_ == 0) state_.SetIterationTime(seconds);
    ns_[turn_++].push_back(seconds * 1e9 / static_cast<double>(calls_));
  }

  void Report() {
    if (ns_[0].empty()) return;
    state_.counters["ns"] = Median(ns_[0]);
    for (size_t floor = 0; floor < floors_.size(); ++floor) {
      std::vector<double> ratios;
      for (size_t round = 0; round < ns_[0].size(); ++round) ratios.push_back(ns_[0][round] / ns_[floor + 1][round]);
      state_.counters[floors_[floor] + "_ns"] = Median(ns_[floor + 1]);
      state_.counters[floor == 0 ? "ratio" : "ratio_" + floors_[floor]] = Median(std::move(ratios));
    }
  }

  static double Median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

 private:
  benchmark::State& state_;
  size_t calls_;
  std::vector<std::string> floors_;
  size_t turn_;
  std::vector<std::vector<double>> ns_;  // Of the operation and of each floor, by round.
};

}  // namespace prefixroute

#endif  // PREFIXROUTE_BENCHMARKS_MICRO_TURNS_H_
