// SPDX-License-Identifier: Apache-2.0
//
// What a prefix hashes to must not depend on the machine: replicas of a gateway may run on different ones.

#include "src/hash/kernels.h"

#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/prefix_key.h"
#include "src/hash/hash.h"
#include "src/hash/xxh3.h"

namespace prefixroute::internal {
namespace {

constexpr uint64_t kUntouched = 0xdeadbeef;

struct Hashes {
  uint64_t whole;
  uint64_t in_pieces;
  uint64_t value;
  size_t count;
  std::vector<uint64_t> fingerprints;
};

Hashes HashBy(const HashKernels& kernels, std::string_view bytes, uint64_t scope_hash) {
  Hashes hashes{};
  hashes.fingerprints.assign(kMaxPrefixDepths, kUntouched);
  hashes.whole = kernels.hash_bytes(bytes.data(), bytes.size());
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  const size_t piece = bytes.size() / 3;
  kernels.update(&state, bytes.data(), piece);
  kernels.update(&state, bytes.data() + piece, bytes.size() - piece);
  hashes.in_pieces = kernels.digest(&state);
  hashes.count = kernels.hash_prefix(bytes.data(), bytes.size(), scope_hash, kPrefixDepths.data(), kMaxPrefixDepths,
                                     hashes.fingerprints.data(), &hashes.value);
  return hashes;
}

TEST(HashKernelsTest, EveryWidthOfVectorsGivesTheSameHashes) {
  const Runnable<HashKernels> runnable = RunnableHashKernels();
  ASSERT_GE(runnable.count, 1u);
  std::cout << "[   NOTE   ] this machine runs " << runnable.count << " of 3\n";
  EXPECT_EQ(&WidestHashKernels(), runnable.kernels[runnable.count - 1]);
  std::mt19937_64 random(1);
  std::string memory(1 << 20, '\0');
  for (char& byte : memory) byte = static_cast<char>(random());
  for (int round = 0; round < 3'000; ++round) {
    const size_t offset = random() % 65;
    const size_t longest = round % 100 == 0 ? memory.size() - offset : 3'000;
    const std::string_view bytes = std::string_view(memory).substr(offset, 1 + random() % longest);
    const uint64_t scope_hash = round % 2 == 0 ? 0 : random();
    const Hashes expected = HashBy(*runnable.kernels[0], bytes, scope_hash);
    for (size_t i = 1; i < runnable.count; ++i) {
      SCOPED_TRACE("kernels " + std::to_string(i) + ", " + std::to_string(bytes.size()) + " bytes");
      const Hashes hashes = HashBy(*runnable.kernels[i], bytes, scope_hash);
      ASSERT_EQ(hashes.whole, expected.whole);
      ASSERT_EQ(hashes.in_pieces, expected.whole);
      ASSERT_EQ(hashes.value, expected.value);
      ASSERT_EQ(hashes.count, expected.count);
      ASSERT_EQ(hashes.fingerprints, expected.fingerprints);
    }
    ASSERT_EQ(HashBytes(bytes), expected.whole);
  }
}

// 0 is no fingerprint, and a scope can make one of it.
TEST(HashKernelsTest, ZeroCountsAsOne) {
  const std::string bytes(70, 'x');
  const Runnable<HashKernels> runnable = RunnableHashKernels();
  for (size_t i = 0; i < runnable.count; ++i) {
    const Hashes hashes = HashBy(*runnable.kernels[i], bytes, 0);
    ASSERT_EQ(hashes.count, 1u);
    EXPECT_EQ(HashBy(*runnable.kernels[i], bytes, hashes.fingerprints[0]).fingerprints[0], 1u);
    EXPECT_EQ(HashBy(*runnable.kernels[i], bytes, hashes.value).value, 1u);
  }
}

// Whatever the key was before: nothing of it may stay.
TEST(FillPrefixKeyTest, MakesTheKeyWhereItLies) {
  const std::string bytes(5'000, 'x');
  PrefixKey key;
  for (const size_t length : {5'000, 10, 0, 64, 63, 4'000}) {
    const std::string_view prefix = std::string_view(bytes).substr(0, length);
    for (const std::string_view scope : {"", "scope"}) {
      for (const uint64_t limit : {uint64_t{0}, uint64_t{50}, uint64_t{1'000}, UINT64_MAX}) {
        FillPrefixKey(prefix, scope, limit, key);
        const PrefixKey expected = MakePrefixKey(prefix, scope, limit);
        ASSERT_EQ(key, expected) << length << ", " << limit;
        ASSERT_EQ(key.empty(), expected.empty());
        ASSERT_EQ(key.depth_count(), expected.depth_count()) << length << ", " << limit;
        for (size_t i = 0; i < key.depth_count(); ++i) {
          ASSERT_EQ(key.depth(i), expected.depth(i));
          ASSERT_EQ(key.fingerprint(i), expected.fingerprint(i));
        }
      }
    }
  }
}

}  // namespace
}  // namespace prefixroute::internal
