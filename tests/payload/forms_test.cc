// SPDX-License-Identifier: Apache-2.0
//
// The bodies of each API, and what of them is the prompt.

#include <string>

#include "gtest/gtest.h"
#include "tests/payload/canonical.h"
#include "tests/payload/reference.h"

namespace prefixroute {
namespace {

const std::string kHi = MessagePiece("user", "Hi");

TEST(PayloadFormsTest, ChatContentInPartsIsTheSameAsText) {
  ExpectPrompt(R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]})", PayloadForm::kChat,
               kHi);
  ExpectPrompt(R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, {"text": "b"}, "c"]}]})",
               PayloadForm::kChat, Piece('M', "user") + Piece('C', "a") + Piece('C', "b") + Piece('C', "c"));
}

TEST(PayloadFormsTest, ChatToolCallsAndTheirResultsComeInOrder) {
  const std::string call = "{" + JsonText("id") + JsonText("c1") + JsonText("function") + "{" + JsonText("name") +
                           JsonText("f") + JsonText("arguments") + JsonText("{\"a\":1}") + "}}";
  ExpectPrompt(
      R"({"messages": [
            {"role": "assistant", "content": null,
             "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": "{\"a\":1}"}}]},
            {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "42"}]})",
      PayloadForm::kChat,
      Piece('M', "assistant") + Piece('F', "tool_calls:[" + call + "]") + MessagePiece("tool", "42") +
          Piece('F', "tool_call_id:" + JsonText("c1")) + Piece('F', "name:" + JsonText("f")));
}

TEST(PayloadFormsTest, ChatFunctionsAreTools) {
  ExpectPrompt(R"({"messages": [{"role": "user", "content": "Hi"}], "functions": [{"name": "f"}, {"name": "g"}]})",
               PayloadForm::kChat,
               Piece('T', "{" + JsonText("name") + JsonText("f") + "}") +
                   Piece('T', "{" + JsonText("name") + JsonText("g") + "}") + kHi);
}

TEST(PayloadFormsTest, ImagesCountByTheirDigest) {
  const std::string data = "data:image/png;base64," + std::string(100'000, 'A') + "/+";
  std::string escaped = data;
  escaped.replace(escaped.size() - 2, 1, "\\/");
  const std::string canonical =
      Piece('M', "user") + Piece('B', "{" + JsonText("type") + JsonText("image_url") + JsonText("image_url") + "{" +
                                          JsonText("url") + ReferenceDigest(data) + "}}");
  for (const std::string& spelled : {data, escaped}) {
    ExpectPrompt(R"({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": ")" +
                     spelled + R"("}}]}]})",
                 PayloadForm::kChat, canonical);
  }
  // Sounds and files, in each API's way.
  for (const std::string name : {"data", "url", "image_url", "audio_url", "video_url", "file_data", "file_url"}) {
    ExpectPrompt(
        R"({"messages": [{"role": "user", "content": [{"type": "x", ")" + name + R"(": "abc"}]}]})", PayloadForm::kChat,
        Piece('M', "user") +
            Piece('B', "{" + JsonText("type") + JsonText("x") + JsonText(name) + ReferenceDigest("abc") + "}"));
  }
}

TEST(PayloadFormsTest, AnthropicSystemIsAMessageBeforeTheOthers) {
  const std::string canonical = MessagePiece("system", "Be brief.") + kHi;
  ExpectPrompt(R"({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9, "system": "Be brief."})",
               PayloadForm::kAnthropicMessages, canonical);
  ExpectPrompt(
      R"({"system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
          "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]})",
      PayloadForm::kAnthropicMessages, canonical);
  // As OpenAI has it.
  ExpectPrompt(R"({"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]})",
               PayloadForm::kChat, canonical);
}

TEST(PayloadFormsTest, AnthropicIsToldByFieldsThatAreItsAlone) {
  for (const std::string field : {R"("anthropic_version": "bedrock-2023-05-31")", R"("stop_sequences": [])",
                                  R"("thinking": {"type": "enabled"})", R"("system": "")"}) {
    SCOPED_TRACE(field);
    PayloadReader reader;
    EXPECT_EQ(reader.Read("{\"messages\": [], " + field + "}").form, PayloadForm::kAnthropicMessages);
  }
}

TEST(PayloadFormsTest, AnthropicCacheControlChangesNoKey) {
  const auto body = [](const std::string& control) {
    return R"({"tools": [{"name": "f", "input_schema": {"type": "object"})" + control +
           R"(}], "system": [{"type": "text", "text": "S")" + control +
           R"(}], "messages": [{"role": "user", "content": [{"type": "tool_result")" + control +
           R"(, "tool_use_id": "t", "content": "42"}, {"type": "text", "text": "Hi")" + control + "}]}]}";
  };
  const std::string plain = body("");
  const std::string canonical = ReferenceCanonical(Json::parse(plain));
  for (const std::string control :
       {"", R"(, "cache_control": {"type": "ephemeral", "ttl": "1h"})", R"(, "c\u0061che_control" : null)"}) {
    ExpectPrompt(body(control), PayloadForm::kAnthropicMessages, canonical);
  }
}

TEST(PayloadFormsTest, CacheControlThatIsAToolsOwnNameCounts) {
  PayloadReader reader;
  const auto key = [&](const std::string& tool) {
    return reader.Read(R"({"messages": [], "tools": [)" + tool + "]}").key;
  };
  for (const std::string name : {"input_schema", "parameters", "properties", "input", "arguments"}) {
    const auto tool = [&](const std::string& members) {
      return R"({"function": {")" + name + R"(": {"a": [{"b": 1)" + members + "}]}}}";
    };
    EXPECT_NE(key(tool(R"(, "cache_control": {"type": "string"})")), key(tool(""))) << name;
    EXPECT_NE(key(tool(R"(, "cache_control": 1)")), key(tool(R"(, "cache_control": 2)"))) << name;
    // Behind it, it is what it was.
    const std::string before = R"({"f": {")" + name + R"(": [{}]}, "g": [1)";
    EXPECT_EQ(key(before + R"(], "cache_control": 1})"), key(before + "]}")) << name;
    EXPECT_EQ(key(R"({")" + name + R"(": "x", "cache_control": 1})"), key(R"({")" + name + R"(": "x"})")) << name;
  }
}

TEST(PayloadFormsTest, DocumentsOfTextAreText) {
  const auto prompt = [](const std::string& block) {
    PayloadReader reader;
    return reader.Read(R"({"messages": [{"role": "user", "content": [)" + block + "]}]}");
  };
  const std::string text(3'000, 'x');
  for (const std::string type : {"text", "t\\u0065xt"}) {
    const std::string block =
        R"({"type": "document", "source": {"type": ")" + type + R"(", "media_type": "text/plain", "data": ")" + text;
    EXPECT_GT(prompt(block + "\"}}").prompt_bytes, text.size());
    const PrefixKey key = prompt(block + "\"}}").key;
    const PrefixKey longer = prompt(block + "yy\"}}").key;
    EXPECT_EQ(key.fingerprint(8), longer.fingerprint(8));
    EXPECT_NE(key, longer);
  }
  for (const std::string source :
       {R"("type": "base64", "data": ")", R"("type": "text", "x": {}, "data": ")", R"("data": ")"}) {
    EXPECT_LT(prompt(R"({"type": "document", "source": {)" + source + text + "\"}}").prompt_bytes, 200u) << source;
  }
  ExpectPrompt(R"({"messages": [{"role": "user", "content": [{"x": {"type": "text", "file_data": "Hi"}}]}]})",
               PayloadForm::kChat,
               Piece('M', "user") + Piece('B', "{" + JsonText("x") + "{" + JsonText("type") + JsonText("text") +
                                                   JsonText("file_data") + JsonText("Hi") + "}}"));
}

TEST(PayloadFormsTest, ToolResultsOfATextAreThoseOfOneBlock) {
  const auto body = [](const std::string& content) {
    return R"({"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": )" +
           content + "}]}]}";
  };
  const std::string blocks = R"([{"type": "text", "text": "4\u0032"}])";
  const std::string canonical =
      Piece('M', "user") + Piece('B', "{" + JsonText("type") + JsonText("tool_result") + JsonText("tool_use_id") +
                                          JsonText("t") + JsonText("content") + "[{" + JsonText("type") +
                                          JsonText("text") + JsonText("text") + JsonText("42") + "}]}");
  for (const std::string& content : {blocks, std::string(R"("42")")}) {
    ExpectPrompt(body(content), PayloadForm::kChat, canonical);
  }
}

TEST(PayloadFormsTest, AnthropicUserIsInItsMetadata) {
  PayloadReader reader;
  EXPECT_EQ(reader.Read(R"({"messages": [], "metadata": {"user_id": "me"}})").user, "me");
  EXPECT_EQ(reader.Read(R"({"messages": [], "metadata": {"user_id": "me"}, "user": "you"})").user, "you");
  EXPECT_EQ(reader.Read(R"({"messages": [], "metadata": "me"})").user, "");
}

TEST(PayloadFormsTest, CompletionPromptIsTextTokensOrTheFirstOfSeveral) {
  ExpectPrompt(R"({"prompt": "Once"})", PayloadForm::kCompletion, Piece('P', "Once"));
  ExpectPrompt(R"({"prompt": ["Once", "Twice"]})", PayloadForm::kCompletion, Piece('P', "Once"));
  ExpectPrompt(R"({"prompt": [1, 22 ,333]})", PayloadForm::kCompletion, Piece('K', "1,22,333,"));
  ExpectPrompt(R"({"prompt": [[1,22], [3]]})", PayloadForm::kCompletion, Piece('K', "1,22,"));
  ExpectPrompt(R"({"prompt": []})", PayloadForm::kCompletion, "");
  ExpectPrompt(R"({"prompt": {"prompt_token_ids": [1]}})", PayloadForm::kCompletion,
               Piece('J', "{" + JsonText("prompt_token_ids") + "[1,]}"));
}

TEST(PayloadFormsTest, ResponsesInputIsAUsersMessage) {
  ExpectPrompt(R"({"input": "Hi"})", PayloadForm::kResponses, kHi);
  ExpectPrompt(R"({"input": [{"role": "user", "content": "Hi"}]})", PayloadForm::kResponses, kHi);
  ExpectPrompt(
      R"({"input": [{"type": "message", "id": "m", "role": "user",
                     "content": [{"type": "input_text", "text": "Hi"}]}], "instructions": "Be brief."})",
      PayloadForm::kResponses, MessagePiece("system", "Be brief.") + kHi);
}

TEST(PayloadFormsTest, ResponsesTextIsNoPromptAndTheirPromptATemplate) {
  ExpectPrompt(R"({"text": {"format": {"type": "text"}}, "prompt": {"id": "p"}, "input": "Hi", "instructions": "S"})",
               PayloadForm::kResponses,
               MessagePiece("system", "S") + Piece('G', "{" + JsonText("id") + JsonText("p") + "}") + kHi);
}

TEST(PayloadFormsTest, ResponsesConversationStandsForItsText) {
  for (const std::string conversation : {R"("c\u006fnv_1")", R"({"id": "conv_1"})"}) {
    ExpectPrompt(R"({"input": "Hi", "conversation": )" + conversation + "}", PayloadForm::kResponses,
                 Piece('N', "conv_1") + kHi);
  }
  ExpectRaw(R"({"input": "Hi", "conversation": "\x"})", "a name is too long, or has an escape that JSON doesn't know");
}

TEST(PayloadFormsTest, MediaBesideTheTextCountByTheirDigest) {
  const std::string digests = "[" + ReferenceDigest("A\n") + ReferenceDigest("B") + "]";
  ExpectPrompt(R"({"messages": [{"role": "user", "images": ["A\n", "B"], "content": "Hi"}]})", PayloadForm::kChat,
               kHi + Piece('F', "images:" + digests));
  ExpectPrompt(
      R"({"messages": [{"role": "user", "content": [{"image_url": {"url": "B", "n": 1}, "type": "text", "text": "Hi"}]}]})",
      PayloadForm::kChat,
      kHi + Piece('F', "image_url:{" + JsonText("url") + ReferenceDigest("B") + JsonText("n") + "1,}"));
  ExpectPrompt(R"({"text": "Once", "image_data": [["A\n", "B"], "B"], "audio_data": "B"})", PayloadForm::kGenerate,
               Piece('F', "image_data:" + digests) + Piece('F', "image_data:" + ReferenceDigest("B")) +
                   Piece('F', "audio_data:" + ReferenceDigest("B")) + Piece('P', "Once"));
  ExpectPrompt(R"({"prompt": {"multi_modal_data": {"image": ["B"]}, "prompt": "Once"}})", PayloadForm::kCompletion,
               Piece('J', "{" + JsonText("multi_modal_data") + "{" + JsonText("image") + "[" + ReferenceDigest("B") +
                              "]}" + JsonText("prompt") + JsonText("Once") + "}"));
  ExpectPrompt(R"({"prompt": "Once", "multi_modal_data": {"image": "B"}})", PayloadForm::kCompletion,
               Piece('F', "multi_modal_data:{" + JsonText("image") + ReferenceDigest("B") + "}") + Piece('P', "Once"));
}

// llama.cpp's.
TEST(PayloadFormsTest, CompletionPromptMayMixTextAndTokens) {
  ExpectPrompt(R"({"prompt": ["<s>", 1, 2 ,3]})", PayloadForm::kCompletion, Piece('P', "<s>") + Piece('K', "1,2,3,"));
  ExpectPrompt(R"({"prompt": [1, 2, "foo"]})", PayloadForm::kCompletion, Piece('K', "1,2,") + Piece('P', "foo"));
  ExpectPrompt(R"({"prompt": [["a", "b", -1, "c"], [2]]})", PayloadForm::kCompletion,
               Piece('P', "a") + Piece('P', "b") + Piece('K', "-1,") + Piece('P', "c"));
}

TEST(PayloadFormsTest, ResponsesItemsWithoutRoleComeAsTheyAre) {
  ExpectPrompt(R"({"input": [{"type": "function_call_output", "call_id": "c", "output": "42"}]})",
               PayloadForm::kResponses,
               Piece('B', "{" + JsonText("type") + JsonText("function_call_output") + JsonText("call_id") +
                              JsonText("c") + JsonText("output") + JsonText("42") + "}"));
}

TEST(PayloadFormsTest, ResponsesPreviousResponseStandsForItsText) {
  ExpectPrompt(R"({"input": "Hi", "previous_response_id": "resp_1", "instructions": "Be brief."})",
               PayloadForm::kResponses, MessagePiece("system", "Be brief.") + Piece('R', "resp_1") + kHi);
  PayloadReader reader;
  EXPECT_EQ(reader.Read(R"({"input": "Hi", "previous_response_id": "resp_1"})").previous_response_id, "resp_1");
}

TEST(PayloadFormsTest, InputsOfTgiAndSageMaker) {
  Scope scope;
  scope.adapter = "my-lora";
  ExpectPrompt(R"({"inputs": "Once", "parameters": {"max_new_tokens": 9, "adapter_id": "my-lora"}})",
               PayloadForm::kInputs, Piece('P', "Once"), scope);
  ExpectPrompt(R"({"inputs": ["Once"], "adapters": ["my-lora"]})", PayloadForm::kInputs, Piece('P', "Once"), scope);
  ExpectPrompt(R"({"inputs": [[{"role": "user", "content": "Hi"}]]})", PayloadForm::kInputs, kHi);
}

TEST(PayloadFormsTest, EnginesOwnForms) {
  Scope scope;
  scope.adapter = "my-lora";
  ExpectPrompt(R"({"text": "Once", "lora_path": "my-lora", "sampling_params": {}})", PayloadForm::kGenerate,
               Piece('P', "Once"), scope);
  ExpectPrompt(R"({"input_ids": [[1, 2], [3]], "lora_path": [null, "x"]})", PayloadForm::kGenerate, Piece('K', "1,2,"));
  ExpectPrompt(R"({"prompt_token_ids": [1, 2]})", PayloadForm::kGenerate, Piece('K', "1,2,"));
  ExpectPrompt(R"({"prompt": "Once", "n": 1, "use_beam_search": false})", PayloadForm::kCompletion, Piece('P', "Once"));
}

TEST(PayloadFormsTest, ModelAdapterAndSaltAreTheScope) {
  Scope scope;
  scope.callers = "tenant";
  scope.model = "m";
  scope.adapter = "a";
  scope.cache_salt = "s";
  ExpectPrompt(R"({"prompt": "Once", "model": "m", "lora_path": "a", "cache_salt": "s"})", PayloadForm::kCompletion,
               Piece('P', "Once"), scope);
  // One is not another, and none is not empty.
  const auto key = [](const std::string& fields) {
    PayloadReader reader;
    return reader.Read(R"({"prompt": "Once")" + fields + "}").key;
  };
  EXPECT_EQ(key(""), key(R"(, "model": "", "lora_path": null, "cache_salt": 3)"));
  EXPECT_NE(key(R"(, "model": "x")"), key(R"(, "lora_path": "x")"));
  EXPECT_NE(key(R"(, "model": "x")"), key(R"(, "cache_salt": "x")"));
  EXPECT_NE(key(R"(, "cache_salt": "x")"), key(R"(, "lora_path": "x")"));
}

TEST(PayloadFormsTest, OfTheSameFieldTwiceTheLastCounts) {
  ExpectPrompt(R"({"prompt": "a", "stream": true, "prompt": ["b"], "pr\u006fmpt": "c"})", PayloadForm::kCompletion,
               Piece('P', "c"));
  ExpectPrompt(R"({"messages": [{"role": "a", "content": "x", "role": "user", "content": "Hi"}]})", PayloadForm::kChat,
               kHi);
  ExpectPrompt(R"({"prompt": "a", "messages": [{"role": "user", "content": "Hi"}], "prompt": null})",
               PayloadForm::kChat, kHi);
}

TEST(PayloadFormsTest, DocumentsExample) {
  std::string canonical = R"(.T{"name."f."n.1.50,}.Muser.CHi.Massistant.CHo)";
  // But for the point of a number.
  for (size_t i = 0; i < canonical.size(); ++i) {
    if (canonical[i] == '.' && canonical.compare(i, 3, ".50") != 0) canonical[i] = '\xff';
  }
  Scope scope;
  scope.model = "m";
  ExpectPrompt(
      R"({"model": "m", "messages": [{"content": "Hi", "role": "user"}, {"role": "assistant", "content": [{"type": "text", "text": "Ho"}]}],
          "tools": [{"name": "f", "n": 1.50}]})",
      PayloadForm::kChat, canonical, scope);
}

TEST(PayloadFormsTest, ViewsOutliveNothingButTheNextRead) {
  PayloadReader reader;
  const std::string body = R"({"model": "a\"b\u00e4", "user": "plain", "stream": false, "prompt": ""})";
  const Payload& payload = reader.Read(body);
  EXPECT_EQ(payload.model, "a\"b\xc3\xa4");
  EXPECT_EQ(payload.user, "plain");
  EXPECT_EQ(payload.user.data(), body.data() + body.find("plain"));
  EXPECT_FALSE(payload.stream);
  EXPECT_EQ(reader.Read("{}").model, "");
}

TEST(PayloadFormsTest, EveryFormHasItsName) {
  EXPECT_EQ(PayloadFormName(PayloadForm::kRaw), "raw");
  EXPECT_EQ(PayloadFormName(PayloadForm::kChat), "chat");
  EXPECT_EQ(PayloadFormName(PayloadForm::kAnthropicMessages), "anthropic_messages");
  EXPECT_EQ(PayloadFormName(PayloadForm::kCompletion), "completion");
  EXPECT_EQ(PayloadFormName(PayloadForm::kResponses), "responses");
  EXPECT_EQ(PayloadFormName(PayloadForm::kInputs), "inputs");
  EXPECT_EQ(PayloadFormName(PayloadForm::kGenerate), "generate");
}

}  // namespace
}  // namespace prefixroute
