// SPDX-License-Identifier: Apache-2.0
//
// Bodies that nobody sends in good faith: an answer in time and memory in proportion to the bytes, and never a crash.
// What would take quadratic time runs into the time limit of the test.

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/payload/canonical.h"
#include "tests/payload/guarded.h"
#include "tests/payload/random_body.h"
#include "tests/payload/reference.h"
#include "tests/payload/spelling.h"
#include "tests/testing/allocations.h"

namespace prefixroute {
namespace {

std::string Repeated(std::string_view unit, size_t count) {
  std::string text;
  text.reserve(unit.size() * count);
  for (size_t i = 0; i < count; ++i) text += unit;
  return text;
}

// Whatever comes out, it is one of the two, and the same each time.
void ExpectAnAnswer(PayloadReader& reader, std::string_view body) {
  for (const BodyPart part : {BodyPart::kWhole, BodyPart::kFirst}) {
    const Payload payload = reader.Read(body, part);
    ASSERT_EQ(payload.form == PayloadForm::kRaw, !payload.fallback.empty());
    if (payload.form == PayloadForm::kRaw) {
      ASSERT_EQ(payload.key, MakePrefixKey(body));
      ASSERT_EQ(payload.prompt_bytes, body.size());
    } else {
      // No piece has more than two bytes and its own in the body, but for a digest.
      ASSERT_LE(payload.prompt_bytes, 10 * body.size() + 100);
    }
    ASSERT_EQ(reader.Read(body, part).key, payload.key);
  }
}

// Where a strict parser understands the body, its prompt is the one that is written down for that. Returns whether it
// does; leaves out members that come twice, and numbers that the parser would write otherwise.
bool ExpectWhatAParserSays(PayloadReader& reader, std::string_view body) {
  const Payload& payload = reader.Read(body);
  if (payload.form == PayloadForm::kRaw) return false;
  bool plain = true;
  std::vector<std::set<std::string>> names;
  const Json parsed = Json::parse(
      body,
      [&](int, Json::parse_event_t event, Json& value) {
        if (event == Json::parse_event_t::object_start) names.emplace_back();
        if (event == Json::parse_event_t::object_end) names.pop_back();
        if (event == Json::parse_event_t::key) plain = plain && names.back().insert(value.get<std::string>()).second;
        if (event == Json::parse_event_t::value) plain = plain && !value.is_number_float();
        return true;
      },
      false);
  if (parsed.is_discarded() || !plain) return false;
  const std::string canonical = ReferenceCanonical(parsed);
  EXPECT_EQ(payload.prompt_bytes, canonical.size());
  EXPECT_EQ(payload.key, KeyOf(canonical, {"", payload.model, payload.adapter, payload.cache_salt}));
  return true;
}

TEST(PayloadHostileTest, NotAnObjectIsTakenAsItIs) {
  for (const std::string_view body :
       {std::string_view(), std::string_view("\0", 1), std::string_view(" \n"), std::string_view("[]"),
        std::string_view("[{\"messages\": []}]"), std::string_view("\"messages\""), std::string_view("12"),
        std::string_view("null"), std::string_view("\xef\xbb\xbf"), std::string_view("\xff\xfe{\0}\0", 6),
        std::string_view("messages=x"), std::string_view("nul")}) {
    ExpectRaw(body, "not a JSON object");
  }
}

TEST(PayloadHostileTest, NotJsonIsTakenAsItIs) {
  for (const std::string_view body :
       {"{]", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":1 \"b\":2}", "{a:1}", "{'a':1}", "{\"a\"::1}",
        "{\"messages\": [{\"role\" \"user\"}]}", "{\"messages\": [{\"role\": \"user\"} {\"role\": \"user\"}]}",
        "{\"messages\": [{}}, \"x\": 1}"}) {
    PayloadReader reader;
    EXPECT_EQ(reader.Read(body).form, PayloadForm::kRaw) << body;
    EXPECT_NE(reader.Read(body).fallback, "") << body;
    EXPECT_EQ(reader.Read(body).key, MakePrefixKey(body)) << body;
  }
}

TEST(PayloadHostileTest, SeveralDocumentsAreTakenAsTheyAre) {
  ExpectRaw(R"({"prompt": "a"}{"prompt": "b"})", "more than one JSON document");
  ExpectRaw(R"({"prompt": "a"} x)", "more than one JSON document");
  ExpectRaw(std::string(R"({"prompt": "a"})") + '\0', "more than one JSON document");
  ExpectPrompt(
      " \n"
      R"({"prompt": "a"})"
      "\r\n\t ",
      PayloadForm::kCompletion, Piece('P', "a"));
}

TEST(PayloadHostileTest, ByteOrderMarkIsNoPartOfTheJson) {
  ExpectPrompt(
      "\xef\xbb\xbf"
      R"({"prompt": "a"})",
      PayloadForm::kCompletion, Piece('P', "a"));
}

TEST(PayloadHostileTest, UnknownAndWrongTypesAreTakenAsTheyAre) {
  ExpectRaw("{}", "no field that holds a prompt");
  ExpectRaw(R"({"query": "x", "model": "m"})", "no field that holds a prompt");
  ExpectRaw(R"({"messages": null})", "no field that holds a prompt");
  ExpectRaw(R"({"messages": "x"})", "messages is not an array");
  ExpectRaw(R"({"messages": {"role": "user"}})", "messages is not an array");
  ExpectRaw(R"({"messages": ["x"]})", "a message is not an object");
  ExpectRaw(R"({"messages": [[]]})", "a message is not an object");
  ExpectRaw(R"({"messages": [{"role": 1}]})", "the role of a message is not a string");
  ExpectRaw(R"({"prompt": 5})", "the prompt is neither text nor array nor object");
  ExpectRaw(R"({"prompt": [1, {}]})", "a token is not a number");
  ExpectRaw(R"({"prompt": "\x"})", "a string has an escape that JSON doesn't know");
  ExpectRaw(R"({"prompt": "\u12g4"})", "a string has an escape that JSON doesn't know");
  ExpectRaw(R"({"prompt": "a", "model": "\x"})", "a name is too long, or has an escape that JSON doesn't know");
  ExpectRaw(R"({"prompt": "a", "model": ")" + Repeated("\\n", 50'000) + "\"}",
            "a name is too long, or has an escape that JSON doesn't know");
}

// The key is in no need of them.
TEST(PayloadHostileTest, NamesThatAreNotOfTheKeyMayBeUnreadable) {
  PayloadReader reader;
  const PrefixKey key = reader.Read(R"({"prompt": "a"})").key;
  for (const std::string& text : {std::string("\\x"), "b" + Repeated("\\n", 50'000)}) {
    for (const std::string& field : {R"("user": ")" + text + '"', R"("metadata": {"user_id": ")" + text + "\"}",
                                     R"("prompt_cache_key": ")" + text + '"'}) {
      const Payload& payload = reader.Read(R"({"prompt": "a", )" + field + "}");
      EXPECT_EQ(payload.fallback, "");
      EXPECT_EQ(payload.user, "");
      EXPECT_EQ(payload.prompt_cache_key, "");
      EXPECT_EQ(payload.key, key);
    }
  }
}

TEST(PayloadHostileTest, CutShortItIsTakenAsItIs) {
  const std::string body =
      R"( {"model": "m", "messages": [{"role": "user", "content": "a\n\ud83d\ude00"}], "tools": [{"a": [1, true]}]})";
  PayloadReader reader;
  Guarded memory(4'096);
  for (size_t size = 2; size < body.size(); ++size) {
    const std::string_view cut = memory.AtEnd(std::string_view(body).substr(0, size));
    EXPECT_EQ(reader.Read(cut).fallback, "the JSON ends early") << cut;
    EXPECT_EQ(reader.Read(cut).key, MakePrefixKey(cut));
  }
  EXPECT_EQ(reader.Read(memory.AtEnd(body)).fallback, "");
}

TEST(PayloadHostileTest, TextIsTakenAsBytes) {
  // NUL, control characters, no UTF-8.
  for (const std::string_view text : {std::string_view("a\0b", 3), std::string_view("\x01\n\t"),
                                      std::string_view("\xff\xfe\x80\xc0\xf8"), std::string_view("\xe4\xbd")}) {
    ExpectPrompt(R"({"prompt": ")" + std::string(text) + "\"}", PayloadForm::kCompletion, Piece('P', text));
  }
  ExpectPrompt(R"({"prompt": "\u0000\u001F\u007f\u0080\u07ff\u0800\uffff"})", PayloadForm::kCompletion,
               Piece('P', std::string_view("\0\x1f\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf", 13)));
}

TEST(PayloadHostileTest, HalfASurrogatePairIsThreeBytes) {
  const std::string high = "\xed\xa0\xbd";
  const std::string low = "\xed\xb8\x80";
  for (const auto& [spelled, said] :
       std::vector<std::pair<std::string, std::string>>{{R"(\ud83d)", high},
                                                        {R"(\ude00)", low},
                                                        {R"(\ude00\ud83d)", low + high},
                                                        {R"(\ud83d\ud83d\ude00)", high + "\xf0\x9f\x98\x80"},
                                                        {R"(\ud83dx)", high + "x"},
                                                        {R"(\ud83d\n)", high + "\n"},
                                                        {R"(\ud83d\u0041)", high + "A"},
                                                        {R"(\uD83D\uDE00)", "\xf0\x9f\x98\x80"}}) {
    ExpectPrompt(R"({"prompt": ")" + spelled + "\"}", PayloadForm::kCompletion, Piece('P', said));
  }
}

TEST(PayloadHostileTest, AnyDepthIsFollowed) {
  constexpr size_t kDepth = 100'000;
  const std::string open = Repeated("[", kDepth);
  const std::string close = Repeated("]", kDepth);
  ExpectPrompt("{\"unknown\": " + open + close + R"(, "prompt": "a"})", PayloadForm::kCompletion, Piece('P', "a"));
  ExpectPrompt("{\"prompt\": " + open + "\"a\"" + close + "}", PayloadForm::kCompletion, Piece('P', "a"));
  ExpectPrompt(R"({"prompt": "a", "tools": )" + ("[" + open) + close + "]}", PayloadForm::kCompletion,
               Piece('T', open + close) + Piece('P', "a"));
  std::string objects = Repeated("{\"a\":", kDepth);
  ExpectPrompt(R"({"prompt": )" + objects + "1" + Repeated("}", kDepth) + "}", PayloadForm::kCompletion,
               Piece('J', Repeated("{\"a\xff", kDepth) + "1," + Repeated("}", kDepth)));
}

TEST(PayloadHostileTest, HugeNumbersAreBytes) {
  const std::string number = "-" + std::string(1'000'000, '9') + "e+" + std::string(1'000'000, '9');
  ExpectPrompt(R"({"x": )" + number + R"(, "prompt": [)" + number + "]}", PayloadForm::kCompletion,
               Piece('K', number + ","));
}

TEST(PayloadHostileTest, OfAMillionEqualFieldsTheLastCounts) {
  ExpectPrompt("{" + Repeated(R"("messages":[{"role":"user"}],)", 1'000'000) + R"("messages":[{"role":"x"}]})",
               PayloadForm::kChat, Piece('M', "x"));
  ExpectPrompt(R"({"messages":[{)" + Repeated(R"("content":"x",)", 1'000'000) + R"("role":"a"}]})", PayloadForm::kChat,
               MessagePiece("a", "x"));
}

TEST(PayloadHostileTest, AHundredMegabytesTakeNoMemory) {
  constexpr size_t kBytes = 100 << 20;
  PayloadReader reader;
  for (const std::string_view unit : {"x", "\\n", "\\u4e00", "\\\"", "{\"", "[", "1,", "{\"a\":\"b\"},"}) {
    for (const std::string_view begin :
         {R"({"prompt": ")", R"({"prompt": [)", R"({"messages": [{"role": "user", "content": [)"}) {
      const std::string body = std::string(begin) + Repeated(unit, kBytes / unit.size() / 8);
      const uint64_t calls = test::HeapCallsOf([&] {
        reader.Read(body);
        reader.Read(body, BodyPart::kFirst);
      });
      ASSERT_EQ(calls, 0u) << begin << unit;
    }
  }
  const std::string body = R"({"prompt": ")" + std::string(kBytes, 'x') + "\"}";
  EXPECT_EQ(test::HeapCallsOf([&] { reader.Read(body); }), 0u);
  EXPECT_EQ(reader.Read(body).prompt_bytes, kBytes + 2);
  EXPECT_EQ(reader.Read(body).key, MakePrefixKey(Piece('P', std::string(2 << 20, 'x'))));
}

// Each of these is repeated where a step back, or a look ahead, would cost what grows with what was read.
TEST(PayloadHostileTest, NothingTakesQuadraticTime) {
  const int kib = test::Scaled(1'000);
  PayloadReader reader;
  for (const std::string_view begin :
       {"", "{", "{\"prompt\":", "{\"prompt\":\"", "{\"prompt\":{", "{\"prompt\":[", "{\"prompt\":\"\",\"tools\":[",
        "{\"prompt\":\"\",\"tools\":[{", "{\"messages\":[", "{\"messages\":[{\"role\":\"user\",",
        "{\"messages\":[{\"role\":\"user\",\"content\":[", "{\"messages\":[{\"role\":\"user\",\"content\":[{",
        "{\"prompt\":\"\",\"model\":\"", "{\"prompt\":\"\",\"metadata\":{", "{\"prompt\":\"\",\"lora_path\":["}) {
    for (const std::string_view unit : {"\"",
                                        "\\",
                                        "[",
                                        "{",
                                        "]",
                                        "}",
                                        ":",
                                        ",",
                                        " ",
                                        "1",
                                        "n",
                                        "\\\"",
                                        "\\\\\"",
                                        "\"\"",
                                        "\"c",
                                        "\"cache_control\"",
                                        "\"cache_control\":",
                                        "\"cache_control\":1,",
                                        "\"c\\u0061che_control\":{",
                                        "\"url\":\"",
                                        "\"url\":\"x\",",
                                        "{\"a\":",
                                        "\"a\":{",
                                        "\"text\":",
                                        "\"text\":\"x\",",
                                        "\"x\",",
                                        "[\"x\",",
                                        "\"images\":[\"",
                                        "\"type\":\"text\",",
                                        "\"type\":\"",
                                        "\"content\":\"x\",",
                                        "\"input\":{",
                                        "{\"text\":",
                                        "[{",
                                        "{\"role\":\"a\"},",
                                        "{\"role\":\"a\",\"content\":[",
                                        "\"role\":",
                                        "\"content\":[\"",
                                        "\\ud83d",
                                        "\\u",
                                        "null,",
                                        "[null,",
                                        "\"messages\":[",
                                        "{\"messages\":[",
                                        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"x\"",
                                        "\xff",
                                        "\"\\"}) {
      SCOPED_TRACE(std::string(begin) + " " + std::string(unit));
      const std::string body = std::string(begin) + Repeated(unit, (kib << 10) / unit.size());
      reader.Read(body);
      reader.Read(body, BodyPart::kFirst);
    }
  }
}

// Bodies with bytes changed, left out, doubled and cut.
TEST(PayloadHostileTest, MutatedBodiesHaveAnAnswer) {
  std::mt19937_64 random(7);
  BodyMaker maker(8);
  Speller speller(9);
  PayloadReader reader;
  PayloadReader small_reader(100);
  Guarded memory(1 << 20);
  constexpr std::string_view kBytes = "\"\\{}[]:,nu0d8 \n\xff\xed";
  int understood = 0;
  int compared = 0;
  const int rounds = test::Scaled(10'000);
  for (int round = 0; round < rounds; ++round) {
    std::string body = speller.SpellBody(maker.Body());
    if (body.size() > 8'000) continue;
    for (uint64_t i = random() % 4; i != 0; --i) {
      const size_t place = random() % body.size();
      const size_t size = std::min<size_t>(random() % (random() % 4 == 0 ? 2'000 : 8), body.size() - place);
      switch (random() % 5) {
        case 0:
          body[place] = kBytes[random() % kBytes.size()];
          break;
        case 1:
          body.insert(place, 1, kBytes[random() % kBytes.size()]);
          break;
        case 2:
          body.erase(place, size);
          break;
        case 3:
          body.insert(random() % body.size(), body.substr(place, size));
          break;
        default:
          body.resize(place);
      }
      if (body.empty()) break;
    }
    const std::string_view guarded = memory.AtEnd(body);
    ASSERT_NO_FATAL_FAILURE(ExpectAnAnswer(reader, guarded)) << body;
    small_reader.Read(guarded, BodyPart::kFirst);
    understood += reader.Read(guarded).form == PayloadForm::kRaw ? 0 : 1;
    if (ExpectWhatAParserSays(reader, guarded)) ++compared;
    if (::testing::Test::HasFailure()) FAIL() << body;
  }
  EXPECT_GT(compared, rounds / 5);
  EXPECT_GT(understood, rounds / 3);
}

}  // namespace
}  // namespace prefixroute
