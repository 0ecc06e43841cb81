// SPDX-License-Identifier: Apache-2.0
//
// One line on stderr that says how far a long run has come. Silent for the first seconds, so short runs print nothing.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_PROGRESS_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string_view>

namespace prefixroute::replay {

class Progress {
 public:
  enum class Mode { kOff, kRewriteLine, kNewLines };

  explicit Progress(Mode mode);
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of `total`; of unknown many where that is 0. Cheap: call it for every request.
  void Update(std::string_view task, uint64_t done, uint64_t total);

  // Takes the line away, before something else is printed.
  void Clear();

 private:
  Mode mode_;
  bool shown_ = false;
  uint32_t calls_ = 0;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_PROGRESS_H_
