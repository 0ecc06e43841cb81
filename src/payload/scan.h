// SPDX-License-Identifier: Apache-2.0
//
// Steps over JSON without keeping anything of it: no copy, no index, no stack, so that time is in proportion to the
// bytes and memory is none, whatever they are. Written out here because simdjson needs padding behind the body, an
// index of four bytes a byte, and the whole body at once.
//
// All functions go from `at` towards `end`, the end of what is there, and read nothing at or beyond it.

#ifndef PREFIXROUTE_SRC_PAYLOAD_SCAN_H_
#define PREFIXROUTE_SRC_PAYLOAD_SCAN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/payload/kernels.h"

namespace prefixroute::internal {

inline bool IsSpace(char byte) { return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r'; }

inline const char* SkipSpace(const char* at, const char* end) {
  while (at != end && IsSpace(*at)) ++at;
  return at;
}

// From behind the opening quote to behind the closing one; null if that isn't there.
inline const char* SkipString(const char* at, const char* end) {
  // Most strings are short names.
  constexpr ptrdiff_t kShort = 12;
  const char* const short_end = end - at > kShort ? at + kShort : end;
  for (const char* byte = at; byte != short_end && *byte != '\\'; ++byte) {
    if (*byte == '"') return byte + 1;
  }
  return WidestScanKernels().skip_string(at, end);
}

// From a value's first byte to behind its last; null if that isn't there. Brackets are counted, not matched. A byte
// that begins no value is taken for a value of no length.
const char* SkipValue(const char* at, const char* end);

// Behind a number, true, false or null; `end` if it may go on there.
const char* SkipScalar(const char* at, const char* end);

// Also as much of null as is there.
inline bool IsNull(const char* at, const char* end) {
  constexpr std::string_view kNull = "null";
  const std::string_view value = std::string_view(at, static_cast<size_t>(end - at)).substr(0, kNull.size());
  return value == kNull.substr(0, value.size());
}

enum class Extent : uint8_t {
  kWhole,      // All is there.
  kCut,        // `end` came first.
  kMalformed,  // Not JSON.
};

// Where the values begin of those members of the object at `at`, a '{', that have one of `names`; null where there is
// none. Of two with one name the last counts. Sets `after` to behind the object if it is whole.
Extent FindMembers(const char* at, const char* end, const std::string_view* names, size_t count, const char** values,
                   const char** after);

template <size_t kCount>
struct Members {
  std::array<const char*, kCount> values{};
  const char* after = nullptr;
  Extent extent;

  Members(const char* at, const char* end, const std::array<std::string_view, kCount>& names)
      : extent(FindMembers(at, end, names.data(), kCount, values.data(), &after)) {}
};

// Which of `names` `raw` is, what stands between a string's quotes, be it with escapes; `count` if none.
size_t IndexOfName(std::string_view raw, const std::string_view* names, size_t count);

template <size_t kCount>
bool IsOneOf(std::string_view raw, const std::array<std::string_view, kCount>& names) {
  return IndexOfName(raw, names.data(), kCount) != kCount;
}

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_PAYLOAD_SCAN_H_
