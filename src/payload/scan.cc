// SPDX-License-Identifier: Apache-2.0

#include "src/payload/scan.h"

#include "src/payload/text.h"

namespace prefixroute::internal {

const char* SkipScalar(const char* at, const char* end) {
  while (at != end) {
    switch (*at) {
      case ' ':
      case '\n':
      case '\t':
      case '\r':
      case ',':
      case ':':
      case '"':
      case '{':
      case '}':
      case '[':
      case ']':
        return at;
      default:
        ++at;
    }
  }
  return at;
}

const char* SkipValue(const char* at, const char* end) {
  if (at == end) return nullptr;
  if (*at == '"') return SkipString(at + 1, end);
  if (*at == '{' || *at == '[') return WidestScanKernels().skip_container(at, end);
  at = SkipScalar(at, end);
  return at == end ? nullptr : at;
}

namespace {

// As much of a name as is compared: longer than any that is looked for.
struct ShortText {
  std::array<char, 64> bytes;
  size_t size = 0;

  void Append(std::string_view piece) {
    for (const char byte : piece) {
      if (size < bytes.size()) bytes[size] = byte;
      ++size;
    }
  }
};

size_t IndexOf(std::string_view name, const std::string_view* names, size_t count) {
  size_t i = 0;
  while (i < count && names[i] != name) ++i;
  return i;
}

}  // namespace

size_t IndexOfName(std::string_view raw, const std::string_view* names, size_t count) {
  constexpr size_t kLongestEscape = 6;
  if (raw.size() > kLongestEscape * std::tuple_size_v<decltype(ShortText::bytes)>) return count;
  if (raw.find('\\') == std::string_view::npos) return IndexOf(raw, names, count);
  ShortText text;
  if (!DecodeString(raw.data(), raw.data() + raw.size(), text) || text.size > text.bytes.size()) return count;
  return IndexOf(std::string_view(text.bytes.data(), text.size), names, count);
}

Extent FindMembers(const char* at, const char* end, const std::string_view* names, size_t count, const char** values,
                   const char** after) {
  ++at;
  for (bool first = true;; first = false) {
    at = SkipSpace(at, end);
    if (at == end) return Extent::kCut;
    if (*at == '}') {
      *after = at + 1;
      return Extent::kWhole;
    }
    if (!first) {
      if (*at != ',') return Extent::kMalformed;
      at = SkipSpace(at + 1, end);
      if (at == end) return Extent::kCut;
    }
    if (*at != '"') return Extent::kMalformed;
    const char* const name = at + 1;
    at = SkipString(name, end);
    if (at == nullptr) return Extent::kCut;
    const size_t index = IndexOfName(std::string_view(name, static_cast<size_t>(at - 1 - name)), names, count);
    at = SkipSpace(at, end);
    if (at == end) return Extent::kCut;
    if (*at != ':') return Extent::kMalformed;
    at = SkipSpace(at + 1, end);
    if (at == end) return Extent::kCut;
    if (index != count) values[index] = at;
    const char* const value = at;
    at = SkipValue(at, end);
    if (at == nullptr) return Extent::kCut;
    if (at == value) return Extent::kMalformed;
  }
}

}  // namespace prefixroute::internal
