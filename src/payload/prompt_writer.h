// SPDX-License-Identifier: Apache-2.0
//
// Writes the parts of a prompt, as they stand in the JSON, in the canonical form of docs/payloads.md.
//
// Each function takes where a value begins, and returns false where nothing may follow: the body has ended (which its
// caller knows to be whole or not), or it isn't what it should be, of which problem() tells.

#ifndef PREFIXROUTE_SRC_PAYLOAD_PROMPT_WRITER_H_
#define PREFIXROUTE_SRC_PAYLOAD_PROMPT_WRITER_H_

#include <cstdint>
#include <string_view>

#include "src/payload/kernels.h"
#include "src/payload/prompt_sink.h"

namespace prefixroute::internal {

class PromptWriter {
 public:
  PromptWriter(const char* end, PromptSink& sink) : kernels_(WidestScanKernels()), end_(end), sink_(sink) {}

  // `tools` or `functions`.
  bool Tools(const char* at);
  // What comes as a message of `role`: a text, or content in blocks.
  bool MessageOf(std::string_view role, const char* at);
  // An array of messages.
  bool Messages(const char* at);
  // `prompt`, `inputs` and their like: a text, tokens, messages, both text and tokens, or several of these, of which
  // the first counts.
  bool Prompt(const char* at);
  // `input`: the same, but that a text is a message of the user.
  bool Input(const char* at);
  // Images and other media, by their digests: an array of them, or one.
  bool Media(std::string_view name, const char* at);
  // A template that only the engine has, beside an input.
  bool Template(const char* at);
  // What stands for a text that only the engine has. `kind`: R or N.
  void Reference(char kind, std::string_view id);

  // What was wrong with the body; empty if nothing was.
  std::string_view problem() const { return problem_; }

 private:
  // What a text is that is a prompt.
  enum class Texts : uint8_t { kPrompt, kUserMessage };
  // How strings in JSON are written that are no names of members.
  enum class Strings : uint8_t {
    kByName,   // By the name of their member.
    kText,     // As what they say; cache_control is a name like any other.
    kDigests,  // As their digests.
  };

  void Mark(char kind);
  bool Fail(std::string_view problem);
  // Calls write(element, &after), which must set `after` to behind the element, for each element of the array at `at`.
  template <typename Write>
  bool ForEach(const char* at, Write write);
  // The text of the string at `at`, and behind it.
  bool String(const char* at, const char** after);
  // The same as a piece of content; an empty text is none.
  bool ContentText(const char* at, const char** after);
  // The same as a whole prompt.
  bool PromptText(Texts texts, const char* at, const char** after);
  bool Message(const char* at, const char** after);
  bool Content(const char* at);
  bool Block(const char* at, const char** after);
  bool Prompt(Texts texts, const char* at);
  // From within an array, behind an element or before the first, to its end.
  bool TextsAndTokens(Texts texts, const char* at);
  // Up to a text, or the end of the array.
  bool Tokens(const char* at, const char** after);
  // The member `name`, after what it belongs to.
  bool Member(std::string_view name, const char* at, Strings strings, const char** after);
  bool Json(const char* at, const char** after, Strings strings = Strings::kByName);
  bool JsonString(const char* at, const char** after);
  // The string at `at` as the list of one block of text.
  bool TextBlock(const char* at, const char** after);
  // Behind the member at `at`, within an object, if its name is cache_control; `at` if it isn't, null if that, or its
  // end, isn't to be seen yet.
  const char* SkipCacheControl(const char* at) const;
  bool Digest(const char* at, const char** after);

  const ScanKernels& kernels_;
  const char* const end_;
  PromptSink& sink_;
  std::string_view problem_;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_PAYLOAD_PROMPT_WRITER_H_
