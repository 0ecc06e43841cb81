// SPDX-License-Identifier: Apache-2.0
//
// OpenAI's chat completions, as vLLM, SGLang, TGI and llama.cpp take them too.

#include <string>

#include "gtest/gtest.h"
#include "tests/payload/canonical.h"

namespace prefixroute {
namespace {

TEST(PayloadChatTest, MessagesComeInTheirOrder) {
  ExpectPrompt(R"({"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]})",
               PayloadForm::kChat, MessagePiece("system", "Be brief.") + MessagePiece("user", "Hi"));
}

TEST(PayloadChatTest, ToolsComeFirst) {
  ExpectPrompt(
      R"({"messages": [{"role": "user", "content": "Hi"}],
          "tools": [{"type": "function", "function": {"name": "f", "strict": true, "n": [1, -2.5e3, null]}}]})",
      PayloadForm::kChat,
      Piece('T', "{" + JsonText("type") + JsonText("function") + JsonText("function") + "{" + JsonText("name") +
                     JsonText("f") + JsonText("strict") + "true," + JsonText("n") + "[1,-2.5e3,null,]}}") +
          MessagePiece("user", "Hi"));
}

TEST(PayloadChatTest, WhatComesAlongIsThere) {
  PayloadReader reader;
  const std::string body =
      R"({"model": "llama", "stream": true, "user": "me", "prompt_cache_key": "k", "cache_salt": "s",
          "messages": [{"role": "user", "content": "Hi"}]})";
  const Payload& payload = reader.Read(body);
  EXPECT_EQ(payload.form, PayloadForm::kChat);
  EXPECT_TRUE(payload.stream);
  EXPECT_EQ(payload.model, "llama");
  EXPECT_EQ(payload.user, "me");
  EXPECT_EQ(payload.prompt_cache_key, "k");
  EXPECT_EQ(payload.cache_salt, "s");
  Scope scope;
  scope.model = "llama";
  scope.cache_salt = "s";
  ExpectSameKey(payload.key, KeyOf(MessagePiece("user", "Hi"), scope));
}

}  // namespace
}  // namespace prefixroute
