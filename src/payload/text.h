// SPDX-License-Identifier: Apache-2.0
//
// What a JSON string says, piece by piece; for those that are short, or read rarely.

#ifndef PREFIXROUTE_SRC_PAYLOAD_TEXT_H_
#define PREFIXROUTE_SRC_PAYLOAD_TEXT_H_

#include <cstddef>
#include <string_view>

#include "src/payload/escape.h"

namespace prefixroute::internal {

// Appends to `out` what a string says, whose text is from `at` to its closing quote at `close`. False if an escape is
// malformed.
template <typename Out>
bool DecodeString(const char* at, const char* close, Out& out) {
  while (true) {
    const std::string_view rest(at, static_cast<size_t>(close - at));
    const std::string_view plain = rest.substr(0, rest.find('\\'));
    out.Append(plain);
    at += plain.size();
    if (at == close) return true;
    char bytes[4];
    char* behind = bytes;
    if (DecodeEscape(&at, close + 1, &behind) != Escape::kDone) return false;
    out.Append(std::string_view(bytes, static_cast<size_t>(behind - bytes)));
  }
}

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_PAYLOAD_TEXT_H_
