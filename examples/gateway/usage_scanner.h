// SPDX-License-Identifier: Apache-2.0
//
// Reads from an answer as it passes, JSON or a stream of server-sent events, how many tokens of the prompt the engine
// found cached. Looks at each byte once, and keeps a few dozen.

#ifndef PREFIXROUTE_EXAMPLES_GATEWAY_USAGE_SCANNER_H_
#define PREFIXROUTE_EXAMPLES_GATEWAY_USAGE_SCANNER_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace gateway {

struct Usage {
  uint64_t prompt_tokens;
  uint64_t cached_tokens;
};

class UsageScanner {
 public:
  // The next piece of the answer's body, however it is cut.
  void Scan(std::string_view piece);

  // What the "usage" objects have said, the later ones before the earlier; none, where they don't tell both numbers.
  // OpenAI's prompt_tokens and input_tokens include what was cached; Anthropic's input_tokens don't, and go with
  // cache_read_input_tokens and cache_creation_input_tokens.
  std::optional<Usage> usage() const;

 private:
  enum class State { kOutside, kString, kEscape, kAfterString, kAfterColon, kNumber };
  enum class Key { kOther, kUsage, kPromptTokens, kInputTokens, kCachedTokens, kCacheRead, kCacheCreation };

  void Step(char c);
  void StepOutside(char c);
  static Key KeyOf(std::string_view name);
  std::optional<uint64_t>& value(Key key) { return values_[static_cast<size_t>(key)]; }
  const std::optional<uint64_t>& value(Key key) const { return values_[static_cast<size_t>(key)]; }

  State state_ = State::kOutside;
  Key key_ = Key::kOther;
  char name_[32];
  size_t name_size_ = 0;  // One more than there is room for: too long to be one of ours.
  uint64_t number_ = 0;
  uint32_t depth_ = 0;        // Of objects.
  uint32_t usage_depth_ = 0;  // Of the "usage" object that we are in; 0: in none.
  std::optional<uint64_t> values_[static_cast<size_t>(Key::kCacheCreation) + 1];
};

}  // namespace gateway

#endif  // PREFIXROUTE_EXAMPLES_GATEWAY_USAGE_SCANNER_H_
