// SPDX-License-Identifier: Apache-2.0
//
// For tests: bodies of every form, at random.

#ifndef PREFIXROUTE_TESTS_PAYLOAD_RANDOM_BODY_H_
#define PREFIXROUTE_TESTS_PAYLOAD_RANDOM_BODY_H_

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>

#include "nlohmann/json.hpp"

namespace prefixroute {

class BodyMaker {
 public:
  using Json = nlohmann::ordered_json;

  explicit BodyMaker(uint64_t seed) : random_(seed) {}

  Json Body() {
    Json body;
    if (Chance(3)) body["model"] = Text(12);
    if (Chance(2)) body["stream"] = Chance(2);
    if (Chance(4)) body["cache_salt"] = Text(8);
    if (Chance(3)) body["unknown"] = Any(3);
    if (Chance(4)) body["instructions"] = Text(60);
    switch (random_() % 7) {
      case 0:
        body["prompt"] = Prompt();
        break;
      case 1:
        if (Chance(4)) body["conversation"] = Chance(2) ? Json(Id()) : Json({{"id", Id()}});
        if (Chance(4)) body["previous_response_id"] = Id();
        body["input"] = Chance(3) ? Json(Text(900)) : Chance(2) ? Prompt() : Messages();
        if (Chance(4)) body["prompt"] = {{"id", Text(9)}, {"variables", Any(2)}};
        break;
      case 2:
        body["inputs"] = Prompt();
        body["parameters"] = {{"top_p", 1}, {"adapter_id", Text(9)}};
        break;
      case 3:
        if (Chance(3)) body[Pick({"image_data", "audio_data", "video_data", "multi_modal_data"})] = Any(3);
        body[Chance(2) ? "input_ids" : "prompt_token_ids"] = Tokens();
        break;
      default:
        body["messages"] = Messages();
        if (Chance(3)) body["system"] = Content();
        if (Chance(2)) body["tools"] = Several(4, [this] { return Any(4); });
    }
    return body;
  }

  Json Messages() {
    return Several(8, [this] {
      Json message;
      // What has no role is a block; it must be known for one at once, for its members keep their order.
      if (Chance(8)) return Json({{"type", "function_call"}, {"name", Text(9)}, {"arguments", Text(90)}});
      message["role"] = Pick({"system", "user", "assistant", "tool"});
      if (!Chance(8)) message["content"] = Content();
      if (Chance(6)) message["images"] = Any(2);
      if (Chance(6)) message["tool_calls"] = Several(3, [this] { return Any(3); });
      if (Chance(6)) message["tool_call_id"] = Text(9);
      if (Chance(6)) message["name"] = Text(9);
      if (Chance(9)) message["reasoning_content"] = Text(99);
      if (Chance(6)) message["unknown"] = Any(2);
      return message;
    });
  }

  Json Any(int levels) {
    switch (random_() % (levels > 0 ? 7 : 4)) {
      case 0:
        return static_cast<int64_t>(random_());
      case 1:
        return Chance(3) ? Json(nullptr) : Json(Chance(2));
      case 2:
      case 3:
        return Text(60);
      case 4:
        return Several(4, [&] { return Any(levels - 1); });
      default: {
        Json object = Json::object();
        for (uint64_t i = random_() % 5; i != 0; --i) {
          object[Chance(2) ? Pick({"cache_control", "data", "url", "c", "type", "file_url", "datum", "content",
                                   "parameters", "input", "multi_modal_data"})
                           : Text(9)] = Chance(6) ? Json("text") : Any(levels - 1);
        }
        return object;
      }
    }
  }

 private:
  bool Chance(uint64_t of) { return random_() % of == 0; }

  std::string Pick(std::initializer_list<const char*> of) { return of.begin()[random_() % of.size()]; }

  template <typename Make>
  Json Several(uint64_t at_most, Make make) {
    Json array = Json::array();
    for (uint64_t i = random_() % (at_most + 1); i != 0; --i) array.push_back(make());
    return array;
  }

  Json Content() {
    switch (random_() % 5) {
      case 0:
        return nullptr;
      case 1:
      case 2:
        return Text(Chance(4) ? 3'000 : 200);
      default:
        return Several(4, [this]() -> Json {
          if (Chance(6)) return Text(30);
          if (Chance(3)) return {{"type", "text"}, {"text", Text(300)}, {"url", Any(1)}, {"image_url", Any(2)}};
          if (Chance(2)) return {{"type", "text"}, {"text", Text(300)}, {"cache_control", Any(2)}};
          return {{"type", "image_url"}, {"image_url", {{"url", Text(1'500)}, {"detail", "low"}}}};
        });
    }
  }

  std::string Id() { return "id_" + Text(9); }

  Json Prompt() {
    switch (random_() % 6) {
      case 0:
        return Several(4, [this] { return Text(200); });
      case 1:
        return Tokens();
      case 2:
        return Several(3, [this] { return Tokens(); });
      case 3:
        return Several(5, [this] { return Chance(2) ? Json(Text(50)) : Json(random_() % 200'000); });
      default:
        return Text(Chance(4) ? 30'000 : 300);
    }
  }

  Json Tokens() {
    return Several(400, [this] { return Json(random_() % 200'000); });
  }

  std::string Text(uint64_t at_most) {
    constexpr const char* kCharacters[] = {
        "\"", "\\", "\n", "/", "\t", "\x01", "\x7f", "\xc3\xa4",         "\xe4\xbd\xa0",     "\xed\x9f\xbf", "{",
        "}",  "[",  "]",  ":", ",",  " ",    "u",    "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf", "cache_control"};
    // Some texts are nearly all letters, so that there are long runs without escapes.
    const uint64_t plain = Chance(2) ? 3 : 1'000;
    std::string text;
    for (uint64_t i = random_() % (at_most + 1); i != 0; --i) {
      if (Chance(plain)) {
        text += kCharacters[random_() % std::size(kCharacters)];
      } else {
        text += static_cast<char>('a' + random_() % 26);
      }
    }
    return text;
  }

  std::mt19937_64 random_;
};

}  // namespace prefixroute

#endif  // PREFIXROUTE_TESTS_PAYLOAD_RANDOM_BODY_H_
