// SPDX-License-Identifier: Apache-2.0
//
// Fleets and prompts for benchmarks.

#ifndef PREFIXROUTE_BENCHMARKS_MICRO_INPUTS_H_
#define PREFIXROUTE_BENCHMARKS_MICRO_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "prefixroute/instance.h"
#include "prefixroute/rendezvous.h"
#include "prefixroute/router.h"

namespace prefixroute {

inline std::vector<Instance> BenchmarkFleet(int64_t size) {
  std::vector<Instance> instances;
  for (int64_t i = 0; i < size; ++i) {
    instances.push_back({"10.0.0." + std::to_string(i) + ":8000"});
  }
  return instances;
}

// Every byte of a prompt counts, so that its length can be varied.
inline RouterOptions WholePrompts(Strategy strategy = Strategy::kPrefixAware) {
  RouterOptions options;
  options.strategy = strategy;
  options.max_prefix_bytes = kMaxMaxPrefixBytes;
  return options;
}
// PREFIX_AWARE in strict mode.
inline RouterOptions StrictWholePrompts() {
  RouterOptions options;
  options.strict_prefix_bytes = kMaxMaxPrefixBytes;
  return options;
}

// Prompts of one length that all differ from the first bytes on. They overlap in memory, so that even long ones stay in
// the cache, as a prompt that has just been received does.
class Prompts {
 public:
  explicit Prompts(int64_t length) : length_(static_cast<size_t>(length)), bytes_(length_ + kCount * kStep, '\0') {
    for (size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<char>(MixBits(i + 1));
  }

  std::string_view Next() {
    next_ = (next_ + 1) % kCount;
    return std::string_view(bytes_).substr(next_ * kStep, length_);
  }

 private:
  static constexpr size_t kCount = 64;
  static constexpr size_t kStep = 61;

  size_t length_;
  std::string bytes_;
  size_t next_ = 0;
};

}  // namespace prefixroute

#endif  // PREFIXROUTE_BENCHMARKS_MICRO_INPUTS_H_
