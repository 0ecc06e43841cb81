// SPDX-License-Identifier: Apache-2.0
//
// What a prefix hashes to must not depend on the machine: replicas of a gateway may run on different ones.

#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "src/hash/hash.h"

namespace prefixroute::internal {
namespace {

TEST(HashSegmentsTest, EveryWidthOfVectorsGivesTheSameHashes) {
  const SegmentHashers hashers = RunnableSegmentHashers();
  ASSERT_GE(hashers.count, 1u);
  std::cout << "[   NOTE   ] this machine runs " << hashers.count << " of 3\n";
  std::mt19937_64 random(1);
  std::string bytes(1 << 20, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (int round = 0; round < 2'000; ++round) {
    const size_t offset = random() % 65;
    const uint64_t longest = round % 100 == 0 ? 200'000 : 700;
    std::vector<uint64_t> ends;
    for (uint64_t end = random() % longest; end < bytes.size() - offset && ends.size() < 20;
         end += random() % longest) {
      ends.push_back(end);
    }
    std::vector<uint64_t> expected(ends.size());
    hashers.functions[0](bytes.data() + offset, ends.data(), ends.size(), expected.data());
    for (size_t i = 1; i < hashers.count; ++i) {
      std::vector<uint64_t> hashes(ends.size());
      hashers.functions[i](bytes.data() + offset, ends.data(), ends.size(), hashes.data());
      ASSERT_EQ(hashes, expected) << "hasher " << i << ", round " << round;
    }
    std::vector<uint64_t> chosen(ends.size());
    HashSegments(bytes.data() + offset, ends.data(), ends.size(), chosen.data());
    ASSERT_EQ(chosen, expected);
  }
}

}  // namespace
}  // namespace prefixroute::internal
