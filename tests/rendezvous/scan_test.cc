// SPDX-License-Identifier: Apache-2.0
//
// What a scan answers must not depend on the machine, and must be what rendezvous.h says.

#include "src/rendezvous/scan.h"

#include <cstdint>
#include <iostream>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/rendezvous.h"

namespace prefixroute::internal {
namespace {

// The formula, one by one.
uint32_t ExpectedAtLeast(const std::vector<uint64_t>& hashes, uint32_t begin, uint32_t end, uint64_t key,
                         uint64_t floor) {
  while (begin < end && RendezvousHash(key, hashes[begin]) >> 31 < floor >> 31) ++begin;
  return begin;
}

uint32_t ExpectedAbove(const std::vector<uint64_t>& hashes, uint64_t key, uint64_t floor) {
  uint32_t count = 0;
  for (const uint64_t hash : hashes) count += RendezvousHash(key, hash) > floor ? 1 : 0;
  return count;
}

TEST(ScanTest, EveryWidthOfVectorsFollowsTheFormula) {
  const Runnable<ScanKernels> scans = RunnableScans();
  ASSERT_GE(scans.count, 1u);
  std::cout << "[   NOTE   ] this machine runs " << scans.count << " of 3\n";
  std::mt19937_64 random(1);
  std::vector<uint32_t> sizes{1024, 4096, 10'000};
  for (uint32_t size = 0; size <= 300; ++size) sizes.push_back(size);
  for (const uint32_t size : sizes) {
    std::vector<uint64_t> hashes(size);
    for (uint64_t& hash : hashes) hash = random();
    const uint64_t key = random();
    if (size > 2) {
      hashes[size / 2] = key;  // Of which MixBits makes 0.
      hashes[size / 3] = hashes[size - 1];
    }
    std::vector<uint64_t> steps;
    for (const uint64_t hash : hashes) steps.push_back(hash ^ hash >> 33);
    // What is read beyond the end must not count: these would come up for every floor.
    for (uint32_t i = 0; i < kScanPadding; ++i) steps.push_back(size == 0 ? 0 : steps[random() % size]);
    steps.shrink_to_fit();  // For a sanitizer to see what is read beyond the padding.

    std::vector<uint64_t> floors{0, 1, random(), UINT64_MAX - random() / (size + 1), UINT64_MAX - 1, UINT64_MAX};
    for (int i = 0; i < 5 && size != 0; ++i) {
      const uint64_t hash = RendezvousHash(key, hashes[random() % size]);
      floors.insert(floors.end(), {hash - 1, hash, hash + 1, hash + (uint64_t{1} << 31)});
    }
    for (const uint64_t floor : floors) {
      const uint32_t above = ExpectedAbove(hashes, key, floor);
      for (size_t k = 0; k < scans.count; ++k) {
        ASSERT_EQ(scans.kernels[k]->count_above(steps.data(), size, key, floor), above)
            << "kernel " << k << ", size " << size << ", floor " << floor;
      }
      for (int i = 0; i < 4; ++i) {
        const uint32_t end = i == 0 ? size : static_cast<uint32_t>(random() % (size + 1));
        const uint32_t begin = i == 0 ? 0 : static_cast<uint32_t>(random() % (end + 1));
        const uint32_t expected = ExpectedAtLeast(hashes, begin, end, key, floor);
        for (size_t k = 0; k < scans.count; ++k) {
          ASSERT_EQ(scans.kernels[k]->find_at_least(steps.data(), begin, end, key, floor), expected)
              << "kernel " << k << ", from " << begin << " to " << end << ", floor " << floor;
        }
      }
    }
  }
}

}  // namespace
}  // namespace prefixroute::internal
