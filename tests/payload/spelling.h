// SPDX-License-Identifier: Apache-2.0
//
// For tests: one JSON value in the many ways in which it can be written.

#ifndef PREFIXROUTE_TESTS_PAYLOAD_SPELLING_H_
#define PREFIXROUTE_TESTS_PAYLOAD_SPELLING_H_

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"

namespace prefixroute {

// Writes values with random space and random escapes; and members of the outer `shuffled_levels` objects, one within
// the other, in random order.
class Speller {
 public:
  explicit Speller(uint64_t seed) : random_(seed) {}

  std::string SpellBody(const nlohmann::ordered_json& body) { return Spell(body, true); }
  // The body's own members stay where they are.
  std::string SpellInOrder(const nlohmann::ordered_json& body) { return Spell(body); }

 private:
  std::string Spell(const nlohmann::ordered_json& value, bool shuffled = false) {
    if (value.is_string()) return Quoted(value.get<std::string>());
    if (value.is_array()) {
      std::string text = "[" + Space();
      for (size_t i = 0; i < value.size(); ++i) {
        text += (i == 0 ? "" : "," + Space()) + Spell(value[i]) + Space();
      }
      return text + "]";
    }
    if (!value.is_object()) return value.dump();
    std::vector<std::string> members;
    for (const auto& [name, member] : value.items()) {
      members.push_back(Quoted(name) + Space() + ":" + Space() + Spell(member));
    }
    // A block of text; elsewhere order matters.
    const bool block = value.contains("text") && value.value("type", nlohmann::ordered_json()) == "text";
    if (shuffled || block || value.contains("role")) std::shuffle(members.begin(), members.end(), random_);
    std::string text = "{" + Space();
    for (size_t i = 0; i < members.size(); ++i) text += (i == 0 ? "" : "," + Space()) + members[i] + Space();
    return text + "}";
  }

  std::string Space() {
    std::string space;
    while (random_() % 3 == 0) space += " \n\t\r"[random_() % 4];
    return space;
  }

  // `text` is UTF-8.
  std::string Quoted(std::string_view text) {
    std::string spelled = "\"";
    const bool wordy = random_() % 2 == 0;
    while (!text.empty()) {
      const auto lead = static_cast<unsigned char>(text[0]);
      const size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
      const bool must = lead < 0x20 || lead == '"' || lead == '\\';
      if (must || (wordy && random_() % 4 == 0)) {
        spelled += Escaped(text.substr(0, size));
      } else {
        spelled += text.substr(0, size);
      }
      text.remove_prefix(size);
    }
    return spelled + "\"";
  }

  std::string Escaped(std::string_view character) {
    constexpr std::string_view kSaid = "\"\\/\b\f\n\r\t";
    constexpr std::string_view kSimple = "\"\\/bfnrt";
    const size_t simple = character.size() == 1 ? kSaid.find(character[0]) : std::string_view::npos;
    if (simple != std::string_view::npos && random_() % 2 == 0) return std::string("\\") + kSimple[simple];
    uint32_t code = static_cast<unsigned char>(character[0]);
    if (character.size() > 1) code &= 0x7f >> character.size();
    for (size_t i = 1; i < character.size(); ++i) code = code << 6 | (static_cast<unsigned char>(character[i]) & 0x3f);
    if (code < 0x10000) return Unit(code);
    return Unit(0xd800 + ((code - 0x10000) >> 10)) + Unit(0xdc00 + (code & 0x3ff));
  }

  std::string Unit(uint32_t unit) {
    char text[8];
    std::snprintf(text, sizeof(text), random_() % 2 == 0 ? "\\u%04x" : "\\u%04X", unit);
    return text;
  }

  std::mt19937_64 random_;
};

}  // namespace prefixroute

#endif  // PREFIXROUTE_TESTS_PAYLOAD_SPELLING_H_
