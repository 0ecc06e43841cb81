// SPDX-License-Identifier: Apache-2.0

#include "src/payload/scan.h"

#include <cstring>

#include "src/payload/block.h"
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

namespace {

// The next 64 bytes; of fewer, what is missing is spaces, which mean nothing anywhere.
ByteBlock BlockAt(const char* at, const char* end) {
  if (static_cast<size_t>(end - at) >= ByteBlock::kBytes) return ByteBlock(at);
  char bytes[ByteBlock::kBytes];
  std::memset(bytes, ' ', sizeof(bytes));
  std::memcpy(bytes, at, static_cast<size_t>(end - at));
  return ByteBlock(bytes);
}

// Bit i is the parity of the bits up to i.
uint64_t Parities(uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

// As one instruction it needs a newer machine than we may be compiled for.
uint64_t CountOf(uint64_t bits) {
  bits -= bits >> 1 & 0x5555555555555555;
  bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
  bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return bits * 0x0101010101010101 >> 56;
}

const char* FirstOf(const char* at, uint64_t bits) { return at + __builtin_ctzll(bits); }

const char* SkipContainer(const char* at, const char* end) {
  EscapeFinder escapes;
  uint64_t in_string = 0;  // All ones within a string.
  uint64_t depth = 0;
  for (; at < end; at += ByteBlock::kBytes) {
    ByteBlock block = BlockAt(at, end);
    const uint64_t escaped = escapes.Escaped(block.Equal('\\'));
    const uint64_t strings = Parities(block.Equal('"') & ~escaped) ^ in_string;
    in_string = uint64_t{0} - (strings >> 63);
    block.Lower();
    const uint64_t opening = block.Equal('{') & ~strings;
    uint64_t closing = block.Equal('}') & ~strings;
    if ((opening | closing) == 0) continue;
    const uint64_t closed = CountOf(closing);
    if (closed >= depth) {
      // The end may be here: how deep is it at each bracket that closes?
      for (uint64_t nth = 1; closing != 0; closing &= closing - 1, ++nth) {
        const uint64_t before = (closing & (uint64_t{0} - closing)) - 1;
        if (depth + CountOf(opening & before) == nth) {
          return FirstOf(at, closing) + 1;
        }
      }
    }
    depth += CountOf(opening) - closed;
  }
  return nullptr;
}

}  // namespace

const char* SkipString(const char* at, const char* end) {
  // Most strings are short names.
  constexpr ptrdiff_t kShort = 16;
  if (end - at >= kShort) {
    const char* const first = FindByte<'"', '\\'>(at, at + kShort);
    if (first != at + kShort && *first == '"') return first + 1;
  }
  EscapeFinder escapes;
  for (; at < end; at += ByteBlock::kBytes) {
    const ByteBlock block = BlockAt(at, end);
    const uint64_t escaped = escapes.Escaped(block.Equal('\\'));
    const uint64_t quotes = block.Equal('"') & ~escaped;
    if (quotes != 0) return FirstOf(at, quotes) + 1;
  }
  return nullptr;
}

const char* SkipValue(const char* at, const char* end) {
  if (at == end) return nullptr;
  if (*at == '"') return SkipString(at + 1, end);
  if (*at == '{' || *at == '[') return SkipContainer(at, end);
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
