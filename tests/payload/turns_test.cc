// SPDX-License-Identifier: Apache-2.0
//
// What one conversation shares from turn to turn, and what others must not share.

#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/payload/canonical.h"
#include "tests/payload/random_body.h"

namespace prefixroute {
namespace {

PrefixKey Read(const std::string& body) {
  PayloadReader reader;
  const Payload& payload = reader.Read(body);
  EXPECT_EQ(payload.fallback, "") << body;
  return payload.key;
}

// Each turn has all of the one before; then every fingerprint of that one is the next one's too.
TEST(PayloadTurnsTest, TheNextTurnSharesAllOfTheOneBefore) {
  BodyMaker maker(3);
  for (int conversation = 0; conversation < 30; ++conversation) {
    BodyMaker::Json body = maker.Body();
    body["tools"] = {maker.Any(4)};
    body["system"] = "You are assistant " + std::to_string(conversation);
    body["messages"] = BodyMaker::Json::array();
    PayloadReader reader;
    uint64_t bytes = 0;
    PrefixKey before;
    for (int turn = 0; turn < 12; ++turn) {
      for (const BodyMaker::Json& message : maker.Messages()) body["messages"].push_back(message);
      const Payload& payload = reader.Read(body.dump());
      ASSERT_EQ(payload.fallback, "");
      ASSERT_GE(payload.prompt_bytes, bytes);
      ASSERT_GE(payload.key.depth_count(), before.depth_count());
      for (size_t i = 0; i < before.depth_count() && before.depth(i) == kPrefixDepths[i]; ++i) {
        ASSERT_EQ(payload.key.depth(i), before.depth(i));
        ASSERT_EQ(payload.key.fingerprint(i), before.fingerprint(i));
      }
      before = payload.key;
      bytes = payload.prompt_bytes;
    }
    EXPECT_GT(before.depth_count(), 8u);
  }
}

TEST(PayloadTurnsTest, PartsAreNotTakenForOneAnother) {
  const std::vector<std::string> bodies = {
      R"({"messages": [{"role": "user", "content": "ab"}]})",
      R"({"messages": [{"role": "usera", "content": "b"}]})",
      R"({"messages": [{"role": "system", "content": "ab"}]})",
      R"({"messages": [{"role": "developer", "content": "ab"}]})",
      R"({"messages": [{"role": "user", "content": ["a", "b"]}]})",
      R"({"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]})",
      R"({"messages": [{"role": "user", "content": "b"}, {"role": "user", "content": "a"}]})",
      R"({"messages": [{"role": "user", "content": "ab", "name": ""}]})",
      R"({"messages": [{"role": "user", "content": "ab", "name": "x"}]})",
      R"({"messages": [{"role": "user", "content": "ab", "tool_call_id": "x"}]})",
      R"({"messages": [{"role": "user", "name": "ab"}]})",
      R"({"messages": [{"role": "user", "content": ""}, {"role": "ab"}]})",
      R"({"messages": [{"role": "user"}]})",
      R"({"messages": [{"role": "user", "content": "\u00ffCab"}]})",
      R"({"messages": [{"role": "user", "content": {"type": "x", "url": "ab"}}]})",
      R"({"messages": [{"role": "user", "content": {"type": "x", "url": "ac"}}]})",
      R"({"messages": [{"role": "user", "content": {"type": "x", "y": "ab"}}]})",
      R"({"messages": [{"role": "user", "content": "ab"}], "tools": [{"name": "f"}]})",
      R"({"messages": [{"role": "user", "content": "ab"}], "tools": [{"name": "g"}]})",
      R"({"messages": [{"role": "user", "content": "ab"}], "tools": [{"name": ["g"]}]})",
      R"({"messages": [{"role": "user", "content": "ab"}], "tools": [{"name": "1"}]})",
      R"({"messages": [{"role": "user", "content": "ab"}], "tools": [{"name": 1}]})",
      R"({"messages": [{"role": "user", "content": "ab"}], "tools": [{"name": 1}, {"b": 2}]})",
      R"({"messages": [{"role": "user", "content": "ab"}], "tools": [{"name": 1, "b": 2}]})",
      R"({"messages": [{"role": "user", "content": "ab"}], "tools": [[1, 2]]})",
      R"({"messages": [{"role": "user", "content": "ab"}], "tools": [[12]]})",
      R"({"messages": [{"role": "user", "content": "ab"}], "system": "x"})",
      R"({"messages": [{"role": "user", "content": "ab"}], "model": "x"})",
      R"({"messages": [{"role": "user", "content": "ab"}], "model": "y"})",
      R"({"messages": [{"role": "user", "content": "ab"}], "cache_salt": "x"})",
      R"({"prompt": "ab"})",
      R"({"prompt": "userab"})",
      R"({"prompt": [1, 23]})",
      R"({"prompt": [12, 3]})",
      R"({"prompt": "1,23,"})",
      R"({"prompt": {"prompt": "ab"}})",
      R"({"input": "ab", "previous_response_id": "x"})",
      R"({"input": "ab", "instructions": "y"})",
      R"({"input": "ab", "conversation": "x"})",
      R"({"input": "ab", "conversation": {"id": "y"}})",
      R"({"input": "ab", "prompt": {"id": "x"}})",
      R"({"input": "ab", "prompt": {"id": "x", "version": "2"}})",
      R"({"messages": [{"role": "user", "content": "ab", "images": ["x"]}]})",
      R"({"messages": [{"role": "user", "content": "ab", "images": ["y"]}]})",
      R"({"messages": [{"role": "user", "content": [{"text": "ab", "image_url": {"url": "x"}}]}]})",
      R"({"messages": [{"role": "user", "content": [{"text": "ab", "image_url": {"url": "y"}}]}]})",
      R"({"messages": [{"role": "user", "content": [{"text": "ab", "image_url": "y"}]}]})",
      R"({"text": "ab", "image_data": "x"})",
      R"({"text": "ab", "image_data": ["x", "y"]})",
      R"({"text": "ab", "audio_data": "x"})",
      R"({"text": "ab", "video_data": "x"})",
      R"({"prompt": "ab", "multi_modal_data": {"image": "x"}})",
      R"({"prompt": "ab", "multi_modal_data": {"image": "y"}})",
      R"({"prompt": ["ab", 1, 23]})",
      R"({"prompt": ["ab", 1, 24]})",
      R"({"prompt": ["ab", "ab", 24]})",
      R"({"prompt": [1, 23, "ab"]})",
      R"({"prompt": [1, 23, "ac"]})",
  };
  std::set<uint64_t> values;
  for (const std::string& body : bodies) EXPECT_TRUE(values.insert(Read(body).value()).second) << body;
}

TEST(PayloadTurnsTest, WhatEnginesTakeForTheSameHasOneKey) {
  const std::vector<std::vector<std::string>> alike = {
      {R"({"messages": [{"role": "user"}]})", R"({"messages": [{"role": "user", "content": null}]})",
       R"({"messages": [{"role": "user", "content": ""}]})", R"({"messages": [{"role": "user", "content": []}]})",
       R"({"messages": [{"role": "user", "content": [""]}]})",
       R"({"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]})",
       R"({"messages": [{"role": "user", "tool_calls": [ ], "images": []}]})", R"({"input": ""})"},
      {R"({"input": "ab"})", R"({"input": ["ab"]})", R"({"input": ["ab", "c"]})", R"({"input": [["ab"]]})",
       R"({"messages": [{"role": "user", "content": "ab"}]})"},
      {R"({"input": "ab", "conversation": "x"})", R"({"input": "ab", "conversation": {"id": "x", "y": 1}})"},
      {R"({"text": "ab", "image_data": "x"})", R"({"text": "ab", "image_data": ["x"]})",
       R"({"text": "ab", "image_data": [null, "x"]})"},
  };
  for (const std::vector<std::string>& bodies : alike) {
    for (const std::string& body : bodies) EXPECT_EQ(Read(body), Read(bodies[0])) << body;
  }
}

TEST(PayloadTurnsTest, WhatIsNotPromptChangesNoKey) {
  const std::string plain = R"({"messages": [{"role": "user", "content": "Hi"}], "model": "m")";
  for (const std::string more :
       {R"("temperature": 0.5)", R"("max_tokens": 7)", R"("stream": true)", R"("user": "me")",
        R"("prompt_cache_key": "k")", R"("tools": null)", R"("tools": [])", R"("response_format": {"type": "json"})",
        R"("metadata": {"messages": []})", R"("system": null)", R"("functions": [])", R"("stop_sequences": ["x"])"}) {
    EXPECT_EQ(Read(plain + ", " + more + "}"), Read(plain + "}")) << more;
  }
}

TEST(PayloadTurnsTest, PromptBeyondTheLimitIsCountedButNotHashed) {
  const auto body = [](const std::string& text) { return R"({"prompt": ")" + text + "\"}"; };
  PayloadReader reader(1'000);
  for (const std::string unit : {"x", "\\n", "\\u00e4"}) {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += unit;
    const uint64_t bytes = 2 + 100'000 * (unit.size() == 6 ? 2 : 1);
    const Payload payload = reader.Read(body(text));
    EXPECT_EQ(payload.prompt_bytes, bytes);
    EXPECT_EQ(payload.key.bytes(), 1'000u);
    EXPECT_EQ(reader.Read(body(text + "other")).key, payload.key);
    EXPECT_EQ(reader.Read(body(text + "other")).prompt_bytes, bytes + 5);
  }
}

}  // namespace
}  // namespace prefixroute
