// SPDX-License-Identifier: Apache-2.0
//
// Fleets, options and prompts for benchmarks.

#ifndef PREFIXROUTE_BENCHMARKS_MICRO_INPUTS_H_
#define PREFIXROUTE_BENCHMARKS_MICRO_INPUTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/micro/floors.h"
#include "prefixroute/instance.h"
#include "prefixroute/rendezvous.h"
#include "prefixroute/router.h"

namespace prefixroute {

enum class Weights { kEqual, kThreeClasses, kAllDifferent };

inline std::vector<Instance> BenchmarkFleet(int64_t size, Weights weights = Weights::kEqual) {
  std::vector<Instance> instances;
  for (int64_t i = 0; i < size; ++i) {
    Instance instance{"10.0.0." + std::to_string(i) + ":8000"};
    if (weights == Weights::kThreeClasses) instance.weight = 1 + static_cast<double>(i % 3);
    if (weights == Weights::kAllDifferent) instance.weight = 1 + static_cast<double>(i) / 1000;
    instances.push_back(std::move(instance));
  }
  return instances;
}

enum class Rule { kRandom, kLeastOutstanding, kStrict, kPrefixAware };

// In strict mode the prefix counts and the tail doesn't; else all of the prompt.
inline RouterOptions OptionsFor(Rule rule, int64_t instances, int64_t prefix_bytes) {
  RouterOptions options;
  if (rule == Rule::kRandom) options.strategy = Strategy::kRandom;
  if (rule == Rule::kLeastOutstanding) options.strategy = Strategy::kLeastOutstandingRequests;
  if (rule == Rule::kStrict) options.strict_prefix_bytes = static_cast<uint64_t>(prefix_bytes);
  options.max_instances = std::max(options.max_instances, static_cast<uint32_t>(instances));
  return options;
}

inline std::unique_ptr<Router> MakeRouter(Rule rule, int64_t instances, int64_t prefix_bytes,
                                          Weights weights = Weights::kEqual) {
  return *Router::Create(OptionsFor(rule, instances, prefix_bytes), BenchmarkFleet(instances, weights));
}

// Which of all prefixes the next prompt has, by number.
using PrefixNumbers = std::function<uint64_t()>;

// One of `distinct`, at random, each as often as the others.
inline PrefixNumbers AnyOf(uint64_t distinct) {
  return [distinct, draw = uint64_t{0}]() mutable { return MixBits(++draw) % distinct; };
}
// Never the same, nor any that AnyOf gives.
inline PrefixNumbers NeverSeenBefore() {
  return [number = uint64_t{1} << 40]() mutable { return ++number; };
}

// Prompts as they come from sockets: each in one piece, in the L2 cache, aligned as malloc aligns. A prompt is a
// prefix, all of whose depths differ from those of other numbers, and a tail that no other has.
class Prompts {
 public:
  static constexpr size_t kTailBytes = 60;

  // Up to `most` at a time; fewer where they would not fit the cache. `tail_bytes` is 0 or at least 8.
  Prompts(size_t prefix_bytes, size_t most, PrefixNumbers numbers, size_t tail_bytes = kTailBytes)
      : numbers_(std::move(numbers)), tail_bytes_(tail_bytes) {
    const size_t stride = (prefix_bytes + tail_bytes + 31) / 16 * 16;
    const size_t count = std::clamp<size_t>((kCacheBytes + prefix_bytes) / stride, 1, most);
    bytes_.resize(stride * count + 16);
    const size_t begin = 16 - reinterpret_cast<uintptr_t>(bytes_.data()) % 16;
    for (size_t i = 0; i < count; ++i) {
      // Everywhere the same, or one number would be many prefixes.
      for (size_t byte = 0; byte < prefix_bytes + tail_bytes; ++byte) {
        bytes_[begin + i * stride + byte] = static_cast<char>(MixBits(byte + 1));
      }
      prompts_.push_back(std::string_view(bytes_).substr(begin + i * stride, prefix_bytes + tail_bytes));
    }
  }
  Prompts(const Prompts&) = delete;
  Prompts& operator=(const Prompts&) = delete;

  size_t size() const { return prompts_.size(); }

  const std::vector<std::string_view>& current() const { return prompts_; }

  // The next size() prompts, in place of those before.
  const std::vector<std::string_view>& Next() {
    for (const std::string_view prompt : prompts_) {
      char* const begin = bytes_.data() + (prompt.data() - bytes_.data());
      const uint64_t head = MixBits(numbers_() + 1);
      std::memcpy(begin, &head, sizeof(head));
      if (tail_bytes_ != 0) std::memcpy(begin + prompt.size() - tail_bytes_, &++tails_, sizeof(tails_));
      benchmark::DoNotOptimize(ReadOnce(prompt));
    }
    return prompts_;
  }

 private:
  static constexpr size_t kCacheBytes = 256 << 10;

  PrefixNumbers numbers_;
  size_t tail_bytes_;
  std::string bytes_;
  std::vector<std::string_view> prompts_;
  uint64_t tails_ = 0;
};

}  // namespace prefixroute

#endif  // PREFIXROUTE_BENCHMARKS_MICRO_INPUTS_H_
