// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/payload/bodies.h"

#include <random>
#include <string_view>

namespace prefixroute {
namespace {

using Random = std::minstd_rand;

std::string Words(size_t bytes, Random& random) {
  std::string text;
  while (text.size() < bytes) {
    if (!text.empty()) text += ' ';
    for (size_t letters = 2 + random() % 9; letters != 0; --letters) text += static_cast<char>('a' + random() % 26);
  }
  text.resize(bytes);
  return text;
}

std::string Lines(size_t bytes, Random& random) {
  std::string text;
  while (text.size() < bytes) text += Words(60 + random() % 40, random) + "\\n";
  return text;
}

std::string Code(size_t bytes, Random& random) {
  std::string text;
  while (text.size() < bytes) {
    text += "\\t\\tif " + Words(12, random) + "(\\\"" + Words(8, random) + "\\\") {\\n";
    text += "\\t\\t\\treturn " + Words(20, random) + ";\\n\\t\\t}\\n";
  }
  return text;
}

std::string Message(std::string_view role, const std::string& text) {
  return R"({"role": ")" + std::string(role) + R"(", "content": ")" + text + "\"}";
}

// As OpenAI's client in Python puts it: the model comes after the messages.
std::string Chat(const std::string& messages, const std::string& more = "") {
  return R"({"messages": [)" + messages + R"(], "model": "meta-llama/Llama-3.3-70B-Instruct")" + more +
         R"(, "max_tokens": 512, "stream": true, "temperature": 0.7})";
}

template <typename Text>
std::string FourMessages(size_t bytes, Random& random, Text text) {
  const size_t each = (bytes - 250) / 4;
  return Message("system", text(each, random)) + ", " + Message("user", text(each, random)) + ", " +
         Message("assistant", text(each, random)) + ", " + Message("user", text(each, random));
}

}  // namespace

std::string FewLongMessages(size_t bytes, unsigned seed) {
  Random random(seed);
  return Chat(FourMessages(bytes, random, Lines));
}

std::string ManyShortMessages(size_t bytes, unsigned seed) {
  Random random(seed);
  std::string messages = Message("system", Words(80, random));
  while (messages.size() < bytes - 300) {
    messages += ", " + Message("user", Words(40 + random() % 100, random));
    messages += ", " + Message("assistant", Words(100 + random() % 100, random));
  }
  return Chat(messages);
}

std::string EscapedText(size_t bytes, unsigned seed) {
  Random random(seed);
  return Chat(FourMessages(bytes, random, [](size_t size, Random& draw) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    while (text.size() + 6 <= size) {
      const unsigned code = 0x4e00 + draw() % 0x5000;
      text += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4) text += kDigits[code >> shift & 15];
    }
    return text;
  }));
}

std::string SourceCode(size_t bytes, unsigned seed) {
  Random random(seed);
  return Chat(FourMessages(bytes, random, Code));
}

std::string ManyTools(size_t bytes, unsigned seed) {
  Random random(seed);
  std::string tools;
  while (tools.size() < bytes / 4 * 3) {
    if (!tools.empty()) tools += ", ";
    tools += R"({"type": "function", "function": {"name": ")" + Words(12, random) + R"(", "description": ")" +
             Words(150, random) + R"(", "parameters": {"type": "object", "properties": {)";
    for (int i = 0; i < 4; ++i) {
      tools += (i == 0 ? "\"" : ", \"") + Words(8, random) + R"(": {"type": "string", "description": ")" +
               Words(60, random) + "\"}";
    }
    tools += R"(}, "required": ["a", "b"], "additionalProperties": false}}})";
  }
  return Chat(Message("user", Lines(bytes / 4 - 200, random)), R"(, "tools": [)" + tools + "]");
}

std::string Image(size_t bytes, unsigned seed) {
  Random random(seed);
  std::string data;
  while (data.size() < bytes - 300) data += static_cast<char>('A' + random() % 26);
  return Chat(
      R"({"role": "user", "content": [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": )"
      R"({"url": "data:image/png;base64,)" +
      data + R"("}}]})");
}

std::string TokenIds(size_t bytes, unsigned seed) {
  Random random(seed);
  std::string ids;
  while (ids.size() < bytes - 60) ids += (ids.empty() ? "" : ", ") + std::to_string(random() % 128'000);
  return R"({"input_ids": [)" + ids + R"(], "sampling_params": {"max_new_tokens": 8}})";
}

}  // namespace prefixroute
