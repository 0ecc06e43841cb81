// SPDX-License-Identifier: Apache-2.0
//
// What a JSON string says: its bytes without escapes. A surrogate without its other half becomes three bytes, as if it
// were a character.

#ifndef PREFIXROUTE_SRC_PAYLOAD_TEXT_H_
#define PREFIXROUTE_SRC_PAYLOAD_TEXT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/payload/scan.h"

namespace prefixroute::internal {

enum class Escape : uint8_t {
  kDone,
  kCut,        // More bytes are needed to know.
  kMalformed,  // None that JSON has.
};

// Of each byte: its value as a hexadecimal digit, negative if it is none.
inline constexpr std::array<int8_t, 256> kHexValues = [] {
  std::array<int8_t, 256> values{};
  for (int8_t& value : values) value = -1;
  for (int digit = 0; digit < 10; ++digit) values['0' + digit] = static_cast<int8_t>(digit);
  for (int digit = 10; digit < 16; ++digit) {
    values['a' + digit - 10] = static_cast<int8_t>(digit);
    values['A' + digit - 10] = static_cast<int8_t>(digit);
  }
  return values;
}();

// Of each byte: what it says behind a backslash; 0 if nothing (u aside).
inline constexpr std::array<char, 256> kSimpleEscapes = [] {
  std::array<char, 256> escapes{};
  escapes['"'] = '"';
  escapes['\\'] = '\\';
  escapes['/'] = '/';
  escapes['b'] = '\b';
  escapes['f'] = '\f';
  escapes['n'] = '\n';
  escapes['r'] = '\r';
  escapes['t'] = '\t';
  return escapes;
}();

// The code unit of the four digits at `at`; negative if they are none.
inline int32_t HexDigits(const char* at) {
  const auto value = [at](size_t i) -> int32_t { return kHexValues[static_cast<unsigned char>(at[i])]; };
  const int32_t a = value(0);
  const int32_t b = value(1);
  const int32_t c = value(2);
  const int32_t d = value(3);
  // A negative one makes the whole negative.
  return a * 4096 | b * 256 | c * 16 | d;
}

// Decodes the escape whose backslash is at `at`: moves `at` behind it, and `out` behind the 1 to 4 bytes that it says.
// Only if it returns kDone. `end`: at or behind the string's closing quote.
inline Escape DecodeEscape(const char*& at, const char* end, char*& out) {
  if (end - at < 2) return Escape::kCut;
  const char simple = kSimpleEscapes[static_cast<unsigned char>(at[1])];
  if (simple != 0) {
    *out++ = simple;
    at += 2;
    return Escape::kDone;
  }
  if (at[1] != 'u') return Escape::kMalformed;
  if (end - at < 6) return Escape::kCut;
  const int32_t unit = HexDigits(at + 2);
  if (unit < 0) return Escape::kMalformed;
  auto code = static_cast<uint32_t>(unit);
  if (code < 0x80) {
    *out++ = static_cast<char>(code);
    at += 6;
    return Escape::kDone;
  }
  if (code < 0x800) {
    *out++ = static_cast<char>(0xc0 | code >> 6);
    *out++ = static_cast<char>(0x80 | (code & 0x3f));
    at += 6;
    return Escape::kDone;
  }
  if (code >> 10 == 0xd800 >> 10) {
    constexpr std::string_view kAnother = "\\u";
    const std::string_view next = std::string_view(at + 6, static_cast<size_t>(end - at - 6)).substr(0, 2);
    if (next == kAnother.substr(0, next.size())) {
      if (end - at < 12) return Escape::kCut;
      const int32_t low = HexDigits(at + 8);
      if (low >> 10 == 0xdc00 >> 10) {
        code = 0x10000 + ((code & 0x3ff) << 10) + (static_cast<uint32_t>(low) & 0x3ff);
        *out++ = static_cast<char>(0xf0 | code >> 18);
        *out++ = static_cast<char>(0x80 | (code >> 12 & 0x3f));
        *out++ = static_cast<char>(0x80 | (code >> 6 & 0x3f));
        *out++ = static_cast<char>(0x80 | (code & 0x3f));
        at += 12;
        return Escape::kDone;
      }
    }
  }
  *out++ = static_cast<char>(0xe0 | code >> 12);
  *out++ = static_cast<char>(0x80 | (code >> 6 & 0x3f));
  *out++ = static_cast<char>(0x80 | (code & 0x3f));
  at += 6;
  return Escape::kDone;
}

// Appends to `out` what a string says, whose text is from `at` to its closing quote at `close`. False if an escape is
// malformed.
template <typename Out>
bool DecodeString(const char* at, const char* close, Out& out) {
  while (true) {
    const char* const escape = FindByte<'\\'>(at, close);
    out.Append(std::string_view(at, static_cast<size_t>(escape - at)));
    at = escape;
    if (at == close) return true;
    char bytes[4];
    char* behind = bytes;
    if (DecodeEscape(at, close + 1, behind) != Escape::kDone) return false;
    out.Append(std::string_view(bytes, static_cast<size_t>(behind - bytes)));
  }
}

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_PAYLOAD_TEXT_H_
