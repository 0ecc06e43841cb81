// SPDX-License-Identifier: Apache-2.0
//
// For tests: docs/payloads.md in another language, so to speak: the canonical bytes of a body that a general parser has
// read. Shares nothing with the library.

#ifndef PREFIXROUTE_TESTS_PAYLOAD_REFERENCE_H_
#define PREFIXROUTE_TESTS_PAYLOAD_REFERENCE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"
#include "tests/payload/canonical.h"
#define XXH_NAMESPACE payload_reference_
#define XXH_STATIC_LINKING_ONLY
#define XXH_IMPLEMENTATION
#define XXH_VECTOR XXH_SCALAR
#include <xxhash.h>

namespace prefixroute {

using Json = nlohmann::ordered_json;

inline std::string ReferenceDigest(std::string_view bytes) {
  char text[18];
  std::snprintf(text, sizeof(text), "#%016llx",
                static_cast<unsigned long long>(XXH3_64bits(bytes.data(), bytes.size())));
  return text;
}

enum class ReferenceMode { kByName, kPlain, kDigests };

inline std::string ReferenceJson(const Json& value, ReferenceMode mode = ReferenceMode::kByName) {
  using Names = std::set<std::string>;
  if (value.is_string()) {
    return mode == ReferenceMode::kDigests ? ReferenceDigest(value.get<std::string>())
                                           : JsonText(value.get<std::string>());
  }
  if (value.is_array()) {
    std::string text = "[";
    for (const Json& element : value) text += ReferenceJson(element, mode);
    return text + "]";
  }
  if (!value.is_object()) return value.dump() + ",";
  std::string text = "{";
  bool document = false;
  for (const auto& [name, written] : value.items()) {
    if (name == "cache_control" && mode != ReferenceMode::kPlain) continue;
    text += JsonText(name);
    if (mode != ReferenceMode::kByName) {
      text += ReferenceJson(written, mode);
      continue;
    }
    Json member = written;
    if (name == "content" && member.is_string()) member = Json::array({{{"type", "text"}, {"text", written}}});
    if (name == "type" && member.is_string()) document = member == "text";
    if (member.is_structured()) document = false;
    const bool medium =
        Names{"url", "image_url", "audio_url", "video_url", "file_url", "multi_modal_data"}.count(name) != 0 ||
        (Names{"data", "file_data"}.count(name) != 0 && !document);
    ReferenceMode below = mode;
    if (name == "multi_modal_data" || (medium && member.is_string())) below = ReferenceMode::kDigests;
    if (Names{"properties", "input_schema", "parameters", "input", "arguments"}.count(name) != 0) {
      below = ReferenceMode::kPlain;
    }
    text += ReferenceJson(member, below);
  }
  return text + "}";
}

inline std::string ReferenceMember(const std::string& name, const Json& value, bool digests) {
  if (value.is_null() || (value.is_array() && value.empty())) return "";
  return Piece('F', name + ":" + ReferenceJson(value, digests ? ReferenceMode::kDigests : ReferenceMode::kByName));
}

inline std::string ReferenceText(const std::string& text) { return text.empty() ? "" : Piece('C', text); }

inline std::string ReferenceContent(const Json& content) {
  if (content.is_null()) return "";
  if (content.is_string()) return ReferenceText(content.get<std::string>());
  if (content.is_array()) {
    std::string text;
    for (const Json& block : content) {
      text += block.is_array() || block.is_null() ? Piece('B', ReferenceJson(block)) : ReferenceContent(block);
    }
    return text;
  }
  if (content.is_object() && content.contains("text") && content["text"].is_string()) {
    std::string text = ReferenceText(content["text"].get<std::string>());
    for (const char* name : {"image", "image_url", "audio_url", "video_url", "input_audio", "file", "file_data",
                             "file_url", "source", "data", "url"}) {
      if (content.contains(name)) text += ReferenceMember(name, content[name], true);
    }
    return text;
  }
  return Piece('B', ReferenceJson(content));
}

inline std::string ReferenceMessage(const Json& message) {
  const auto has = [&](const char* name) { return message.contains(name) && !message[name].is_null(); };
  if (!has("role")) return ReferenceContent(message);
  std::string text = Piece('M', message["role"].get<std::string>());
  if (has("content")) text += ReferenceContent(message["content"]);
  if (has("images")) text += ReferenceMember("images", message["images"], true);
  for (const char* name : {"reasoning_content", "reasoning", "tool_calls", "function_call", "tool_call_id", "name"}) {
    if (has(name)) text += ReferenceMember(name, message[name], false);
  }
  return text;
}

inline std::string ReferencePrompt(const Json& prompt, bool as_message) {
  if (prompt.is_string()) {
    const std::string text = prompt.get<std::string>();
    return as_message ? Piece('M', "user") + ReferenceText(text) : Piece('P', text);
  }
  if (prompt.is_object()) return Piece('J', ReferenceJson(prompt));
  if (prompt.empty()) return "";
  std::string text;
  if (prompt[0].is_object()) {
    for (const Json& message : prompt) text += ReferenceMessage(message);
    return text;
  }
  const bool numbers = std::any_of(prompt.begin(), prompt.end(), [](const Json& each) { return each.is_number(); });
  if (prompt[0].is_array() || (prompt[0].is_string() && !numbers)) return ReferencePrompt(prompt[0], as_message);
  bool tokens = false;
  for (const Json& each : prompt) {
    if (each.is_string()) {
      text += ReferencePrompt(each, as_message);
    } else {
      text += (tokens ? "" : Piece('K', "")) + each.dump() + ",";
    }
    tokens = !each.is_string();
  }
  return text;
}

inline std::string ReferenceCanonical(const Json& body) {
  const auto has = [&](const char* name) { return body.contains(name) && !body[name].is_null(); };
  std::string text;
  for (const char* name : {"tools", "functions"}) {
    if (!has(name)) continue;
    if (!body[name].is_array()) {
      text += Piece('T', ReferenceJson(body[name]));
      continue;
    }
    for (const Json& tool : body[name]) text += Piece('T', ReferenceJson(tool));
  }
  for (const char* name : {"system", "instructions"}) {
    if (has(name)) text += Piece('M', "system") + ReferenceContent(body[name]);
  }
  if (!has("messages") && has("input") && has("prompt")) text += Piece('G', ReferenceJson(body["prompt"]));
  if (has("previous_response_id")) text += Piece('R', body["previous_response_id"].get<std::string>());
  if (has("conversation")) {
    const Json& conversation = body["conversation"];
    const Json id = conversation.is_object() ? conversation.value("id", Json()) : conversation;
    if (id.is_string() && id != "") text += Piece('N', id.get<std::string>());
  }
  for (const char* name : {"multi_modal_data", "image_data", "video_data", "audio_data"}) {
    if (!has(name)) continue;
    if (!body[name].is_array()) {
      text += ReferenceMember(name, body[name], true);
      continue;
    }
    for (const Json& medium : body[name]) text += ReferenceMember(name, medium, true);
  }
  for (const char* name : {"messages", "input", "prompt", "inputs", "text", "input_ids", "prompt_token_ids"}) {
    if (!has(name) || (std::string_view(name) == "text" && body[name].is_object())) continue;
    return text + ReferencePrompt(body[name], std::string_view(name) == "input");
  }
  return text;
}

}  // namespace prefixroute

#endif  // PREFIXROUTE_TESTS_PAYLOAD_REFERENCE_H_
