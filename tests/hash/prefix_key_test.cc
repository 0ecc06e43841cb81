// SPDX-License-Identifier: Apache-2.0
//
// The formula in prefix_key.h, computed anew with xxHash's plain C code: no vector units, no streaming, and no object
// shared with the library.

#include "prefixroute/prefix_key.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

#define XXH_NAMESPACE prefix_key_test_
#define XXH_STATIC_LINKING_ONLY
#define XXH_IMPLEMENTATION
#define XXH_VECTOR XXH_SCALAR
#include <xxhash.h>

namespace prefixroute {
namespace {

// MurmurHash3's fmix64, written down once more.
uint64_t Fmix64(uint64_t k) {
  k = (k ^ (k >> 33)) * 0xff51afd7ed558ccdULL;
  k = (k ^ (k >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return k ^ (k >> 33);
}

// A key as prefix_key.h says it, depth by depth.
struct Expected {
  uint64_t value = 0;
  std::vector<uint64_t> depths;
  std::vector<uint64_t> fingerprints;
};

uint64_t NotZero(uint64_t hash) { return hash == 0 ? 1 : hash; }

Expected ExpectedOf(std::string_view prefix, std::initializer_list<std::string_view> scopes) {
  Expected expected;
  if (prefix.empty()) return expected;
  uint64_t scope_hash = 0;
  for (std::string_view scope : scopes) {
    if (!scope.empty()) scope_hash = Fmix64(scope_hash ^ XXH3_64bits(scope.data(), scope.size())) + 1;
  }
  uint64_t chain = 0;
  uint64_t begin = 0;
  while (begin < prefix.size()) {
    // 64 bytes, or a quarter of what lies before, rounded up to 64 bytes.
    const uint64_t step = std::max<uint64_t>(64, (begin / 4 + 63) / 64 * 64);
    const uint64_t end = std::min<uint64_t>(begin + step, prefix.size());
    chain = Fmix64(chain ^ XXH3_64bits(prefix.data() + begin, end - begin));
    if (end - begin == step) {
      expected.depths.push_back(end);
      expected.fingerprints.push_back(NotZero(chain ^ scope_hash));
    }
    begin = end;
  }
  expected.value = NotZero(chain ^ scope_hash);
  if (expected.depths.empty()) {
    expected.depths.push_back(prefix.size());
    expected.fingerprints.push_back(expected.value);
  }
  return expected;
}

uint64_t ExpectedKey(std::string_view prefix, std::initializer_list<std::string_view> scopes) {
  return ExpectedOf(prefix, scopes).value;
}

void ExpectKey(const PrefixKey& key, std::string_view prefix, std::initializer_list<std::string_view> scopes) {
  const Expected expected = ExpectedOf(prefix, scopes);
  ASSERT_EQ(key.value(), expected.value) << prefix.size();
  ASSERT_EQ(key.bytes(), prefix.size());
  ASSERT_EQ(key.empty(), prefix.empty());
  ASSERT_EQ(key.depth_count(), expected.depths.size()) << prefix.size();
  for (size_t i = 0; i < expected.depths.size(); ++i) {
    ASSERT_EQ(key.depth(i), expected.depths[i]) << prefix.size() << " " << i;
    ASSERT_EQ(key.fingerprint(i), expected.fingerprints[i]) << prefix.size() << " " << i;
  }
}

std::string RandomBytes(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

TEST(MakePrefixKeyTest, FollowsTheFormulaAtEveryLength) {
  const std::string bytes = RandomBytes(20'000, 1);
  for (size_t length = 0; length <= 1'100; ++length) {
    const std::string_view prefix = std::string_view(bytes).substr(0, length);
    ExpectKey(MakePrefixKey(prefix), prefix, {});
    ExpectKey(MakePrefixKey(prefix, "scope"), prefix, {"scope"});
    // A scope is hashed as a prefix is, whatever its length.
    ASSERT_EQ(MakePrefixKey("x", prefix).value(), ExpectedKey("x", {prefix})) << length;
  }
  for (size_t length : {4'095, 4'096, 4'097, 10'000, 20'000}) {
    const std::string_view prefix = std::string_view(bytes).substr(0, length);
    ExpectKey(MakePrefixKey(prefix, "scope", length), prefix, {"scope"});
  }
}

// Every depth, and a byte less and more, up to the greatest prefix there is.
TEST(MakePrefixKeyTest, FollowsTheFormulaAtEveryDepth) {
  const std::string bytes = RandomBytes(kMaxMaxPrefixBytes, 6);
  for (uint64_t depth : kPrefixDepths) {
    for (uint64_t length : {depth - 1, depth, depth + 1}) {
      if (length > bytes.size() || length > 300'000) continue;
      const std::string_view prefix = std::string_view(bytes).substr(0, length);
      ExpectKey(MakePrefixKey(prefix, "scope"), prefix, {"scope"});
    }
  }
  ExpectKey(MakePrefixKey(bytes, "scope", kMaxMaxPrefixBytes), bytes, {"scope"});
  EXPECT_EQ(MakePrefixKey(bytes, {}, kMaxMaxPrefixBytes).depth_count(), kMaxPrefixDepths);
}

TEST(PrefixDepthsTest, GrowByAQuarterAndReachTheGreatestPrefix) {
  EXPECT_EQ(kPrefixDepths[0], 64u);
  for (size_t i = 1; i < kMaxPrefixDepths; ++i) {
    EXPECT_EQ(kPrefixDepths[i] % 64, 0u);
    EXPECT_GT(kPrefixDepths[i], kPrefixDepths[i - 1]);
    const uint64_t step = kPrefixDepths[i] - kPrefixDepths[i - 1];
    // Rounding up adds less than 64 bytes to a quarter.
    EXPECT_GE(4 * step, kPrefixDepths[i - 1]);
    EXPECT_LT(step, kPrefixDepths[i - 1] / 4 + 64 + 1);
  }
  const auto within = [](uint64_t bytes) {
    return std::count_if(kPrefixDepths.begin(), kPrefixDepths.end(), [&](uint64_t depth) { return depth <= bytes; });
  };
  EXPECT_EQ(within(63), 0);
  EXPECT_EQ(within(64), 1);
  EXPECT_EQ(within(uint64_t{1} << 20), 40);
  EXPECT_EQ(within(kMaxMaxPrefixBytes), static_cast<ptrdiff_t>(kMaxPrefixDepths));
  // None is missing at the end.
  EXPECT_GT(kPrefixDepths.back() + kPrefixDepths.back() / 4, kMaxMaxPrefixBytes);
}

TEST(MakePrefixKeyTest, APrefixShorterThanTheFirstDepthHasOneItsWhole) {
  const std::string bytes = RandomBytes(64, 7);
  for (size_t length = 1; length < 64; ++length) {
    const PrefixKey key = MakePrefixKey(std::string_view(bytes).substr(0, length));
    ASSERT_EQ(key.depth_count(), 1u);
    ASSERT_EQ(key.depth(0), length);
    ASSERT_EQ(key.fingerprint(0), key.value());
  }
}

TEST(MakePrefixKeyTest, TwoPromptsShareTheFingerprintsOfWhatTheyShareAndNoOther) {
  const std::string bytes = RandomBytes(20'000, 8);
  for (size_t shared : {0, 1, 63, 64, 65, 127, 128, 319, 320, 321, 447, 448, 449, 1'000, 9'999, 19'999}) {
    std::string other = bytes;
    for (size_t i = shared; i < other.size(); ++i) other[i] = static_cast<char>(~other[i]);
    const PrefixKey key = MakePrefixKey(bytes, "scope");
    const PrefixKey other_key = MakePrefixKey(other, "scope");
    const PrefixKey other_scope = MakePrefixKey(bytes, "another");
    ASSERT_EQ(key.depth_count(), other_key.depth_count());
    for (size_t i = 0; i < key.depth_count(); ++i) {
      ASSERT_EQ(key.fingerprint(i) == other_key.fingerprint(i), key.depth(i) <= shared) << shared << " " << i;
      ASSERT_NE(key.fingerprint(i), other_scope.fingerprint(i));
    }
    EXPECT_NE(key, other_key);
  }
}

TEST(MakePrefixKeyTest, TheKeyOfABeginningHasTheFirstFingerprintsOfTheWhole) {
  const std::string bytes = RandomBytes(20'000, 9);
  const PrefixKey whole = MakePrefixKey(bytes);
  for (size_t length : {64, 100, 1'000, 5'000, 19'999}) {
    const PrefixKey beginning = MakePrefixKey(bytes, {}, length);
    for (size_t i = 0; i < beginning.depth_count(); ++i) {
      ASSERT_EQ(beginning.fingerprint(i), whole.fingerprint(i)) << length << " " << i;
    }
  }
}

TEST(PrefixKeyTest, OfAHashIsFoundAsAWholeOrNotAtAll) {
  const PrefixKey key = PrefixKey::FromHash(77, 100'000);
  EXPECT_FALSE(key.empty());
  EXPECT_EQ(key.value(), 77u);
  EXPECT_EQ(key.bytes(), 100'000u);
  ASSERT_EQ(key.depth_count(), 1u);
  EXPECT_EQ(key.depth(0), 100'000u);
  EXPECT_EQ(key.fingerprint(0), 77u);
  EXPECT_EQ(PrefixKey::FromHash(77).bytes(), 4096u);
  EXPECT_EQ(PrefixKey::FromHash(77, 0).bytes(), 1u);
  EXPECT_EQ(PrefixKey::FromHash(77, UINT64_MAX).bytes(), kMaxMaxPrefixBytes);
  EXPECT_EQ(PrefixKey::FromHash(UINT64_MAX).value(), UINT64_MAX);
  EXPECT_EQ(PrefixKey::FromHash(0), PrefixKey::FromHash(1)) << "0 counts as 1";
  EXPECT_FALSE(PrefixKey::FromHash(0).empty());
  EXPECT_NE(PrefixKey::FromHash(2), PrefixKey::FromHash(1));
  EXPECT_TRUE(PrefixKey().empty());
  EXPECT_EQ(PrefixKey().value(), 0u);
  EXPECT_EQ(PrefixKey().bytes(), 0u);
  EXPECT_EQ(PrefixKey().depth_count(), 0u);
}

TEST(MakePrefixKeyTest, ReadsAtAnyAlignment) {
  const std::string bytes = RandomBytes(2'000, 2);
  for (size_t offset = 0; offset < 65; ++offset) {
    for (size_t length : {1, 7, 16, 100, 239, 300, 1'500}) {
      const std::string_view prefix = std::string_view(bytes).substr(offset, length);
      const std::string aligned(prefix);
      ASSERT_EQ(MakePrefixKey(prefix), MakePrefixKey(aligned)) << offset << " " << length;
    }
  }
}

TEST(MakePrefixKeyTest, AnEmptyPrefixHasTheEmptyKeyInAnyScope) {
  EXPECT_TRUE(MakePrefixKey("").empty());
  EXPECT_TRUE(MakePrefixKey(std::string_view(nullptr, 0)).empty());
  EXPECT_TRUE(MakePrefixKey("", "scope").empty());
  EXPECT_TRUE(MakePrefixKey(std::string_view(nullptr, 0), std::string_view(nullptr, 0)).empty());
}

TEST(MakePrefixKeyTest, OnlyTheBytesUpToTheLimitCount) {
  const std::string bytes = RandomBytes(3'000, 3);
  for (uint64_t limit : {1, 16, 17, 240, 241, 1'024, 2'999, 3'000}) {
    const PrefixKey key = MakePrefixKey(bytes, {}, limit);
    EXPECT_EQ(key.value(), ExpectedKey(std::string_view(bytes).substr(0, limit), {}));
    std::string other = bytes;
    for (size_t i = limit; i < other.size(); ++i) other[i] = static_cast<char>(~other[i]);
    EXPECT_EQ(MakePrefixKey(other, {}, limit), key) << "bytes beyond the limit are another prompt's";
    other[limit - 1] = static_cast<char>(~other[limit - 1]);
    EXPECT_NE(MakePrefixKey(other, {}, limit), key) << "the last byte within the limit counts";
    EXPECT_NE(MakePrefixKey(bytes, {}, limit - 1), key) << "a byte less is another prefix";
  }
  EXPECT_EQ(MakePrefixKey(bytes, {}, UINT64_MAX), MakePrefixKey(bytes));
  EXPECT_TRUE(MakePrefixKey(bytes, {}, 0).empty());
}

TEST(MakePrefixKeyTest, OfTenMebibytesOnlyThoseUpToTheLimitCount) {
  const std::string bytes = RandomBytes(10 << 20, 4);
  EXPECT_EQ(MakePrefixKey(bytes), MakePrefixKey(bytes, {}, kDefaultMaxPrefixBytes));
  for (uint64_t limit : {kDefaultMaxPrefixBytes, uint64_t{1} << 20}) {
    const PrefixKey key = MakePrefixKey(bytes, {}, limit);
    EXPECT_EQ(key.value(), ExpectedKey(std::string_view(bytes).substr(0, limit), {}));
    std::string other = bytes;
    other[limit] ^= 1;
    EXPECT_EQ(MakePrefixKey(other, {}, limit), key);
    other[limit - 1] ^= 1;
    EXPECT_NE(MakePrefixKey(other, {}, limit), key);
  }
}

TEST(MakePrefixKeyTest, BytesAreNotText) {
  const std::string nul_a("\0A", 2);
  const std::string nul_b("\0B", 2);
  EXPECT_NE(MakePrefixKey(nul_a), MakePrefixKey(nul_b));
  EXPECT_NE(MakePrefixKey(nul_a), MakePrefixKey(std::string_view(nul_a).substr(0, 1)));
  std::set<uint64_t> keys;
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::array<char, 2> bytes{static_cast<char>(first), static_cast<char>(second)};
      keys.insert(MakePrefixKey(std::string_view(bytes.data(), 2)).value());
      if (second == 0) keys.insert(MakePrefixKey(std::string_view(bytes.data(), 1)).value());
    }
  }
  EXPECT_EQ(keys.size(), 256u * 257u);
}

TEST(MakePrefixKeyTest, ScopesAreKeptApartFromEachOtherAndFromThePrefix) {
  std::set<uint64_t> keys{MakePrefixKey("prefix").value(),           MakePrefixKey("prefix", "a").value(),
                          MakePrefixKey("prefix", "b").value(),      MakePrefixKey("prefixa").value(),
                          MakePrefixKey("aprefix").value(),          MakePrefixKey("a", "prefix").value(),
                          MakePrefixKey("prefix", "aa").value(),     MakePrefixKey("prefix", "prefix").value(),
                          MakePrefixKey("prefix", {"\0", 1}).value()};
  EXPECT_EQ(keys.size(), 9u);
}

TEST(PrefixHasherTest, ScopePartsFollowTheFormula) {
  const std::string prefix = RandomBytes(500, 5);
  PrefixHasher hasher;
  hasher.AddScope("model");
  hasher.AddScope("adapter");
  hasher.AddScope("tenant");
  hasher.Update(prefix);
  ExpectKey(hasher.Key(), prefix, {"model", "adapter", "tenant"});
}

}  // namespace
}  // namespace prefixroute
