// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "prefixroute/payload.h"
#include "src/payload/prompt_sink.h"
#include "src/payload/prompt_writer.h"
#include "src/payload/scan.h"
#include "src/payload/text.h"

namespace prefixroute {
namespace {

using internal::Extent;
using internal::IsNull;
using internal::Members;
using internal::PromptSink;
using internal::PromptWriter;
using internal::SkipSpace;

enum Field : size_t {
  kModel,
  kLoraPath,
  kAdapters,
  kCacheSalt,
  kUser,
  kPromptCacheKey,
  kPreviousResponseId,
  kConversation,
  kStream,
  kMetadata,
  kParameters,
  kTools,
  kFunctions,
  kSystem,
  kInstructions,
  kMessages,
  kPrompt,
  kInput,
  kInputs,
  kText,
  kInputIds,
  kPromptTokenIds,
  kMultiModalData,
  kImageData,
  kVideoData,
  kAudioData,
  kAnthropicVersion,
  kStopSequences,
  kThinking,
  kFieldCount
};

constexpr std::array<std::string_view, kFieldCount> kFieldNames = {"model",
                                                                   "lora_path",
                                                                   "adapters",
                                                                   "cache_salt",
                                                                   "user",
                                                                   "prompt_cache_key",
                                                                   "previous_response_id",
                                                                   "conversation",
                                                                   "stream",
                                                                   "metadata",
                                                                   "parameters",
                                                                   "tools",
                                                                   "functions",
                                                                   "system",
                                                                   "instructions",
                                                                   "messages",
                                                                   "prompt",
                                                                   "input",
                                                                   "inputs",
                                                                   "text",
                                                                   "input_ids",
                                                                   "prompt_token_ids",
                                                                   "multi_modal_data",
                                                                   "image_data",
                                                                   "video_data",
                                                                   "audio_data",
                                                                   "anthropic_version",
                                                                   "stop_sequences",
                                                                   "thinking"};

// Where each field's value begins; null where it is missing, or null.
using Values = std::array<const char*, kFieldCount>;

// In this order the fields that hold a prompt count. (Beside an input `prompt` names a template.)
constexpr std::array<Field, 7> kPromptFields = {kMessages, kInput, kPrompt, kInputs, kText, kInputIds, kPromptTokenIds};

Field PromptFieldOf(const Values& values) {
  for (const Field field : kPromptFields) {
    if (values[field] != nullptr) return field;
  }
  return kFieldCount;
}

PayloadForm FormOf(Field prompt_field, const Values& values) {
  switch (prompt_field) {
    case kMessages: {
      const bool anthropic = values[kSystem] != nullptr || values[kAnthropicVersion] != nullptr ||
                             values[kStopSequences] != nullptr || values[kThinking] != nullptr;
      return anthropic ? PayloadForm::kAnthropicMessages : PayloadForm::kChat;
    }
    case kPrompt:
      return PayloadForm::kCompletion;
    case kInput:
      return PayloadForm::kResponses;
    case kInputs:
      return PayloadForm::kInputs;
    default:
      return PayloadForm::kGenerate;
  }
}

// The value of the one member `name` of the object that a field has.
const char* MemberOf(const char* value, const char* end, std::string_view name) {
  if (value == nullptr || *value != '{') return nullptr;
  return Members<1>(value, end, {name}).values[0];
}

// A string that is to be had at once: where it has escapes, there is a place for what it says.
class ShortText {
 public:
  // Sets `text` to the string at `value`, or the first of an array of them; leaves it where there is none, or no end of
  // it. False if it has escapes, and can't be decoded or isn't short.
  bool Read(const char* value, const char* end, std::string_view& text) {
    if (value != nullptr && *value == '[') value = SkipSpace(value + 1, end);
    if (value == nullptr || value == end || *value != '"') return true;
    const char* const after = internal::SkipString(value + 1, end);
    if (after == nullptr) return true;
    text = std::string_view(value + 1, static_cast<size_t>(after - 1 - (value + 1)));
    if (text.find('\\') == std::string_view::npos) return true;
    if (text.size() > kMaxBytes) return false;
    decoded_.clear();
    if (!internal::DecodeString(value + 1, after - 1, *this)) return false;
    text = decoded_;
    return true;
  }

  void Append(std::string_view piece) { decoded_.append(piece); }

 private:
  static constexpr size_t kMaxBytes = 64 << 10;

  std::string decoded_;
};

}  // namespace

std::string_view PayloadFormName(PayloadForm form) {
  switch (form) {
    case PayloadForm::kRaw:
      return "raw";
    case PayloadForm::kChat:
      return "chat";
    case PayloadForm::kAnthropicMessages:
      return "anthropic_messages";
    case PayloadForm::kCompletion:
      return "completion";
    case PayloadForm::kResponses:
      return "responses";
    case PayloadForm::kInputs:
      return "inputs";
    case PayloadForm::kGenerate:
      return "generate";
  }
  return "";
}

class PayloadReader::Impl {
 public:
  explicit Impl(uint64_t max_prefix_bytes) : max_prefix_bytes_(max_prefix_bytes), sink_(max_prefix_bytes) {}

  const Payload& Read(std::string_view body, BodyPart part, std::string_view scope) {
    payload_ = Payload();
    conversation_ = {};
    const std::string_view problem = ReadObject(body, part, scope);
    if (problem.empty()) {
      payload_.prompt_bytes = sink_.bytes();
      payload_.key = sink_.Key();
    } else {
      payload_ = Payload();
      payload_.fallback = problem;
      payload_.prompt_bytes = body.size();
      payload_.key = MakePrefixKey(body, scope, max_prefix_bytes_);
    }
    return payload_;
  }

 private:
  // Returns what keeps the body from being understood; nothing if it is.
  std::string_view ReadObject(std::string_view body, BodyPart part, std::string_view scope);
  bool ReadShortTexts(const Values& values, const char* end);
  void AddScope(std::string_view name, std::string_view value);
  bool WritePrompt(const Values& values, Field prompt_field, PromptWriter& writer) const;

  static constexpr size_t kShortTexts = 7;

  const uint64_t max_prefix_bytes_;
  PromptSink sink_;
  Payload payload_;
  std::string_view conversation_;
  std::array<ShortText, kShortTexts> short_texts_;
};

std::string_view PayloadReader::Impl::ReadObject(std::string_view body, BodyPart part, std::string_view scope) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (body.substr(0, kByteOrderMark.size()) == kByteOrderMark) body.remove_prefix(kByteOrderMark.size());
  const char* const end = body.data() + body.size();
  const char* const begin = SkipSpace(body.data(), end);
  if (begin == end || *begin != '{') return "not a JSON object";
  Members members(begin, end, kFieldNames);
  if (members.extent == Extent::kMalformed) return "not JSON";
  if (members.extent == Extent::kCut && part == BodyPart::kWhole) return "the JSON ends early";
  if (members.extent == Extent::kWhole && SkipSpace(members.after, end) != end) return "more than one JSON document";

  Values& values = members.values;
  for (const char*& value : values) {
    if (value != nullptr && IsNull(value, end)) value = nullptr;
  }
  // That of responses says how to answer.
  if (values[kText] != nullptr && *values[kText] == '{') values[kText] = nullptr;
  const Field prompt_field = PromptFieldOf(values);
  if (prompt_field == kFieldCount) return "no field that holds a prompt";
  payload_.form = FormOf(prompt_field, values);
  payload_.stream = values[kStream] != nullptr && *values[kStream] == 't';
  if (!ReadShortTexts(values, end)) return "a name is too long, or has an escape that JSON doesn't know";

  sink_.Clear();
  sink_.AddScope(scope);
  AddScope("model", payload_.model);
  AddScope("adapter", payload_.adapter);
  AddScope("cache_salt", payload_.cache_salt);
  PromptWriter writer(end, sink_);
  const bool complete = WritePrompt(values, prompt_field, writer);
  if (!writer.problem().empty()) return writer.problem();
  return complete || part == BodyPart::kFirst ? "" : "not JSON";
}

bool PayloadReader::Impl::ReadShortTexts(const Values& values, const char* end) {
  struct ToRead {
    std::string_view& text;
    const char* value;
    bool of_key;
  };
  const char* adapter = values[kLoraPath] != nullptr ? values[kLoraPath] : values[kAdapters];
  if (adapter == nullptr) adapter = MemberOf(values[kParameters], end, "adapter_id");
  const char* const user = values[kUser] != nullptr ? values[kUser] : MemberOf(values[kMetadata], end, "user_id");
  const char* conversation = values[kConversation];
  if (conversation != nullptr && *conversation == '{') conversation = MemberOf(conversation, end, "id");
  const std::array<ToRead, kShortTexts> all = {{{payload_.model, values[kModel], true},
                                                {payload_.adapter, adapter, true},
                                                {payload_.cache_salt, values[kCacheSalt], true},
                                                {payload_.user, user, false},
                                                {payload_.prompt_cache_key, values[kPromptCacheKey], false},
                                                {payload_.previous_response_id, values[kPreviousResponseId], true},
                                                {conversation_, conversation, true}}};
  for (size_t i = 0; i < kShortTexts; ++i) {
    if (short_texts_[i].Read(all[i].value, end, all[i].text)) continue;
    if (all[i].of_key) return false;
    all[i].text = {};
  }
  return true;
}

void PayloadReader::Impl::AddScope(std::string_view name, std::string_view value) {
  if (value.empty()) return;
  sink_.AddScope(name);
  sink_.AddScope(value);
}

bool PayloadReader::Impl::WritePrompt(const Values& values, Field prompt_field, PromptWriter& writer) const {
  for (const Field field : {kTools, kFunctions}) {
    if (values[field] != nullptr && !writer.Tools(values[field])) return false;
  }
  for (const Field field : {kSystem, kInstructions}) {
    if (values[field] != nullptr && !writer.MessageOf("system", values[field])) return false;
  }
  if (prompt_field == kInput && values[kPrompt] != nullptr && !writer.Template(values[kPrompt])) return false;
  if (!payload_.previous_response_id.empty()) writer.Reference('R', payload_.previous_response_id);
  if (!conversation_.empty()) writer.Reference('N', conversation_);
  for (const Field field : {kMultiModalData, kImageData, kVideoData, kAudioData}) {
    if (values[field] != nullptr && !writer.Media(kFieldNames[field], values[field])) return false;
  }
  const char* const prompt = values[prompt_field];
  switch (prompt_field) {
    case kMessages:
      return writer.Messages(prompt);
    case kInput:
      return writer.Input(prompt);
    default:
      return writer.Prompt(prompt);
  }
}

PayloadReader::PayloadReader(uint64_t max_prefix_bytes) : impl_(std::make_unique<Impl>(max_prefix_bytes)) {}
PayloadReader::PayloadReader(PayloadReader&&) noexcept = default;
PayloadReader& PayloadReader::operator=(PayloadReader&&) noexcept = default;
PayloadReader::~PayloadReader() = default;

const Payload& PayloadReader::Read(std::string_view body, BodyPart part, std::string_view scope) {
  return impl_->Read(body, part, scope);
}

}  // namespace prefixroute
