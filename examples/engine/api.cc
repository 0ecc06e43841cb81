// SPDX-License-Identifier: Apache-2.0

#include "api.h"

#include <ctime>
#include <utility>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace engine {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint32_t kMaxMaxTokens = 1'000'000;
constexpr std::string_view kToken = "yes ";  // What an answer consists of.
static_assert(kToken.size() == kBytesPerToken);

absl::Status Bad(const std::string& why) { return absl::InvalidArgumentError(why); }

std::string Dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string Text(uint32_t tokens) {
  std::string text;
  for (uint32_t i = 0; i < tokens; ++i) text += kToken;
  return text;
}

// A string, or a list of parts of which the texts count as they are.
void AppendContent(const Json& content, std::string* prompt) {
  if (content.is_string()) {
    *prompt += content.get_ref<const std::string&>();
  } else if (content.is_array()) {
    for (const Json& part : content) {
      const auto text = part.find("text");
      *prompt += text != part.end() && text->is_string() ? text->get_ref<const std::string&>() : Dump(part);
    }
  } else if (!content.is_null()) {
    *prompt += Dump(content);
  }
}

absl::Status AppendMessages(const Json& body, std::string* prompt) {
  if (const auto tools = body.find("tools"); tools != body.end()) *prompt += Dump(*tools);
  if (const auto system = body.find("system"); system != body.end()) AppendContent(*system, prompt);
  const auto messages = body.find("messages");
  if (messages == body.end() || !messages->is_array()) return Bad("messages: not a list");
  for (const Json& message : *messages) {
    if (!message.is_object() || !message.contains("role") || !message["role"].is_string()) {
      return Bad("messages: one has no role");
    }
    absl::StrAppend(prompt, "<|", message["role"].get_ref<const std::string&>(), "|>");
    if (message.contains("content")) AppendContent(message["content"], prompt);
    if (message.contains("tool_calls")) *prompt += Dump(message["tool_calls"]);
  }
  return absl::OkStatus();
}

absl::Status ReadMaxTokens(const Json& body, uint32_t* max_tokens) {
  for (const char* const name : {"max_tokens", "max_completion_tokens"}) {
    const auto field = body.find(name);
    if (field == body.end() || field->is_null()) continue;
    if (!field->is_number_unsigned() || *field == 0U || *field > kMaxMaxTokens) {
      return Bad(absl::StrCat(name, ": not an integer from 1 to ", kMaxMaxTokens));
    }
    *max_tokens = field->get<uint32_t>();
  }
  return absl::OkStatus();
}

Json Usage(const Call& call, const Sequence& sequence) {
  if (call.api == Api::kMessages) {
    return {{"input_tokens", sequence.prompt_tokens - sequence.cached_tokens},
            {"cache_read_input_tokens", sequence.cached_tokens},
            {"output_tokens", sequence.answered}};
  }
  return {{"prompt_tokens", sequence.prompt_tokens},
          {"completion_tokens", sequence.answered},
          {"total_tokens", sequence.prompt_tokens + sequence.answered},
          {"prompt_tokens_details", {{"cached_tokens", sequence.cached_tokens}}}};
}

Json OpenAiEnvelope(const Call& call, const char* object, Json choices) {
  return {{"id", call.id},
          {"object", object},
          {"created", std::time(nullptr)},
          {"model", call.model},
          {"choices", std::move(choices)}};
}

Json AnthropicMessage(const Call& call, const Sequence& sequence, Json content, Json stop_reason) {
  return {{"id", call.id},
          {"type", "message"},
          {"role", "assistant"},
          {"model", call.model},
          {"content", std::move(content)},
          {"stop_reason", std::move(stop_reason)},
          {"stop_sequence", nullptr},
          {"usage", Usage(call, sequence)}};
}

std::string Data(const Json& json) { return absl::StrCat("data: ", Dump(json), "\n\n"); }

std::string Event(const Json& json) {
  return absl::StrCat("event: ", json["type"].get_ref<const std::string&>(), "\n", Data(json));
}

// One event of a stream of OpenAI's: `tokens` more, or the last, with its reason.
std::string OpenAiEvent(const Call& call, uint32_t tokens, bool is_first, const Json& finish_reason) {
  Json choice = {{"index", 0}};
  if (call.api == Api::kCompletions) {
    choice["text"] = Text(tokens);
  } else {
    choice["delta"] = Json::object();
    if (is_first) choice["delta"]["role"] = "assistant";
    if (tokens > 0) choice["delta"]["content"] = Text(tokens);
  }
  choice["finish_reason"] = finish_reason;
  return Data(OpenAiEnvelope(call, call.api == Api::kCompletions ? "text_completion" : "chat.completion.chunk",
                             Json::array({choice})));
}

std::string OpenAiEvents(const Call& call, const Sequence& sequence, uint32_t sent) {
  std::string events = OpenAiEvent(call, sequence.answered - sent, sent == 0, nullptr);
  if (!sequence.done()) return events;
  events += OpenAiEvent(call, 0, false, "length");
  if (call.include_usage) {
    Json usage = OpenAiEnvelope(call, call.api == Api::kCompletions ? "text_completion" : "chat.completion.chunk",
                                Json::array());
    usage["usage"] = Usage(call, sequence);
    events += Data(usage);
  }
  return events + "data: [DONE]\n\n";
}

std::string AnthropicEvents(const Call& call, const Sequence& sequence, uint32_t sent) {
  std::string events;
  if (sent == 0) {
    events += Event({{"type", "message_start"}, {"message", AnthropicMessage(call, sequence, Json::array(), nullptr)}});
    events +=
        Event({{"type", "content_block_start"}, {"index", 0}, {"content_block", {{"type", "text"}, {"text", ""}}}});
  }
  events += Event({{"type", "content_block_delta"},
                   {"index", 0},
                   {"delta", {{"type", "text_delta"}, {"text", Text(sequence.answered - sent)}}}});
  if (!sequence.done()) return events;
  events += Event({{"type", "content_block_stop"}, {"index", 0}});
  events += Event({{"type", "message_delta"},
                   {"delta", {{"stop_reason", "max_tokens"}, {"stop_sequence", nullptr}}},
                   {"usage", {{"output_tokens", sequence.answered}}}});
  return events + Event({{"type", "message_stop"}});
}

}  // namespace

absl::StatusOr<Call> ParseCall(Api api, std::string_view body, uint64_t id) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return Bad("the body is not a JSON object");
  Call call;
  call.api = api;
  call.id = absl::StrCat(api == Api::kCompletions ? "cmpl-" : api == Api::kMessages ? "msg_" : "chatcmpl-", id);
  if (const auto model = json.find("model"); model != json.end()) {
    if (!model->is_string()) return Bad("model: not a string");
    call.model = model->get<std::string>();
  }
  if (const auto stream = json.find("stream"); stream != json.end() && !stream->is_null()) {
    if (!stream->is_boolean()) return Bad("stream: not a boolean");
    call.stream = stream->get<bool>();
  }
  if (const auto options = json.find("stream_options"); options != json.end() && options->is_object()) {
    call.include_usage = options->value("include_usage", Json()) == true;
  }
  if (absl::Status read = ReadMaxTokens(json, &call.max_tokens); !read.ok()) return read;
  if (api == Api::kCompletions) {
    const auto prompt = json.find("prompt");
    if (prompt == json.end() || !prompt->is_string()) return Bad("prompt: not a string");
    call.prompt = prompt->get<std::string>();
  } else if (absl::Status read = AppendMessages(json, &call.prompt); !read.ok()) {
    return read;
  }
  return call;
}

std::string Answer(const Call& call, const Sequence& sequence) {
  const std::string text = Text(sequence.answered);
  if (call.api == Api::kMessages) {
    const Json content = Json::array({{{"type", "text"}, {"text", text}}});
    return Dump(AnthropicMessage(call, sequence, content, "max_tokens"));
  }
  Json choice = {{"index", 0}};
  if (call.api == Api::kCompletions) {
    choice["text"] = text;
  } else {
    choice["message"] = {{"role", "assistant"}, {"content", text}};
  }
  choice["finish_reason"] = "length";
  Json answer = OpenAiEnvelope(call, call.api == Api::kCompletions ? "text_completion" : "chat.completion",
                               Json::array({choice}));
  answer["usage"] = Usage(call, sequence);
  return Dump(answer);
}

std::string Events(const Call& call, const Sequence& sequence, uint32_t sent) {
  return call.api == Api::kMessages ? AnthropicEvents(call, sequence, sent) : OpenAiEvents(call, sequence, sent);
}

std::string ErrorBody(Api api, const absl::Status& why) {
  Json error = {{"type", "invalid_request_error"}, {"message", std::string(why.message())}};
  if (api == Api::kMessages) return Dump({{"type", "error"}, {"error", error}});
  error["param"] = nullptr;
  error["code"] = nullptr;
  return Dump({{"error", error}});
}

std::string ModelList(std::string_view model) {
  const Json entry = {{"id", model}, {"object", "model"}, {"created", 0}, {"owned_by", "example"}};
  return Dump({{"object", "list"}, {"data", Json::array({entry})}});
}

}  // namespace engine
