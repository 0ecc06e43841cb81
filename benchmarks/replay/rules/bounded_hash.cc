// SPDX-License-Identifier: Apache-2.0
//
// Consistent hashing with bounded loads (Mirrokni, Thorup, Zadimoghaddam: arXiv:1608.01350) of a fixed prefix: the
// first instance clockwise from the prefix's place on a ring that has, with the new request, no more than 1.25 times
// the mean outstanding, rounded up. What is hashed is the first 512 tokens, or the first user message of a chat: both
// are in use.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmarks/replay/rules/counting_rule.h"
#include "benchmarks/replay/rules/rules.h"
#include "prefixroute/prefix_key.h"
#include "prefixroute/rendezvous.h"

namespace prefixroute::replay {
namespace {

// As many places on the ring has an instance.
constexpr uint32_t kReplicas = 256;
constexpr uint64_t kHashedTokens = 512;

using KeyOf = uint64_t (*)(const Arrival& arrival, std::string* buffer);

uint64_t BlockKey(const Arrival& arrival, std::string* buffer) {
  return MakePrefixKey(arrival.trace.Prefix(arrival.request, kHashedTokens * kBytesPerToken, buffer)).value();
}

// From the first mark of a user's turn to the end of its message, in a JSON array of messages; "" where there is none.
std::string_view FirstUserMessage(std::string_view text) {
  if (text.empty() || text[0] != '[') return "";
  const size_t start = text.find(R"("role": "user")");
  if (start == std::string_view::npos) return "";
  size_t end = start;
  do {
    end = text.find(R"("})", end + 1);
  } while (end != std::string_view::npos && text[end - 1] == '\\');  // A quotation mark within the message.
  return text.substr(start, end - start);
}

uint64_t UserMessageKey(const Arrival& arrival, std::string* /*buffer*/) {
  return MakePrefixKey(FirstUserMessage(arrival.request.text)).value();
}

class BoundedHash : public CountingRule {
 public:
  BoundedHash(uint32_t max_outstanding, KeyOf key_of) : CountingRule(max_outstanding), key_of_(key_of) {}

  absl::Status SetInstances(absl::Span<const uint32_t> instances) override {
    instances_.assign(instances.begin(), instances.end());
    ring_.clear();
    for (const uint32_t instance : instances) {
      for (uint32_t replica = 0; replica < kReplicas; ++replica) {
        ring_.emplace_back(MixBits((uint64_t{instance} << 32 | replica) + 1), instance);
      }
    }
    std::sort(ring_.begin(), ring_.end());
    return CountingRule::SetInstances(instances);
  }

 protected:
  Placement Choose(const Arrival& arrival, absl::Span<const uint32_t> eligible) override {
    uint64_t total = 1;
    for (const uint32_t instance : instances_) total += outstanding(instance);
    // Exactly ceil(1.25 * total / instances).
    const uint64_t bound = (5 * total + 4 * instances_.size() - 1) / (4 * instances_.size());
    const uint64_t key = MixBits(key_of_(arrival, &buffer_));
    const size_t start = static_cast<size_t>(
        std::lower_bound(ring_.begin(), ring_.end(), std::pair<uint64_t, uint32_t>(key, 0)) - ring_.begin());
    const uint32_t home = ring_[start % ring_.size()].second;
    for (size_t i = 0; i < ring_.size(); ++i) {
      const uint32_t instance = ring_[(start + i) % ring_.size()].second;
      if (outstanding(instance) < bound && std::binary_search(eligible.begin(), eligible.end(), instance)) {
        return {instance, instance != home};
      }
    }
    // All that are below this bound are at their hard one.
    const auto load = [this](uint32_t instance) { return outstanding(instance); };
    return {Least(eligible, arrival.random, load), true};
  }

 private:
  KeyOf key_of_;
  std::vector<uint32_t> instances_;
  std::vector<std::pair<uint64_t, uint32_t>> ring_;  // Place and instance, in the order of places.
  std::string buffer_;
};

}  // namespace

std::unique_ptr<Rule> MakeBoundedHashOfBlock(const RuleContext& context) {
  return std::make_unique<BoundedHash>(context.max_outstanding, BlockKey);
}

std::unique_ptr<Rule> MakeBoundedHashOfUserMessage(const RuleContext& context) {
  return std::make_unique<BoundedHash>(context.max_outstanding, UserMessageKey);
}

bool HasUserMessage(const TraceRequest& request) { return !FirstUserMessage(request.text).empty(); }

}  // namespace prefixroute::replay
