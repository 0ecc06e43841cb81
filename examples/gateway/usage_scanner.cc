// SPDX-License-Identifier: Apache-2.0

#include "usage_scanner.h"

namespace gateway {

void UsageScanner::Scan(std::string_view piece) {
  while (!piece.empty()) {
    // Mostly we are in a long string: skip what is plain there.
    if (state_ == State::kString && name_size_ > sizeof name_) {
      const size_t next = piece.find_first_of("\"\\\n");
      if (next == std::string_view::npos) return;
      piece.remove_prefix(next);
    }
    Step(piece.front());
    piece.remove_prefix(1);
  }
}

void UsageScanner::Step(char c) {
  switch (state_) {
    case State::kOutside:
      return StepOutside(c);
    case State::kString:
      if (c == '"') {
        state_ = State::kAfterString;
      } else if (c == '\\') {
        state_ = State::kEscape;
        name_size_ = sizeof name_ + 1;
      } else if (c == '\n') {
        state_ = State::kOutside;  // No JSON string goes on there.
      } else if (name_size_ < sizeof name_) {
        name_[name_size_++] = c;
      } else {
        name_size_ = sizeof name_ + 1;
      }
      return;
    case State::kEscape:
      state_ = State::kString;
      return;
    case State::kAfterString:
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') return;
      if (c == ':') {
        key_ = name_size_ > sizeof name_ ? Key::kOther : KeyOf({name_, name_size_});
        state_ = State::kAfterColon;
        return;
      }
      return StepOutside(c);
    case State::kAfterColon:
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') return;
      if (c >= '0' && c <= '9' && key_ != Key::kOther && usage_depth_ != 0) {
        number_ = static_cast<uint64_t>(c - '0');
        state_ = State::kNumber;
        return;
      }
      if (c == '{' && key_ == Key::kUsage) usage_depth_ = depth_ + 1;
      return StepOutside(c);
    case State::kNumber:
      constexpr uint64_t kMost = uint64_t{1} << 50;
      if (c >= '0' && c <= '9') {
        if (number_ < kMost) number_ = number_ * 10 + static_cast<uint64_t>(c - '0');
        return;
      }
      value(key_) = number_;
      return StepOutside(c);
  }
}

void UsageScanner::StepOutside(char c) {
  state_ = State::kOutside;
  if (c == '"') {
    state_ = State::kString;
    name_size_ = 0;
  } else if (c == '{') {
    ++depth_;
  } else if (c == '}' && depth_ > 0) {
    if (depth_ == usage_depth_) usage_depth_ = 0;
    --depth_;
  }
}

UsageScanner::Key UsageScanner::KeyOf(std::string_view name) {
  if (name == "usage") return Key::kUsage;
  if (name == "prompt_tokens") return Key::kPromptTokens;
  if (name == "input_tokens") return Key::kInputTokens;
  if (name == "cached_tokens") return Key::kCachedTokens;
  if (name == "cache_read_input_tokens") return Key::kCacheRead;
  if (name == "cache_creation_input_tokens") return Key::kCacheCreation;
  return Key::kOther;
}

std::optional<Usage> UsageScanner::usage() const {
  const std::optional<uint64_t>& input = value(Key::kInputTokens);
  if (value(Key::kCacheRead) && input) {
    const uint64_t read = *value(Key::kCacheRead);
    return Usage{*input + read + value(Key::kCacheCreation).value_or(0), read};
  }
  const std::optional<uint64_t>& prompt = value(Key::kPromptTokens) ? value(Key::kPromptTokens) : input;
  if (value(Key::kCachedTokens) && prompt) return Usage{*prompt, *value(Key::kCachedTokens)};
  return std::nullopt;
}

}  // namespace gateway
