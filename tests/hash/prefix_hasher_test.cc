// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/prefix_key.h"

namespace prefixroute {
namespace {

std::string RandomBytes(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

// Feeds `bytes` to a copy of `start` in pieces of 0 to `longest` bytes.
PrefixKey KeyOfPieces(const PrefixHasher& start, std::string_view bytes, size_t longest, std::mt19937_64& random) {
  PrefixHasher hasher = start;
  while (!bytes.empty()) {
    const size_t length = std::min(bytes.size(), static_cast<size_t>(random() % (longest + 1)));
    // Each piece in a buffer of its own, and gone before the next: nothing of it may be kept.
    const std::vector<char> piece(bytes.begin(), bytes.begin() + length);
    hasher.Update(std::string_view(piece.data(), piece.size()));
    bytes.remove_prefix(length);
  }
  return hasher.Key();
}

// PrefixKey's own comparison looks at the value alone.
void ExpectSameKey(const PrefixKey& key, const PrefixKey& expected) {
  ASSERT_EQ(key, expected);
  ASSERT_EQ(key.depth_count(), expected.depth_count());
  for (size_t i = 0; i < key.depth_count(); ++i) {
    ASSERT_EQ(key.depth(i), expected.depth(i));
    ASSERT_EQ(key.fingerprint(i), expected.fingerprint(i)) << "depth " << key.depth(i);
  }
}

// Cut in two, in three and all over, at every depth and a byte beside it.
TEST(PrefixHasherTest, CutsAtAndAroundEveryDepthGiveEveryFingerprint) {
  const std::string bytes = RandomBytes(60'000, 7);
  std::vector<size_t> places;
  for (uint64_t depth : kPrefixDepths) {
    for (uint64_t place : {depth - 1, depth, depth + 1}) {
      if (place < bytes.size()) places.push_back(place);
    }
  }
  const auto key_of_cuts = [&](const std::vector<size_t>& cuts) {
    PrefixHasher hasher;
    size_t begin = 0;
    for (size_t cut : cuts) {
      hasher.Update(std::string_view(bytes).substr(begin, cut - begin));
      begin = cut;
    }
    hasher.Update(std::string_view(bytes).substr(begin));
    return hasher.Key();
  };
  const PrefixKey whole = MakePrefixKey(bytes);
  ASSERT_GT(whole.depth_count(), 20u);
  for (size_t first : places) {
    ExpectSameKey(key_of_cuts({first}), whole);
    for (size_t second : places) {
      if (second >= first) ExpectSameKey(key_of_cuts({first, second}), whole);
    }
  }
  ExpectSameKey(key_of_cuts(places), whole);
}

TEST(PrefixHasherTest, RandomCutsGiveEveryFingerprint) {
  const std::string bytes = RandomBytes(30'000, 8);
  std::mt19937_64 random(8);
  PrefixHasher start;
  start.AddScope("scope");
  for (int round = 0; round < 500; ++round) {
    const std::string_view prefix = std::string_view(bytes).substr(0, random() % bytes.size());
    ExpectSameKey(KeyOfPieces(start, prefix, size_t{1} << random() % 14, random), MakePrefixKey(prefix, "scope"));
  }
}

TEST(PrefixHasherTest, AnyCutGivesTheKeyOfTheWholeAtEveryLength) {
  const std::string bytes = RandomBytes(1'100, 1);
  std::mt19937_64 random(1);
  for (size_t length = 0; length <= bytes.size(); ++length) {
    const std::string_view prefix = std::string_view(bytes).substr(0, length);
    const PrefixKey key = MakePrefixKey(prefix, "scope");
    PrefixHasher hasher;
    hasher.AddScope("scope");
    for (size_t longest : {1, 7, 64, 300, 2'000}) {
      ASSERT_EQ(KeyOfPieces(hasher, prefix, longest, random), key) << length << " " << longest;
    }
  }
}

TEST(PrefixHasherTest, OneByteAtATimeEveryKeyOnTheWay) {
  const std::string bytes = RandomBytes(1'100, 2);
  PrefixHasher hasher;
  for (size_t length = 0; length < bytes.size(); ++length) {
    ASSERT_EQ(hasher.Key(), MakePrefixKey(std::string_view(bytes).substr(0, length)));
    ASSERT_EQ(hasher.Key(), MakePrefixKey(std::string_view(bytes).substr(0, length))) << "asking changes nothing";
    hasher.Update(std::string_view(bytes).substr(length, 1));
  }
}

TEST(PrefixHasherTest, TheLimitCutsThroughPieces) {
  const std::string bytes = RandomBytes(2'000, 3);
  std::mt19937_64 random(3);
  for (uint64_t limit : {1, 16, 240, 241, 256, 1'000, 1'024, 1'999, 2'000, 2'001}) {
    const PrefixKey key = MakePrefixKey(bytes, {}, limit);
    for (size_t longest : {1, 10, 255, 3'000}) {
      ASSERT_EQ(KeyOfPieces(PrefixHasher(limit), bytes, longest, random), key) << limit << " " << longest;
    }
  }
}

TEST(PrefixHasherTest, IsFullAtTheLimitAndNotBefore) {
  PrefixHasher hasher(10);
  EXPECT_FALSE(hasher.full());
  hasher.Update("123456789");
  EXPECT_FALSE(hasher.full());
  hasher.Update("0");
  EXPECT_TRUE(hasher.full());
  const PrefixKey key = hasher.Key();
  hasher.Update("more");
  EXPECT_EQ(hasher.Key(), key);
  EXPECT_EQ(key, MakePrefixKey("1234567890"));
}

TEST(PrefixHasherTest, BigPrefixesInPieces) {
  const std::string bytes = RandomBytes(10 << 20, 4);
  std::mt19937_64 random(4);
  for (uint64_t limit : {kDefaultMaxPrefixBytes, uint64_t{1} << 20, kMaxMaxPrefixBytes}) {
    const PrefixKey key = MakePrefixKey(bytes, {}, limit);
    for (size_t longest : {5'000, 1 << 20, 20 << 20}) {
      EXPECT_EQ(KeyOfPieces(PrefixHasher(limit), bytes, longest, random), key);
    }
  }
  EXPECT_NE(MakePrefixKey(bytes), MakePrefixKey(bytes, {}, kMaxMaxPrefixBytes));
}

TEST(PrefixHasherTest, EmptyPiecesAddNothing) {
  PrefixHasher hasher;
  hasher.Update("");
  hasher.Update(std::string_view(nullptr, 0));
  EXPECT_TRUE(hasher.Key().empty());
  hasher.AddScope("scope");
  EXPECT_TRUE(hasher.Key().empty()) << "a scope alone is no prefix";
  hasher.Update("pre");
  hasher.Update(std::string_view(nullptr, 0));
  hasher.Update("fix");
  EXPECT_EQ(hasher.Key(), MakePrefixKey("prefix", "scope"));
}

TEST(PrefixHasherTest, ScopePartsAreFramedAndOrdered) {
  const auto key = [](const std::vector<std::string_view>& scopes) {
    PrefixHasher hasher;
    for (std::string_view scope : scopes) hasher.AddScope(scope);
    hasher.Update("prefix");
    return hasher.Key();
  };
  const std::set<uint64_t> keys{key({}).value(),         key({"a", "bc"}).value(), key({"ab", "c"}).value(),
                                key({"abc"}).value(),    key({"bc", "a"}).value(), key({"a", "b", "c"}).value(),
                                key({"a", "a"}).value(), key({"a"}).value(),       key({"a", "a", "a"}).value()};
  EXPECT_EQ(keys.size(), 9u);
  EXPECT_EQ(key({}), MakePrefixKey("prefix"));
  EXPECT_EQ(key({"abc"}), MakePrefixKey("prefix", "abc"));
  EXPECT_EQ(key({"", "a", "", "bc", std::string_view(nullptr, 0)}), key({"a", "bc"})) << "an empty part adds nothing";
}

TEST(PrefixHasherTest, AScopeMayComeAtAnyTime) {
  const std::string bytes = RandomBytes(1'000, 9);
  const PrefixKey expected = MakePrefixKey(bytes, "scope");
  for (int place = 0; place < 3; ++place) {
    for (size_t cut : {1, 63, 64, 65, 500, 999}) {
      PrefixHasher hasher;
      if (place == 0) hasher.AddScope("scope");
      hasher.Update(std::string_view(bytes).substr(0, cut));
      if (place == 1) hasher.AddScope("scope");
      hasher.Update(std::string_view(bytes).substr(cut));
      if (place == 2) hasher.AddScope("scope");
      ExpectSameKey(hasher.Key(), expected);
    }
  }
}

// A conversation's common beginning is hashed once, and each continuation by a copy.
TEST(PrefixHasherTest, ACopyGoesOnFromTheMiddleByItself) {
  const std::string beginning = RandomBytes(777, 5);
  for (size_t more : {0, 1, 100, 1'000}) {
    const std::string rest = RandomBytes(more, 6);
    auto original = std::make_unique<PrefixHasher>();
    original->AddScope("scope");
    original->Update(beginning);
    PrefixHasher copy = *original;
    PrefixHasher assigned(1);
    assigned = *original;
    copy.Update(rest);
    EXPECT_EQ(original->Key(), MakePrefixKey(beginning, "scope")) << "the copy's bytes are its own";
    original->Update("another way");
    original.reset();
    EXPECT_EQ(copy.Key(), MakePrefixKey(beginning + rest, "scope"));
    assigned.Update(rest);
    EXPECT_EQ(assigned.Key(), MakePrefixKey(beginning + rest, "scope")) << "the limit is copied too";
  }
}

}  // namespace
}  // namespace prefixroute
