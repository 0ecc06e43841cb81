// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/progress.h"

#include <cstdio>

#include "absl/strings/str_format.h"

namespace prefixroute::replay {
namespace {

constexpr std::chrono::milliseconds kSilence(2000);
constexpr std::chrono::milliseconds kRewriteInterval(200);
constexpr std::chrono::milliseconds kNewLineInterval(2000);
constexpr uint32_t kCallsPerClock = 64;

}  // namespace

Progress::Progress(Mode mode) : mode_(mode), next_(std::chrono::steady_clock::now() + kSilence) {}

void Progress::Update(std::string_view task, uint64_t done, uint64_t total) {
  if (mode_ == Mode::kOff || ++calls_ % kCallsPerClock != 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + (mode_ == Mode::kRewriteLine ? kRewriteInterval : kNewLineInterval);
  const std::string state = total == 0 ? absl::StrFormat("%s: %d requests", task, done)
                                       : absl::StrFormat("%s: %d of %d requests", task, done, total);
  if (mode_ == Mode::kRewriteLine) {
    absl::FPrintF(stderr, "\r%s\033[K", state);
  } else {
    absl::FPrintF(stderr, "%s\n", state);
  }
  shown_ = true;
}

void Progress::Clear() {
  if (shown_ && mode_ == Mode::kRewriteLine) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

}  // namespace prefixroute::replay
