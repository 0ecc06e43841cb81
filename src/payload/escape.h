// SPDX-License-Identifier: Apache-2.0
//
// What an escape in a JSON string says. A surrogate without its other half becomes three bytes, as if it were a
// character.
//
// All is static, and of the language alone: kernels.inc is compiled for different machines, and what is inline in it
// must not be shared.

#ifndef PREFIXROUTE_SRC_PAYLOAD_ESCAPE_H_
#define PREFIXROUTE_SRC_PAYLOAD_ESCAPE_H_

#include <stdint.h>

namespace prefixroute::internal {

enum class Escape : uint8_t {
  kDone,
  kCut,        // More bytes are needed to know.
  kMalformed,  // None that JSON has.
};

struct EscapeTables {
  // Of each byte: its value as a hexadecimal digit, negative if it is none.
  int32_t hex_values[256] = {};
  // Of each byte: what it says behind a backslash; 0 if nothing (u aside).
  char simple[256] = {};

  constexpr EscapeTables() {
    for (int32_t& value : hex_values) value = -1;
    for (int digit = 0; digit < 10; ++digit) hex_values['0' + digit] = digit;
    for (int digit = 10; digit < 16; ++digit) {
      hex_values['a' + digit - 10] = digit;
      hex_values['A' + digit - 10] = digit;
    }
    for (int i = 0; i < 8; ++i) simple[static_cast<unsigned char>("\"\\/bfnrt"[i])] = "\"\\/\b\f\n\r\t"[i];
  }
};
static constexpr EscapeTables kEscapeTables;

// The code unit of the four digits at `at`; negative if they are none.
static inline int32_t HexDigits(const char* at) {
  const int32_t a = kEscapeTables.hex_values[static_cast<unsigned char>(at[0])];
  const int32_t b = kEscapeTables.hex_values[static_cast<unsigned char>(at[1])];
  const int32_t c = kEscapeTables.hex_values[static_cast<unsigned char>(at[2])];
  const int32_t d = kEscapeTables.hex_values[static_cast<unsigned char>(at[3])];
  // A negative one makes the whole negative.
  return a * 4096 | b * 256 | c * 16 | d;
}

// A byte of UTF-8 behind the first: the lowest six bits of `bits`.
static inline char Continuation(uint32_t bits) { return static_cast<char>(0x80 | (bits & 0x3f)); }

// Decodes the escape whose backslash is at `*at`: moves `*at` behind it, and `*out` behind the 1 to 4 bytes that it
// says. Only if it returns kDone. `end`: at or behind the string's closing quote.
static inline Escape DecodeEscape(const char** at, const char* end, char** out) {
  const char* const escape = *at;
  if (end - escape < 2) return Escape::kCut;
  const char simple = kEscapeTables.simple[static_cast<unsigned char>(escape[1])];
  char* to = *out;
  if (simple != 0) {
    *to = simple;
    *out = to + 1;
    *at = escape + 2;
    return Escape::kDone;
  }
  if (escape[1] != 'u') return Escape::kMalformed;
  if (end - escape < 6) return Escape::kCut;
  const int32_t unit = HexDigits(escape + 2);
  if (unit < 0) return Escape::kMalformed;
  auto code = static_cast<uint32_t>(unit);
  int bytes = 6;
  if (code >= 0x800 && code >> 11 != 0xd800 >> 11) {
    // Most of the world's scripts.
    *to++ = static_cast<char>(0xe0 | code >> 12);
    *to++ = Continuation(code >> 6);
    *to++ = Continuation(code);
  } else if (code < 0x80) {
    *to++ = static_cast<char>(code);
  } else if (code < 0x800) {
    *to++ = static_cast<char>(0xc0 | code >> 6);
    *to++ = Continuation(code);
  } else {
    if (code < 0xdc00) {
      // Is its other half next?
      const bool none = (end - escape > 6 && escape[6] != '\\') || (end - escape > 7 && escape[7] != 'u');
      if (!none) {
        if (end - escape < 12) return Escape::kCut;
        const int32_t low = HexDigits(escape + 8);
        if (low >> 10 == 0xdc00 >> 10) {
          code = 0x10000 + ((code & 0x3ff) << 10) + (static_cast<uint32_t>(low) & 0x3ff);
          bytes = 12;
        }
      }
    }
    if (code < 0x10000) {
      *to++ = static_cast<char>(0xe0 | code >> 12);
    } else {
      *to++ = static_cast<char>(0xf0 | code >> 18);
      *to++ = Continuation(code >> 12);
    }
    *to++ = Continuation(code >> 6);
    *to++ = Continuation(code);
  }
  *out = to;
  *at = escape + bytes;
  return Escape::kDone;
}

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_PAYLOAD_ESCAPE_H_
