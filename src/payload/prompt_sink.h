// SPDX-License-Identifier: Apache-2.0
//
// Takes the bytes of a prompt and makes the key of them. Long pieces are hashed where they lie; short ones, such as lie
// between escapes, are gathered first, because each call of the hash costs as much as some hundred bytes.

#ifndef PREFIXROUTE_SRC_PAYLOAD_PROMPT_SINK_H_
#define PREFIXROUTE_SRC_PAYLOAD_PROMPT_SINK_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "prefixroute/prefix_key.h"

namespace prefixroute::internal {

class PromptSink {
 public:
  explicit PromptSink(uint64_t max_prefix_bytes) : empty_(max_prefix_bytes), hasher_(empty_) {}

  void Clear() {
    hasher_ = empty_;
    bytes_ = 0;
    gathered_ = 0;
  }

  void AddScope(std::string_view part) { hasher_.AddScope(part); }

  void Append(char byte) {
    ++bytes_;
    if (gathered_ == buffer_.size()) Flush();
    buffer_[gathered_++] = byte;
  }

  void Append(std::string_view piece) {
    bytes_ += piece.size();
    if (piece.size() > buffer_.size() - gathered_ || piece.size() >= kLong) {
      Flush();
      if (piece.size() >= kLong) return hasher_.Update(piece);
    }
    std::memcpy(buffer_.data() + gathered_, piece.data(), piece.size());
    gathered_ += piece.size();
  }

  // True when further bytes can't change the key.
  bool full() const { return hasher_.full(); }
  // All that was appended, also what is beyond max_prefix_bytes.
  uint64_t bytes() const { return bytes_; }

  PrefixKey Key() {
    Flush();
    return hasher_.Key();
  }

 private:
  static constexpr size_t kLong = 512;

  void Flush() {
    hasher_.Update(std::string_view(buffer_.data(), gathered_));
    gathered_ = 0;
  }

  PrefixHasher empty_;
  PrefixHasher hasher_;
  uint64_t bytes_ = 0;
  size_t gathered_ = 0;
  std::array<char, 16 << 10> buffer_;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_PAYLOAD_PROMPT_SINK_H_
