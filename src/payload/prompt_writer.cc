// SPDX-License-Identifier: Apache-2.0

#include "src/payload/prompt_writer.h"

#include <array>
#include <cstdint>

#include "src/hash/xxh3.h"
#include "src/payload/scan.h"
#include "src/payload/text.h"

namespace prefixroute::internal {
namespace {

// No byte of a text that is UTF-8.
constexpr char kMark = '\xff';

constexpr std::string_view kBadEscape = "a string has an escape that JSON doesn't know";
constexpr std::string_view kNotJson = "not JSON within the prompt";

// Members whose value may be a whole image, sound or file, as it is or by its address.
constexpr std::array<std::string_view, 7> kMedia = {"data",      "url",       "image_url", "audio_url",
                                                    "video_url", "file_data", "file_url"};
bool IsMedia(std::string_view raw) {
  for (const std::string_view name : kMedia) {
    if (IsName(raw, name)) return true;
  }
  return false;
}

struct Digester {
  XXH3_state_t state;

  Digester() { XXH3_64bits_reset(&state); }
  void Append(char byte) { XXH3_64bits_update(&state, &byte, 1); }
  void Append(std::string_view piece) { XXH3_64bits_update(&state, piece.data(), piece.size()); }
};

}  // namespace

void PromptWriter::Mark(char kind) {
  sink_.Append(kMark);
  sink_.Append(kind);
}

bool PromptWriter::Fail(std::string_view problem) {
  problem_ = problem;
  return false;
}

template <typename Write>
bool PromptWriter::ForEach(const char* at, Write write) {
  ++at;
  for (bool first = true;; first = false) {
    at = SkipSpace(at, end_);
    if (at == end_) return false;
    if (*at == ']') return true;
    if (!first) {
      if (*at != ',') return Fail(kNotJson);
      at = SkipSpace(at + 1, end_);
      if (at == end_) return false;
    }
    if (!write(at, &at)) return false;
  }
}

bool PromptWriter::String(const char* at, const char** after) {
  const char* const text = at + 1;
  *after = SkipString(text, end_);
  const bool cut = *after == nullptr;
  if (!DecodeString(text, cut ? end_ : *after - 1, cut, sink_)) return Fail(kBadEscape);
  return !cut;
}

bool PromptWriter::Text(char kind, const char* at) {
  Mark(kind);
  return String(at, &at);
}

bool PromptWriter::Tools(const char* at) {
  const auto tool = [this](const char* each, const char** after) {
    Mark('T');
    return Json(each, after);
  };
  if (IsNull(at, end_)) return true;
  return *at == '[' ? ForEach(at, tool) : tool(at, &at);
}

bool PromptWriter::MessageOf(std::string_view role, const char* at) {
  if (IsNull(at, end_)) return true;
  Mark('M');
  sink_.Append(role);
  return Content(at);
}

bool PromptWriter::Messages(const char* at) {
  if (*at != '[') return Fail("messages is not an array");
  return ForEach(at, [this](const char* each, const char** after) { return Message(each, after); });
}

bool PromptWriter::Message(const char* at, const char** after) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "role", "content", "reasoning_content", "reasoning", "tool_calls", "function_call", "tool_call_id", "name"};
  if (*at != '{') return Fail("a message is not an object");
  const Members members(at, end_, kNames);
  if (members.extent == Extent::kMalformed) return Fail(kNotJson);
  const bool cut = members.extent == Extent::kCut;
  *after = members.after;
  const auto& [role, content, unused1, unused2, unused3, unused4, unused5, unused6] = members.values;
  if (role == nullptr) return !cut && Block(at, after);
  if (*role != '"') return Fail("the role of a message is not a string");
  if (!Text('M', role)) return false;
  // Of one that is still arriving, what is missing may come yet, before the rest.
  if (content != nullptr ? !Content(content) : cut) return false;
  for (size_t i = 2; i < kNames.size(); ++i) {
    const char* value = members.values[i];
    if (value == nullptr) {
      if (cut) return false;
      continue;
    }
    if (IsNull(value, end_)) continue;
    Mark('F');
    sink_.Append(kNames[i]);
    sink_.Append(':');
    if (!Json(value, &value)) return false;
  }
  return !cut;
}

bool PromptWriter::Content(const char* at) {
  if (IsNull(at, end_)) return true;
  if (*at != '[') return Block(at, &at);
  return ForEach(at, [this](const char* each, const char** after) { return Block(each, after); });
}

bool PromptWriter::Block(const char* at, const char** after) {
  if (*at == '"') {
    Mark('C');
    return String(at, after);
  }
  if (*at == '{') {
    static constexpr std::array<std::string_view, 1> kNames = {"text"};
    const Members members(at, end_, kNames);
    if (members.extent == Extent::kMalformed) return Fail(kNotJson);
    const char* const text = members.values[0];
    if (text != nullptr && *text == '"') {
      *after = members.after;
      return Text('C', text) && members.extent == Extent::kWhole;
    }
    // A text may come yet.
    if (members.extent == Extent::kCut) return false;
  }
  Mark('B');
  return Json(at, after);
}

bool PromptWriter::Prompt(const char* at) {
  // Of several prompts the first; it may be several levels down, and nobody counts how many.
  while (*at == '[') {
    const char* const first = SkipSpace(at + 1, end_);
    if (first == end_) return false;
    if (*first == ']') return true;
    if (*first == '{') return Messages(at);
    if (*first != '"' && *first != '[') {
      Mark('K');
      return ForEach(at, [this](const char* each, const char** after) { return Json(each, after); });
    }
    at = first;
  }
  if (*at == '"') return Text('P', at);
  if (*at != '{') return Fail("the prompt is neither text nor array nor object");
  Mark('J');
  return Json(at, &at);
}

bool PromptWriter::Input(const char* at) { return *at == '"' ? MessageOf("user", at) : Prompt(at); }

void PromptWriter::PreviousResponse(std::string_view id) {
  Mark('R');
  sink_.Append(id);
}

bool PromptWriter::Json(const char* at, const char** after) {
  size_t depth = 0;
  while (true) {
    at = SkipSpace(at, end_);
    if (at == end_) return false;
    switch (*at) {
      case '{':
      case '[':
        sink_.Append(*at++);
        ++depth;
        continue;
      case ',':
      case ':':
        if (depth == 0) return Fail(kNotJson);
        ++at;
        continue;
      case '}':
      case ']':
        if (depth == 0) return Fail(kNotJson);
        sink_.Append(*at++);
        --depth;
        break;
      case '"': {
        const char* const behind = SkipString(at + 1, end_);
        const char* const next = behind == nullptr ? end_ : SkipSpace(behind, end_);
        const std::string_view raw(at + 1, static_cast<size_t>((behind == nullptr ? end_ : behind - 1) - (at + 1)));
        constexpr std::string_view kNotPrompt = "cache_control";
        if (next == end_ ? kNotPrompt.substr(0, raw.size()) == raw : *next == ':' && IsName(raw, kNotPrompt)) {
          if (next == end_) return false;
          at = SkipValue(SkipSpace(next + 1, end_), end_);
          if (at == nullptr) return false;
          continue;
        }
        sink_.Append('"');
        if (!String(at, &at)) return false;
        sink_.Append(kMark);
        if (depth != 0 && next != end_ && *next == ':' && IsMedia(raw)) {
          at = SkipSpace(next + 1, end_);
          if (at == end_) return false;
          if (*at == '"' && !Digest(at, &at)) return false;
        }
        break;
      }
      default: {
        const char* const begin = at;
        at = SkipScalar(at, end_);
        sink_.Append(std::string_view(begin, static_cast<size_t>(at - begin)));
        if (at == end_) return false;
        sink_.Append(',');
      }
    }
    if (depth == 0) {
      *after = at;
      return true;
    }
  }
}

bool PromptWriter::Digest(const char* at, const char** after) {
  *after = SkipString(at + 1, end_);
  if (*after == nullptr) return false;
  Digester digester;
  if (!sink_.full() && !DecodeString(at + 1, *after - 1, false, digester)) return Fail(kBadEscape);
  const uint64_t digest = XXH3_64bits_digest(&digester.state);
  std::array<char, 17> text;
  text[0] = '#';
  for (size_t i = 0; i < 16; ++i) text[i + 1] = "0123456789abcdef"[digest >> (60 - 4 * i) & 15];
  sink_.Append(std::string_view(text.data(), text.size()));
  return true;
}

}  // namespace prefixroute::internal
