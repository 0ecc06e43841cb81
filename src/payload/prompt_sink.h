// SPDX-License-Identifier: Apache-2.0
//
// Takes the bytes of a prompt and makes the key of them. Long pieces are hashed where they lie; short ones, such as lie
// between escapes, are gathered first, because each call of the hash costs as much as some hundred bytes.

#ifndef PREFIXROUTE_SRC_PAYLOAD_PROMPT_SINK_H_
#define PREFIXROUTE_SRC_PAYLOAD_PROMPT_SINK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "prefixroute/prefix_key.h"
#include "src/payload/kernels.h"

namespace prefixroute::internal {

class PromptSink {
 public:
  // From here on a piece isn't gathered.
  static constexpr size_t kLong = kLongRun;

  explicit PromptSink(uint64_t max_prefix_bytes) : empty_(max_prefix_bytes), hasher_(empty_) {}

  void Clear() {
    hasher_ = empty_;
    hashed_ = 0;
    gathered_ = 0;
  }

  void AddScope(std::string_view part) { hasher_.AddScope(part); }

  void Append(char byte) {
    if (gathered_ == buffer_.size()) Flush();
    buffer_[gathered_++] = byte;
  }

  void Append(std::string_view piece) {
    if (piece.size() >= kLong) {
      Flush();
      hashed_ += piece.size();
      return hasher_.Update(piece);
    }
    Room(kLong);
    std::memcpy(buffer_.data() + gathered_, piece.data(), piece.size());
    gathered_ += piece.size();
  }

  // For whoever writes at once what is to be appended: room for at least `bytes` (at most kMaxRoom) up to room_end();
  // Wrote(end) appends what is there then.
  static constexpr size_t kMaxRoom = 8 << 10;
  char* Room(size_t bytes) {
    if (buffer_.size() - gathered_ < bytes) Flush();
    return buffer_.data() + gathered_;
  }
  char* room_end() { return buffer_.data() + buffer_.size(); }
  void Wrote(const char* end) { gathered_ = static_cast<size_t>(end - buffer_.data()); }

  // True when further bytes can't change the key.
  bool full() const { return hasher_.full(); }
  // All that was appended, also what is beyond max_prefix_bytes.
  uint64_t bytes() const { return hashed_ + gathered_; }

  PrefixKey Key() {
    Flush();
    return hasher_.Key();
  }

 private:
  void Flush() {
    hasher_.Update(std::string_view(buffer_.data(), gathered_));
    hashed_ += gathered_;
    gathered_ = 0;
  }

  PrefixHasher empty_;
  PrefixHasher hasher_;
  uint64_t hashed_ = 0;
  size_t gathered_ = 0;
  std::array<char, 2 * kMaxRoom> buffer_;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_PAYLOAD_PROMPT_SINK_H_
