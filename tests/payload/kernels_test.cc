// SPDX-License-Identifier: Apache-2.0
//
// Steps of 64 bytes against steps of one, by each width of vectors that the machine has.

#include "src/payload/kernels.h"

#include <algorithm>
#include <iostream>
#include <random>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "src/payload/escape.h"
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

// What a string says up to where it stops, and the stop, which is never for want of room.
std::string TextByByte(const char* at, const char* end, TextStop* stop) {
  std::string text;
  while (true) {
    if (at == end) {
      *stop = TextStop::kCut;
      return text;
    }
    if (*at == '"') {
      *stop = TextStop::kClosed;
      return text;
    }
    if (*at != '\\') {
      text += *at++;
      continue;
    }
    char bytes[4];
    char* out = bytes;
    const Escape escape = DecodeEscape(&at, end, &out);
    if (escape != Escape::kDone) {
      *stop = escape == Escape::kCut ? TextStop::kCut : TextStop::kMalformed;
      return text;
    }
    text.append(bytes, out);
  }
}

class PayloadKernelsTest : public ::testing::Test {
 protected:
  PayloadKernelsTest() {
    std::cout << "[   NOTE   ] this machine runs " << runnable_.count << " of 3\n";
    EXPECT_EQ(&WidestScanKernels(), runnable_.kernels[runnable_.count - 1]);
  }

  template <typename Check>
  void ForEachWidth(Check check) {
    for (size_t i = 0; i < runnable_.count; ++i) check(*runnable_.kernels[i]);
  }

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

  const Runnable<ScanKernels> runnable_ = RunnableScanKernels();
  std::mt19937 random_{1};
  Guarded memory_{8'192};
  Guarded room_{1'024};
};

TEST_F(PayloadKernelsTest, StringsEndWhereTheirQuoteIs) {
  for (const std::string_view letters :
       {"\\\"ab", "\\", "\\\\\\\\\\\"", "abcdefgh{}[]\\", "abcdefghijklmnopqrstuvwxyz\""}) {
    for (int round = 0; round < 5'000; ++round) {
      const std::string_view bytes = RandomBytes(letters, random_() % 300, true);
      ForEachWidth([&](const ScanKernels& kernels) {
        ASSERT_EQ(kernels.skip_string(bytes.begin(), bytes.end()), StringByByte(bytes.begin(), bytes.end())) << bytes;
        ASSERT_EQ(kernels.find_text_end(bytes.begin(), bytes.end()),
                  bytes.begin() + std::min(bytes.find_first_of("\"\\"), bytes.size()));
      });
    }
  }
}

TEST_F(PayloadKernelsTest, ContainersEndWhereAllAreClosed) {
  for (const std::string_view letters :
       {"[]", "[]]{}", "[[]\"", "{}[]\"\\a", "ab\\\"[]", "{}[],:\" \\abcdefghijklmnop\x1b\x1d\x7f\xfb"}) {
    for (int round = 0; round < 5'000; ++round) {
      const std::string bytes = "[" + std::string(RandomBytes(letters, random_() % 300, false));
      const std::string_view guarded = memory_.AtEnd(bytes);
      ForEachWidth([&](const ScanKernels& kernels) {
        ASSERT_EQ(kernels.skip_container(guarded.begin(), guarded.end()),
                  ContainerByByte(guarded.begin(), guarded.end()))
            << bytes;
      });
    }
  }
}

TEST_F(PayloadKernelsTest, TextIsCopiedAndDecoded) {
  for (const std::string_view letters :
       {"ab", "abcdefghijklmnopqrstuvwxyz\\n\xff{", "\\nt\"", "\\u0d8", "a\\ud83c\""}) {
    for (int round = 0; round < 5'000; ++round) {
      std::string_view bytes = RandomBytes(letters, random_() % 2'000, true);
      TextStop expected_stop;
      const std::string expected = TextByByte(bytes.begin(), bytes.end(), &expected_stop);
      ForEachWidth([&](const ScanKernels& kernels) {
        // In rooms of random size, at the end of memory.
        std::string text;
        const char* at = bytes.begin();
        TextCopy copy;
        do {
          const size_t size = 1 + random_() % 700;
          char* const out = const_cast<char*>(room_.AtEnd(std::string(size + kCopySlack, '?')).data());
          copy = kernels.copy_text(at, bytes.end(), out, out + size - 1);
          ASSERT_LE(copy.out, out + size + kCopySlack);
          text.append(out, copy.out);
          at = copy.at;
          if (copy.stop == TextStop::kLongRun) {
            ASSERT_GE(at - copy.run, kLongRun);
            ASSERT_LE(at - copy.run, copy.out - out);
            ASSERT_EQ(std::string(copy.run, at), std::string(copy.out - (at - copy.run), copy.out));
          }
        } while (copy.stop == TextStop::kFull || copy.stop == TextStop::kLongRun);
        ASSERT_EQ(copy.stop, expected_stop) << bytes;
        ASSERT_EQ(text, expected) << bytes;
      });
      if (round % 100 != 0) continue;
      ASSERT_FALSE(HasFatalFailure());
    }
  }
}

}  // namespace
}  // namespace prefixroute::internal
