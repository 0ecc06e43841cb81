// SPDX-License-Identifier: Apache-2.0
//
// The formula in prefix_key.h, computed anew with xxHash's plain C code: no vector units, no streaming, and no object
// shared with the library.

#include "prefixroute/prefix_key.h"

#include <array>
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

static_assert(PrefixKey().empty() && PrefixKey().value() == 0);
static_assert(PrefixKey::FromHash(0).value() == 1 && !PrefixKey::FromHash(0).empty());
static_assert(PrefixKey::FromHash(1) == PrefixKey::FromHash(0) && PrefixKey::FromHash(2) != PrefixKey::FromHash(0));
static_assert(PrefixKey::FromHash(UINT64_MAX).value() == UINT64_MAX);

// MurmurHash3's fmix64, written down once more.
uint64_t Fmix64(uint64_t k) {
  k = (k ^ (k >> 33)) * 0xff51afd7ed558ccdULL;
  k = (k ^ (k >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return k ^ (k >> 33);
}

uint64_t ExpectedKey(std::string_view prefix, std::initializer_list<std::string_view> scopes) {
  if (prefix.empty()) return 0;
  uint64_t scope_hash = 0;
  for (std::string_view scope : scopes) {
    if (!scope.empty()) scope_hash = Fmix64(scope_hash ^ XXH3_64bits(scope.data(), scope.size())) + 1;
  }
  const uint64_t key = Fmix64(XXH3_64bits(prefix.data(), prefix.size()) ^ scope_hash);
  return key == 0 ? 1 : key;
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
    ASSERT_EQ(MakePrefixKey(prefix).value(), ExpectedKey(prefix, {})) << length;
    ASSERT_EQ(MakePrefixKey(prefix, "scope").value(), ExpectedKey(prefix, {"scope"})) << length;
    // A scope is hashed as a prefix is, whatever its length.
    ASSERT_EQ(MakePrefixKey("x", prefix).value(), ExpectedKey("x", {prefix})) << length;
  }
  for (size_t length : {4'095, 4'096, 4'097, 10'000, 20'000}) {
    const std::string_view prefix = std::string_view(bytes).substr(0, length);
    ASSERT_EQ(MakePrefixKey(prefix, "scope", length).value(), ExpectedKey(prefix, {"scope"})) << length;
  }
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
  EXPECT_EQ(hasher.Key().value(), ExpectedKey(prefix, {"model", "adapter", "tenant"}));
}

}  // namespace
}  // namespace prefixroute
