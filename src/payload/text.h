// SPDX-License-Identifier: Apache-2.0
//
// What a JSON string says: its bytes without escapes.

#ifndef PREFIXROUTE_SRC_PAYLOAD_TEXT_H_
#define PREFIXROUTE_SRC_PAYLOAD_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/payload/scan.h"

namespace prefixroute::internal {

// The four hexadecimal digits at `at`; negative if they are none.
int32_t HexDigits(const char* at);

// Writes `code` as UTF-8 (a surrogate in the same way, as three bytes) and returns how many bytes that is, 1 to 4.
size_t WriteUtf8(uint32_t code, char* bytes);

inline bool IsHighSurrogate(int32_t code) { return code >= 0xd800 && code < 0xdc00; }
inline bool IsLowSurrogate(int32_t code) { return code >= 0xdc00 && code < 0xe000; }

// Appends to `out` what stands between the quotes of a string: [at, end). If the string is `cut` there, what may depend
// on its next bytes is left out. False if an escape is none that JSON has.
template <typename Out>
bool DecodeString(const char* at, const char* end, bool cut, Out& out) {
  while (true) {
    const char* const escape = FindByte<'\\'>(at, end);
    out.Append(std::string_view(at, static_cast<size_t>(escape - at)));
    at = escape;
    if (at == end) return true;
    if (end - at < 2) return cut;
    switch (at[1]) {
      case '"':
      case '\\':
      case '/':
        out.Append(at[1]);
        break;
      case 'b':
        out.Append('\b');
        break;
      case 'f':
        out.Append('\f');
        break;
      case 'n':
        out.Append('\n');
        break;
      case 'r':
        out.Append('\r');
        break;
      case 't':
        out.Append('\t');
        break;
      case 'u': {
        if (end - at < 6) return cut;
        int32_t code = HexDigits(at + 2);
        if (code < 0) return false;
        if (IsHighSurrogate(code)) {
          if (end - at < 12 && cut) return true;
          if (end - at >= 12 && at[6] == '\\' && at[7] == 'u') {
            const int32_t low = HexDigits(at + 8);
            if (IsLowSurrogate(low)) {
              code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
              at += 6;
            }
          }
        }
        char bytes[4];
        out.Append(std::string_view(bytes, WriteUtf8(static_cast<uint32_t>(code), bytes)));
        at += 4;
        break;
      }
      default:
        return false;
    }
    at += 2;
  }
}

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_PAYLOAD_TEXT_H_
