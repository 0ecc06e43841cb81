// SPDX-License-Identifier: Apache-2.0
//
// The first part of a body that is still arriving.

#include <string>

#include "gtest/gtest.h"
#include "tests/payload/canonical.h"
#include "tests/payload/guarded.h"
#include "tests/payload/random_body.h"
#include "tests/payload/reference.h"
#include "tests/payload/spelling.h"

namespace prefixroute {
namespace {

// The body, with what comes first in the prompt first, and the scope before.
Json InOrder(const Json& body) {
  Json ordered;
  for (const char* name : {"stream", "model", "cache_salt", "parameters", "tools", "system", "instructions"}) {
    if (body.contains(name)) ordered[name] = body[name];
  }
  for (const auto& [name, value] : body.items()) ordered[name] = value;
  // A template that came before the input would be the prompt until then.
  if (body.contains("input")) ordered.erase("prompt");
  return ordered;
}

TEST(PayloadPartialTest, EveryPartHasTheKeyOfSoMuchOfThePrompt) {
  BodyMaker maker(5);
  Speller speller(6);
  PayloadReader reader;
  Guarded memory(1 << 20);
  for (int round = 0; round < 60; ++round) {
    const Json body = InOrder(maker.Body());
    const std::string whole = speller.SpellInOrder(body);
    if (whole.size() > 20'000) continue;
    SCOPED_TRACE(whole);
    const std::string canonical = ReferenceCanonical(body);
    const PrefixKey key = reader.Read(whole).key;
    ASSERT_EQ(reader.Read(whole).fallback, "");
    uint64_t bytes = 0;
    bool understood = false;
    for (size_t size = 0; size <= whole.size(); ++size) {
      const Payload& payload = reader.Read(memory.AtEnd(std::string_view(whole).substr(0, size)), BodyPart::kFirst);
      if (!payload.fallback.empty()) {
        // Nothing is taken back.
        ASSERT_FALSE(understood) << size << ' ' << payload.fallback;
        continue;
      }
      understood = true;
      ASSERT_GE(payload.prompt_bytes, bytes) << size;
      bytes = payload.prompt_bytes;
      ASSERT_LE(bytes, canonical.size()) << size;
      const Scope scope = {"", payload.model, payload.adapter, payload.cache_salt};
      ASSERT_EQ(payload.key, KeyOf(canonical.substr(0, bytes), scope)) << size;
      for (size_t i = 0; i < payload.key.depth_count() && payload.key.depth(i) == kPrefixDepths[i]; ++i) {
        ASSERT_EQ(payload.key.fingerprint(i), key.fingerprint(i)) << size;
      }
    }
    ASSERT_EQ(bytes, canonical.size());
  }
}

TEST(PayloadPartialTest, AllTextThatIsThereCounts) {
  PayloadReader reader;
  const std::string begin = R"({"model": "m", "messages": [{"role": "system", "content": "S"}, {"role": "user", )"
                            R"("content": [{"type": "text", "text": ")";
  const Scope scope = {"", "m", "", ""};
  const std::string canonical = MessagePiece("system", "S") + Piece('M', "user");
  for (const size_t size : {0, 1, 63, 64, 65, 511, 512, 513, 5'000, 20'000, 100'000}) {
    const std::string text(size, 'x');
    const Payload& payload = reader.Read(begin + text, BodyPart::kFirst);
    EXPECT_EQ(payload.form, PayloadForm::kChat);
    // No empty text counts.
    const std::string content = size == 0 ? "" : Piece('C', text);
    EXPECT_EQ(payload.prompt_bytes, canonical.size() + content.size());
    ExpectSameKey(payload.key, KeyOf(canonical + content, scope));
  }
}

TEST(PayloadPartialTest, FormIsKnownAsSoonAsItsFieldBegins) {
  PayloadReader reader;
  EXPECT_EQ(reader.Read(R"({"messages": )", BodyPart::kFirst).form, PayloadForm::kRaw);
  EXPECT_EQ(reader.Read(R"({"messages": [)", BodyPart::kFirst).form, PayloadForm::kChat);
  EXPECT_EQ(reader.Read(R"({"prompt": ")", BodyPart::kFirst).form, PayloadForm::kCompletion);
  EXPECT_EQ(reader.Read("", BodyPart::kFirst).fallback, "not a JSON object");
  EXPECT_EQ(reader.Read(R"({"model": "m")", BodyPart::kFirst).fallback, "no field that holds a prompt");
}

// What may be left out, or joined with what follows, is not counted before that is known.
TEST(PayloadPartialTest, WhatTheNextBytesMayChangeWaits) {
  PayloadReader reader;
  const auto bytes = [&](const std::string& body) { return reader.Read(body, BodyPart::kFirst).prompt_bytes; };
  const uint64_t empty = bytes(R"({"prompt": ")");
  for (const std::string cut : {"\\", "\\u", "\\u00", "\\ud83d", "\\ud83d\\", "\\ud83d\\ude0"}) {
    EXPECT_EQ(bytes(R"({"prompt": ")" + cut), empty) << cut;
  }
  EXPECT_EQ(bytes(R"({"prompt": "\ud83d\ude00)"), empty + 4);
  EXPECT_EQ(bytes(R"({"prompt": "\ud83dx)"), empty + 4);
  // A second text would be another prompt, but a token more of this one.
  const uint64_t text = bytes(R"({"prompt": ["a")");
  EXPECT_EQ(text, empty + 1);
  for (const std::string more : {",", ", ", ", \"b\"", ", \"b\","}) EXPECT_EQ(bytes(R"({"prompt": ["a")" + more), text);
  EXPECT_EQ(bytes(R"({"prompt": ["a", 1, )"), text + 4);
  const uint64_t tool = bytes(R"({"prompt": "", "tools": [{)");
  for (const std::string cut :
       {"\"", "\"cache", "\"cache_control\"", "\"cache_control\": {", "\"c\\u0061che_control"}) {
    EXPECT_EQ(bytes(R"({"prompt": "", "tools": [{)" + cut), tool) << cut;
  }
}

}  // namespace
}  // namespace prefixroute
