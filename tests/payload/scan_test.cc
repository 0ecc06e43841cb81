// SPDX-License-Identifier: Apache-2.0

#include "src/payload/scan.h"

#include <array>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "tests/payload/guarded.h"

namespace prefixroute::internal {
namespace {

size_t SizeOfValue(Guarded& memory, std::string_view bytes) {
  const std::string_view guarded = memory.AtEnd(bytes);
  const char* const after = SkipValue(guarded.begin(), guarded.end());
  return after == nullptr ? std::string_view::npos : static_cast<size_t>(after - guarded.begin());
}

TEST(PayloadScanTest, ValuesEndWhereTheNextBegins) {
  Guarded memory(4'096);
  for (const std::string_view value :
       {"1", "-2.5e+3", "true", "null", "\"\"", "\"a\"", "\"a\\\"b\"", "\"eleven byte\"", "\"twelve bytes\"",
        "\"thirteen byte\"", "\"\\\\\"", "[]", "{}", "[1,{\"a\":\"]\"}]", "{\"a\":[\"}\"]}"}) {
    for (const std::string_view next : {",", "}", "]", " ", "\n", ":", "\"", "[", "{"}) {
      EXPECT_EQ(SizeOfValue(memory, std::string(value) + std::string(next)), value.size()) << value << next;
    }
  }
  for (const std::string_view open :
       {"", "1", "tru", "\"", "\"a", "\"a\\\"", "\"twelve bytes\\", "[", "[1", "{\"a\":[}"}) {
    EXPECT_EQ(SizeOfValue(memory, open), std::string_view::npos) << open;
  }
  for (const std::string_view none : {",", "}", "]", ":", " 1"}) EXPECT_EQ(SizeOfValue(memory, none), 0u) << none;
}

TEST(PayloadScanTest, MembersAreFoundByName) {
  Guarded memory(4'096);
  constexpr std::array<std::string_view, 2> kNames = {"a", "b"};
  const auto found = [&](std::string_view object) {
    const std::string_view guarded = memory.AtEnd(object);
    const Members members(guarded.begin(), guarded.end(), kNames);
    std::string values;
    for (const char* value : members.values) values += value == nullptr ? '-' : *value;
    switch (members.extent) {
      case Extent::kWhole:
        return values + (members.after == guarded.end() ? " whole" : " behind");
      case Extent::kCut:
        return values + " cut";
      case Extent::kMalformed:
        return values + " malformed";
    }
    return values;
  };
  EXPECT_EQ(found("{}"), "-- whole");
  EXPECT_EQ(found("{ \"b\" : 1 , \"x\":{\"a\":2}}"), "-1 whole");
  EXPECT_EQ(found("{\"a\":1,\"a\":[2]}"), "[- whole");
  EXPECT_EQ(found("{\"b\":1} "), "-1 behind");
  EXPECT_EQ(found("{\"a\":1,\"b\":2"), "12 cut");
  EXPECT_EQ(found("{\"a\":1,\"b\": "), "1- cut");
  EXPECT_EQ(found("{\"a\":1,\"b"), "1- cut");
  EXPECT_EQ(found("{\"a\":1 \"b\":2}"), "1- malformed");
  EXPECT_EQ(found("{\"a\":1,}"), "1- malformed");
  EXPECT_EQ(found("{\"a\" 1}"), "-- malformed");
  EXPECT_EQ(found("{a:1}"), "-- malformed");
}

TEST(PayloadScanTest, NamesAreFoundWithEscapesToo) {
  Guarded memory(4'096);
  constexpr std::array<std::string_view, 2> kNames = {"model", "messages"};
  const auto index = [&](std::string_view raw) {
    return IndexOfName(memory.AtEnd(std::string(raw) + "\"").substr(0, raw.size()), kNames.data(), kNames.size());
  };
  EXPECT_EQ(index("model"), 0u);
  EXPECT_EQ(index("m\\u0065ssages"), 1u);
  EXPECT_EQ(index("\\u006d\\u0065\\u0073\\u0073\\u0061\\u0067\\u0065\\u0073"), 1u);
  for (const std::string_view other : {"", "mode", "models", "Model", "m\\odel", "model\\u", "\\ud83d"}) {
    EXPECT_EQ(index(other), kNames.size()) << other;
  }
  EXPECT_EQ(index(std::string(1'000, '\\')), kNames.size());
  EXPECT_EQ(index("model" + std::string(300, 'x') + "\\n"), kNames.size());
}

}  // namespace
}  // namespace prefixroute::internal
