// SPDX-License-Identifier: Apache-2.0
//
// 64 bytes at a time: which of them are this or that, as bits of a word, the first byte's being the lowest.

#ifndef PREFIXROUTE_SRC_PAYLOAD_BLOCK_H_
#define PREFIXROUTE_SRC_PAYLOAD_BLOCK_H_

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace prefixroute::internal {

#if defined(__SSE2__)

class ByteBlock {
 public:
  static constexpr size_t kBytes = 64;

  explicit ByteBlock(const char* bytes) {
    for (size_t i = 0; i < kParts; ++i) parts_[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i);
  }

  void CopyTo(char* bytes) const {
    for (size_t i = 0; i < kParts; ++i) _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes) + i, parts_[i]);
  }

  uint64_t Equal(char byte) const {
    uint64_t bits = 0;
    for (size_t i = 0; i < kParts; ++i) {
      const auto mask = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(parts_[i], _mm_set1_epi8(byte))));
      bits |= uint64_t{mask} << (16 * i);
    }
    return bits;
  }

  // Makes capital letters small, '[' to '{' and ']' to '}', and the like: sets the bit 0x20 of each byte.
  void Lower() {
    for (__m128i& part : parts_) part = _mm_or_si128(part, _mm_set1_epi8(0x20));
  }

 private:
  static constexpr size_t kParts = kBytes / sizeof(__m128i);

  __m128i parts_[kParts];
};

#else

class ByteBlock {
 public:
  static constexpr size_t kBytes = 64;

  explicit ByteBlock(const char* bytes) {
    for (size_t i = 0; i < kBytes; ++i) bytes_[i] = bytes[i];
  }

  void CopyTo(char* bytes) const {
    for (size_t i = 0; i < kBytes; ++i) bytes[i] = bytes_[i];
  }

  uint64_t Equal(char byte) const {
    uint64_t bits = 0;
    for (size_t i = 0; i < kBytes; ++i) bits |= uint64_t{bytes_[i] == byte} << i;
    return bits;
  }

  void Lower() {
    for (char& byte : bytes_) byte = static_cast<char>(byte | 0x20);
  }

 private:
  char bytes_[kBytes];
};

#endif

// Of the bytes of a string, block by block: which of them a backslash stands before and makes another thing.
class EscapeFinder {
 public:
  // `backslashes` of the next block. As simdjson does it: runs of backslashes that begin at an odd place are told from
  // those at an even one by the carry of an addition.
  uint64_t Escaped(uint64_t backslashes) {
    constexpr uint64_t kEven = 0x5555555555555555;
    if (backslashes == 0) {
      const uint64_t escaped = carry_;
      carry_ = 0;
      return escaped;
    }
    backslashes &= ~carry_;
    const uint64_t behind = backslashes << 1 | carry_;
    const uint64_t odd_begins = backslashes & ~kEven & ~behind;
    uint64_t run_ends;
    carry_ = __builtin_add_overflow(odd_begins, backslashes, &run_ends) ? 1 : 0;
    return (kEven ^ run_ends << 1) & behind;
  }

 private:
  uint64_t carry_ = 0;  // 1: the next block's first byte is escaped.
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_PAYLOAD_BLOCK_H_
