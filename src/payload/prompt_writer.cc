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

// Members of JSON that matter. In the order of the kinds of MemberKind.
constexpr std::array<std::string_view, 15> kMembers = {
    "data",       "file_data",    "url",        "image_url", "audio_url", "video_url", "file_url", "multi_modal_data",
    "properties", "input_schema", "parameters", "input",     "arguments", "content",   "type"};

enum class MemberKind : uint8_t {
  kFile,     // May be a whole file, or the text of a document.
  kMedium,   // May be a whole image, sound or file, as it is or by its address.
  kMedia,    // Has nothing but media in it.
  kNotOurs,  // Whatever is in it has its names from a tool.
  kContent,  // A text, or blocks of content.
  kType,
  kOther,
};

MemberKind KindOfMember(std::string_view raw) {
  const size_t index = IndexOfName(raw, kMembers.data(), kMembers.size());
  if (index < 2) return MemberKind::kFile;
  if (index < 7) return MemberKind::kMedium;
  if (index < 8) return MemberKind::kMedia;
  if (index < 13) return MemberKind::kNotOurs;
  if (index < 14) return MemberKind::kContent;
  return index < kMembers.size() ? MemberKind::kType : MemberKind::kOther;
}

constexpr std::array<std::string_view, 1> kCacheControl = {"cache_control"};

// What a byte is in an array of tokens.
enum class TokenByte : uint8_t { kPart, kSpace, kOther };
constexpr std::array<TokenByte, 256> kTokenBytes = [] {
  std::array<TokenByte, 256> kinds{};
  for (const char byte : {' ', '\n', '\t', '\r'}) kinds[static_cast<unsigned char>(byte)] = TokenByte::kSpace;
  for (const char byte : {'"', '[', ']', '{', '}', ':'}) kinds[static_cast<unsigned char>(byte)] = TokenByte::kOther;
  return kinds;
}();

// Of the string at `at`; false as long as its end isn't there.
bool IsText(const char* at, const char* end) {
  static constexpr std::array<std::string_view, 1> kText = {"text"};
  const char* const behind = SkipString(at + 1, end);
  return behind != nullptr && IsOneOf(std::string_view(at + 1, static_cast<size_t>(behind - 1 - (at + 1))), kText);
}

// Whether a number is among the elements behind the one that ends at `at`, as far as they are there.
bool HasNumber(const char* at, const char* end) {
  while (true) {
    at = SkipSpace(at, end);
    if (at == end || *at != ',') return false;
    at = SkipSpace(at + 1, end);
    if (at == end) return false;
    if (*at == '-' || (*at >= '0' && *at <= '9')) return true;
    at = SkipValue(at, end);
    if (at == nullptr) return false;
  }
}

struct Digester {
  XXH3_state_t state;

  Digester() { XXH3_64bits_reset(&state); }
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
  ++at;
  while (true) {
    char* const room = sink_.Room(PromptSink::kMaxRoom);
    const TextCopy copy = kernels_.copy_text(at, end_, room, sink_.room_end() - kCopySlack);
    at = copy.at;
    sink_.Wrote(copy.stop == TextStop::kLongRun ? copy.out - (at - copy.run) : copy.out);
    switch (copy.stop) {
      case TextStop::kClosed:
        *after = at;
        return true;
      case TextStop::kFull:
        break;
      case TextStop::kLongRun:
        // It is hashed where it lies.
        at = kernels_.find_text_end(at, end_);
        sink_.Append(std::string_view(copy.run, static_cast<size_t>(at - copy.run)));
        break;
      case TextStop::kCut:
        return false;
      case TextStop::kMalformed:
        return Fail(kBadEscape);
    }
  }
}

bool PromptWriter::ContentText(const char* at, const char** after) {
  if (at + 1 == end_) return false;
  if (at[1] == '"') {
    *after = at + 2;
    return true;
  }
  Mark('C');
  return String(at, after);
}

bool PromptWriter::PromptText(Texts texts, const char* at, const char** after) {
  if (texts == Texts::kPrompt) {
    Mark('P');
    return String(at, after);
  }
  Mark('M');
  sink_.Append("user");
  return ContentText(at, after);
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
  static constexpr size_t kImages = 2;
  static constexpr std::array<std::string_view, 9> kNames = {
      "role",          "content",      "images", "reasoning_content", "reasoning", "tool_calls",
      "function_call", "tool_call_id", "name"};
  if (*at != '{') return Fail("a message is not an object");
  const Members members(at, end_, kNames);
  if (members.extent == Extent::kMalformed) return Fail(kNotJson);
  const bool cut = members.extent == Extent::kCut;
  *after = members.after;
  const char* const role = members.values[0];
  const char* const content = members.values[1];
  if (role == nullptr) return !cut && Block(at, after);
  if (*role != '"') return Fail("the role of a message is not a string");
  Mark('M');
  const char* behind_role;
  if (!String(role, &behind_role)) return false;
  // Of one that is still arriving, what is missing may come yet, before the rest.
  if (content != nullptr ? !Content(content) : cut) return false;
  for (size_t i = 2; i < kNames.size(); ++i) {
    const char* value = members.values[i];
    if (value == nullptr) {
      if (cut) return false;
      continue;
    }
    if (!Member(kNames[i], value, i == kImages ? Strings::kDigests : Strings::kByName, &value)) return false;
  }
  return !cut;
}

bool PromptWriter::Member(std::string_view name, const char* at, Strings strings, const char** after) {
  bool none = IsNull(at, end_);
  if (*at == '[') {
    const char* const first = SkipSpace(at + 1, end_);
    if (first == end_) return false;
    none = *first == ']';
  }
  if (none) {
    *after = SkipValue(at, end_);
    return *after != nullptr;
  }
  Mark('F');
  sink_.Append(name);
  sink_.Append(':');
  return Json(at, after, strings);
}

bool PromptWriter::Content(const char* at) {
  if (IsNull(at, end_)) return true;
  if (*at != '[') return Block(at, &at);
  return ForEach(at, [this](const char* each, const char** after) { return Block(each, after); });
}

bool PromptWriter::Block(const char* at, const char** after) {
  if (*at == '"') return ContentText(at, after);
  if (*at == '{') {
    static constexpr std::array<std::string_view, 12> kNames = {"text",      "image",       "image_url", "audio_url",
                                                                "video_url", "input_audio", "file",      "file_data",
                                                                "file_url",  "source",      "data",      "url"};
    const Members members(at, end_, kNames);
    if (members.extent == Extent::kMalformed) return Fail(kNotJson);
    const char* value = members.values[0];
    if (value != nullptr && *value == '"') {
      if (!ContentText(value, &value) || members.extent == Extent::kCut) return false;
      for (size_t i = 1; i < kNames.size(); ++i) {
        value = members.values[i];
        if (value != nullptr && !Member(kNames[i], value, Strings::kDigests, &value)) return false;
      }
      *after = members.after;
      return true;
    }
    // A text may come yet.
    if (members.extent == Extent::kCut) return false;
  }
  Mark('B');
  return Json(at, after);
}

bool PromptWriter::Prompt(const char* at) { return Prompt(Texts::kPrompt, at); }

bool PromptWriter::Input(const char* at) { return Prompt(Texts::kUserMessage, at); }

bool PromptWriter::Prompt(Texts texts, const char* at) {
  // Of several prompts the first; it may be several levels down, and nobody counts how many.
  while (*at == '[') {
    const char* const first = SkipSpace(at + 1, end_);
    if (first == end_) return false;
    if (*first == ']') return true;
    if (*first == '{') return Messages(at);
    if (*first == '"') {
      if (!PromptText(texts, first, &at)) return false;
      return HasNumber(at, end_) ? TextsAndTokens(texts, at) : true;
    }
    if (*first != '[') return TextsAndTokens(texts, first);
    at = first;
  }
  if (*at == '"') return PromptText(texts, at, &at);
  if (*at != '{') return Fail("the prompt is neither text nor array nor object");
  Mark('J');
  return Json(at, &at);
}

bool PromptWriter::Media(std::string_view name, const char* at) {
  const auto medium = [&](const char* each, const char** after) {
    return Member(name, each, Strings::kDigests, after);
  };
  return *at == '[' ? ForEach(at, medium) : medium(at, &at);
}

bool PromptWriter::Template(const char* at) {
  Mark('G');
  return Json(at, &at);
}

void PromptWriter::Reference(char kind, std::string_view id) {
  Mark(kind);
  sink_.Append(id);
}

bool PromptWriter::TextsAndTokens(Texts texts, const char* at) {
  while (true) {
    at = SkipSpace(at, end_);
    if (at == end_) return false;
    if (*at == ']') return true;
    if (*at == ',') {
      ++at;
    } else if (!(*at == '"' ? PromptText(texts, at, &at) : Tokens(at, &at))) {
      return false;
    }
  }
}

bool PromptWriter::Tokens(const char* at, const char** after) {
  Mark('K');
  while (true) {
    char* out = sink_.Room(PromptSink::kMaxRoom);
    const char* const room_end = sink_.room_end() - 1;
    TokenByte kind = TokenByte::kPart;
    while (at != end_ && out != room_end) {
      kind = kTokenBytes[static_cast<unsigned char>(*at)];
      if (kind == TokenByte::kOther) break;
      *out = *at++;
      out += kind == TokenByte::kPart ? 1 : 0;
    }
    if (kind == TokenByte::kOther && *at == ']') *out++ = ',';
    sink_.Wrote(out);
    if (at == end_) return false;
    if (kind == TokenByte::kOther) {
      *after = at;
      return *at == ']' || *at == '"' || Fail("a token is not a number");
    }
  }
}

bool PromptWriter::Json(const char* at, const char** after, Strings strings) {
  constexpr size_t kNowhere = SIZE_MAX;
  size_t depth = 0;
  // From here on down `strings` isn't kByName.
  size_t strings_depth = strings == Strings::kByName ? kNowhere : 0;
  // The object's type is "text", and no bracket was since.
  bool is_text = false;
  while (true) {
    at = SkipSpace(at, end_);
    if (at == end_) return false;
    switch (*at) {
      case '{':
      case '[':
        sink_.Append(*at++);
        ++depth;
        is_text = false;
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
        is_text = false;
        if (depth < strings_depth) {
          strings = Strings::kByName;
          strings_depth = kNowhere;
        }
        break;
      case '"': {
        // Not before it is known that it is no cache_control.
        if (at + 1 == end_) return false;
        if (strings != Strings::kText && (at[1] == 'c' || at[1] == '\\')) {
          const char* const behind = SkipCacheControl(at);
          if (behind == nullptr) return false;
          if (behind != at) {
            at = behind;
            continue;
          }
        }
        if (strings == Strings::kDigests) {
          const char* const behind = SkipString(at + 1, end_);
          const char* const next = behind == nullptr ? end_ : SkipSpace(behind, end_);
          if (next == end_) return false;
          if (*next != ':') {
            if (!Digest(at, &at)) return false;
            if (depth == 0) break;
            continue;
          }
        }
        const char* const name = at + 1;
        if (!JsonString(at, &at)) return false;
        if (depth == 0) break;
        if (strings != Strings::kByName) continue;
        const std::string_view raw(name, static_cast<size_t>(at - 1 - name));
        at = SkipSpace(at, end_);
        if (at == end_ || *at != ':') continue;
        at = SkipSpace(at + 1, end_);
        if (at == end_) return false;
        const MemberKind kind = KindOfMember(raw);
        if (kind == MemberKind::kOther) continue;
        if (*at == '"') {
          if (kind == MemberKind::kType) is_text = IsText(at, end_);
          if (kind == MemberKind::kContent) {
            is_text = false;
            if (!TextBlock(at, &at)) return false;
          }
          const bool medium =
              kind == MemberKind::kMedium || kind == MemberKind::kMedia || (kind == MemberKind::kFile && !is_text);
          if (medium && !Digest(at, &at)) return false;
        } else if ((*at == '{' || *at == '[') && (kind == MemberKind::kNotOurs || kind == MemberKind::kMedia)) {
          strings = kind == MemberKind::kMedia ? Strings::kDigests : Strings::kText;
          strings_depth = depth + 1;
        }
        continue;
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

bool PromptWriter::JsonString(const char* at, const char** after) {
  sink_.Append('"');
  if (!String(at, after)) return false;
  sink_.Append(kMark);
  return true;
}

bool PromptWriter::TextBlock(const char* at, const char** after) {
  sink_.Append("[{\"type\xff\"text\xff\"text\xff");
  if (!JsonString(at, after)) return false;
  sink_.Append("}]");
  return true;
}

const char* PromptWriter::SkipCacheControl(const char* at) const {
  constexpr ptrdiff_t kLongestSpelling = 6 * kCacheControl[0].size() + 2;
  const char* const behind = SkipString(at + 1, end_);
  if (behind == nullptr) return end_ - at < kLongestSpelling ? nullptr : at;
  if (!IsOneOf(std::string_view(at + 1, static_cast<size_t>(behind - 1 - (at + 1))), kCacheControl)) return at;
  const char* const colon = SkipSpace(behind, end_);
  if (colon == end_) return nullptr;
  return *colon == ':' ? SkipValue(SkipSpace(colon + 1, end_), end_) : at;
}

bool PromptWriter::Digest(const char* at, const char** after) {
  *after = SkipString(at + 1, end_);
  if (*after == nullptr) return false;
  Digester digester;
  if (!sink_.full() && !DecodeString(at + 1, *after - 1, digester)) return Fail(kBadEscape);
  const uint64_t digest = XXH3_64bits_digest(&digester.state);
  std::array<char, 17> text;
  text[0] = '#';
  for (size_t i = 0; i < 16; ++i) text[i + 1] = "0123456789abcdef"[digest >> (60 - 4 * i) & 15];
  sink_.Append(std::string_view(text.data(), text.size()));
  return true;
}

}  // namespace prefixroute::internal
