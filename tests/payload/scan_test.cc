// SPDX-License-Identifier: Apache-2.0
//
// Steps of 64 bytes against steps of one.

#include "src/payload/scan.h"

#include <random>
#include <string>

#include "gtest/gtest.h"
#include "src/payload/block.h"
#include "tests/payload/guarded.h"

namespace prefixroute::internal {
namespace {

const char* StringByByte(const char* at, const char* end) {
  for (; at < end; ++at) {
    if (*at == '"') return at + 1;
    if (*at == '\\') ++at;
  }
  return nullptr;
}

const char* ContainerByByte(const char* at, const char* end) {
  int depth = 0;
  while (at < end) {
    const char byte = *at++;
    if (byte == '"') {
      at = StringByByte(at, end);
      if (at == nullptr) return nullptr;
    } else if (byte == '{' || byte == '[') {
      ++depth;
    } else if ((byte == '}' || byte == ']') && --depth == 0) {
      return at;
    }
  }
  return nullptr;
}

class PayloadScanTest : public ::testing::Test {
 protected:
  // Bytes of `letters`; but that outside of strings there is no backslash, which is no JSON, and has no one meaning.
  std::string_view RandomBytes(std::string_view letters, size_t size, bool in_string) {
    std::string bytes;
    bool escaped = false;
    while (bytes.size() < size) {
      const char byte = letters[random_() % letters.size()];
      if (!in_string && byte == '\\') continue;
      bytes += byte;
      if (byte == '"' && !escaped) in_string = !in_string;
      escaped = in_string && byte == '\\' && !escaped;
    }
    return memory_.AtEnd(bytes);
  }

  std::mt19937 random_{1};
  Guarded memory_{4'096};
};

TEST_F(PayloadScanTest, StringsEndWhereTheirQuoteIs) {
  for (const std::string_view letters :
       {"\\\"ab", "\\", "\\\\\\\\\\\"", "abcdefgh{}[]\\", "abcdefghijklmnopqrstuvwxyz\""}) {
    for (int round = 0; round < 20'000; ++round) {
      const std::string_view bytes = RandomBytes(letters, random_() % 300, true);
      ASSERT_EQ(SkipString(bytes.begin(), bytes.end()), StringByByte(bytes.begin(), bytes.end())) << bytes;
    }
  }
}

TEST_F(PayloadScanTest, ContainersEndWhereAllAreClosed) {
  for (const std::string_view letters :
       {"[]", "[]]{}", "[[]\"", "{}[]\"\\a", "ab\\\"[]", "{}[],:\" \\abcdefghijklmnop"}) {
    for (int round = 0; round < 20'000; ++round) {
      const std::string bytes = "[" + std::string(RandomBytes(letters, random_() % 300, false));
      const std::string_view guarded = memory_.AtEnd(bytes);
      ASSERT_EQ(SkipValue(guarded.begin(), guarded.end()), ContainerByByte(guarded.begin(), guarded.end())) << bytes;
    }
  }
}

TEST_F(PayloadScanTest, BlocksTellEachByte) {
  for (int byte = 0; byte < 256; ++byte) {
    for (size_t place = 0; place < ByteBlock::kBytes; ++place) {
      std::string bytes(ByteBlock::kBytes, static_cast<char>(byte + 1));
      bytes[place] = static_cast<char>(byte);
      ByteBlock block(bytes.data());
      ASSERT_EQ(block.Equal(static_cast<char>(byte)), uint64_t{1} << place);
      std::string copy(ByteBlock::kBytes, '\0');
      block.CopyTo(copy.data());
      ASSERT_EQ(copy, bytes);
      block.Lower();
      ASSERT_EQ(block.Equal(static_cast<char>(byte | 0x20)) >> place & 1, 1u);
    }
  }
}

TEST_F(PayloadScanTest, FindByteFindsTheFirst) {
  for (int round = 0; round < 20'000; ++round) {
    const std::string_view bytes = RandomBytes("abcdefghijklmnop\"", random_() % 100, true);
    const size_t first = std::min(bytes.find_first_of("\"c"), bytes.size());
    ASSERT_EQ((FindByte<'"', 'c'>(bytes.begin(), bytes.end())), bytes.begin() + first);
  }
}

TEST_F(PayloadScanTest, NamesAreFoundWithEscapesToo) {
  constexpr std::array<std::string_view, 2> kNames = {"model", "messages"};
  const auto index = [&](std::string_view raw) {
    return IndexOfName(memory_.AtEnd(std::string(raw) + "\"").substr(0, raw.size()), kNames.data(), kNames.size());
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
