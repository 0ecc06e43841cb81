// SPDX-License-Identifier: Apache-2.0
//
// For tests: docs/payloads.md in another language, so to speak: the canonical bytes of a body that a general parser has
// read. Shares nothing with the library.

#ifndef PREFIXROUTE_TESTS_PAYLOAD_REFERENCE_H_
#define PREFIXROUTE_TESTS_PAYLOAD_REFERENCE_H_

#include <array>
#include <cstdint>
#include <cstdio>
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

inline std::string ReferenceJson(const Json& value) {
  if (value.is_string()) return JsonText(value.get<std::string>());
  if (value.is_array()) {
    std::string text = "[";
    for (const Json& element : value) text += ReferenceJson(element);
    return text + "]";
  }
  if (!value.is_object()) return value.dump() + ",";
  std::string text = "{";
  for (const auto& [name, member] : value.items()) {
    if (name == "cache_control") continue;
    const bool medium = name == "data" || name == "url" || name == "image_url" || name == "audio_url" ||
                        name == "video_url" || name == "file_data" || name == "file_url";
    text += JsonText(name);
    text += medium && member.is_string() ? ReferenceDigest(member.get<std::string>()) : ReferenceJson(member);
  }
  return text + "}";
}

inline std::string ReferenceContent(const Json& content) {
  if (content.is_null()) return "";
  if (content.is_string()) return Piece('C', content.get<std::string>());
  if (content.is_array()) {
    std::string text;
    for (const Json& block : content) {
      text += block.is_array() || block.is_null() ? Piece('B', ReferenceJson(block)) : ReferenceContent(block);
    }
    return text;
  }
  if (content.is_object() && content.contains("text") && content["text"].is_string()) {
    return Piece('C', content["text"].get<std::string>());
  }
  return Piece('B', ReferenceJson(content));
}

inline std::string ReferenceMessage(const Json& message) {
  const auto has = [&](const char* name) { return message.contains(name) && !message[name].is_null(); };
  if (!has("role")) return ReferenceContent(message);
  std::string text = Piece('M', message["role"].get<std::string>());
  if (has("content")) text += ReferenceContent(message["content"]);
  for (const char* name : {"reasoning_content", "reasoning", "tool_calls", "function_call", "tool_call_id", "name"}) {
    if (has(name)) text += Piece('F', std::string(name) + ":" + ReferenceJson(message[name]));
  }
  return text;
}

inline std::string ReferencePrompt(const Json& prompt) {
  if (prompt.is_string()) return Piece('P', prompt.get<std::string>());
  if (prompt.is_object()) return Piece('J', ReferenceJson(prompt));
  if (prompt.empty()) return "";
  if (prompt[0].is_string() || prompt[0].is_array()) return ReferencePrompt(prompt[0]);
  std::string text;
  if (prompt[0].is_object()) {
    for (const Json& message : prompt) text += ReferenceMessage(message);
    return text;
  }
  for (const Json& token : prompt) text += token.dump() + ",";
  return Piece('K', text);
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
  if (has("previous_response_id")) text += Piece('R', body["previous_response_id"].get<std::string>());
  for (const char* name : {"messages", "input", "prompt", "inputs", "text", "input_ids", "prompt_token_ids"}) {
    if (!has(name) || (std::string_view(name) == "text" && body[name].is_object())) continue;
    if (std::string_view(name) == "input" && body[name].is_string()) {
      return text + MessagePiece("user", body[name].get<std::string>());
    }
    return text + ReferencePrompt(body[name]);
  }
  return text;
}

}  // namespace prefixroute

#endif  // PREFIXROUTE_TESTS_PAYLOAD_REFERENCE_H_
