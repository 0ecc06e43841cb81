// SPDX-License-Identifier: Apache-2.0

#include "src/payload/text.h"

#include <array>

namespace prefixroute::internal {
namespace {

constexpr std::array<int8_t, 256> kHexValues = [] {
  std::array<int8_t, 256> values{};
  for (int8_t& value : values) value = -1;
  for (int digit = 0; digit < 10; ++digit) values['0' + digit] = static_cast<int8_t>(digit);
  for (int digit = 10; digit < 16; ++digit) {
    values['a' + digit - 10] = static_cast<int8_t>(digit);
    values['A' + digit - 10] = static_cast<int8_t>(digit);
  }
  return values;
}();

int32_t HexValue(char digit) { return kHexValues[static_cast<unsigned char>(digit)]; }

}  // namespace

int32_t HexDigits(const char* at) {
  const int32_t a = HexValue(at[0]);
  const int32_t b = HexValue(at[1]);
  const int32_t c = HexValue(at[2]);
  const int32_t d = HexValue(at[3]);
  if ((a | b | c | d) < 0) return -1;
  return a << 12 | b << 8 | c << 4 | d;
}

size_t WriteUtf8(uint32_t code, char* bytes) {
  if (code < 0x80) {
    bytes[0] = static_cast<char>(code);
    return 1;
  }
  if (code < 0x800) {
    bytes[0] = static_cast<char>(0xc0 | code >> 6);
    bytes[1] = static_cast<char>(0x80 | (code & 0x3f));
    return 2;
  }
  if (code < 0x10000) {
    bytes[0] = static_cast<char>(0xe0 | code >> 12);
    bytes[1] = static_cast<char>(0x80 | (code >> 6 & 0x3f));
    bytes[2] = static_cast<char>(0x80 | (code & 0x3f));
    return 3;
  }
  bytes[0] = static_cast<char>(0xf0 | code >> 18);
  bytes[1] = static_cast<char>(0x80 | (code >> 12 & 0x3f));
  bytes[2] = static_cast<char>(0x80 | (code >> 6 & 0x3f));
  bytes[3] = static_cast<char>(0x80 | (code & 0x3f));
  return 4;
}

}  // namespace prefixroute::internal
