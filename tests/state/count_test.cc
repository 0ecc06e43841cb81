// SPDX-License-Identifier: Apache-2.0

#include "src/state/count.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/scale.h"

namespace prefixroute::internal {
namespace {

template <uint32_t kOwners>
struct Slot {
  std::atomic<uint64_t> word{0};
  std::array<std::atomic<uint64_t>, kOwners> cells{};

  Count count() { return Count(&word, cells.data(), kOwners); }
};

TEST(CountTest, RandomSequencesCountAsAListDoes) {
  constexpr uint32_t kOwners = 5;
  constexpr uint32_t kLimit = 12;
  Slot<kOwners> slot;
  std::array<uint32_t, kOwners> held{};
  std::array<bool, kOwners> members{};
  std::mt19937 random(1);
  for (int i = 0; i < 1'000'000; ++i) {
    const uint32_t owner = random() % kOwners;
    uint32_t total = 0;
    for (uint32_t part : held) total += part;
    switch (random() % 8) {
      case 0:
      case 1:
      case 2:
        ASSERT_EQ(slot.count().Reserve(owner, kLimit), total < kLimit);
        if (total < kLimit) ++held[owner];
        break;
      case 3:
      case 4:
        // A release of an owner that has nothing, because it was reaped, does nothing.
        slot.count().Release(owner);
        if (held[owner] > 0) --held[owner];
        break;
      case 5:
        if (random() % 10 == 0) {
          slot.count().ReleaseAll(owner);
          held[owner] = 0;
        }
        break;
      case 6:
        members[owner] = random() % 2 == 0;
        slot.count().SetMember(owner, members[owner]);
        break;
      case 7:
        ASSERT_EQ(slot.count().part(owner), held[owner]);
        ASSERT_EQ(slot.count().member(owner), members[owner]);
        break;
    }
    uint32_t expected = 0;
    for (uint32_t part : held) expected += part;
    ASSERT_EQ(slot.count().total(), expected);
  }
}

TEST(CountTest, ASoleOwnerCountsTheSame) {
  Slot<1> slot;
  for (uint32_t i = 0; i < 10; ++i) EXPECT_TRUE(slot.count().Reserve(0, 10));
  EXPECT_FALSE(slot.count().Reserve(0, 10));
  slot.count().SetMember(0, true);
  EXPECT_EQ(slot.count().total(), 10u);
  EXPECT_EQ(slot.count().part(0), 10u);
  EXPECT_TRUE(slot.count().member(0));
  for (uint32_t i = 0; i < 10; ++i) slot.count().Release(0);
  EXPECT_EQ(slot.count().total(), 0u);
  slot.count().SetMember(0, false);
  EXPECT_FALSE(slot.count().member(0));
}

TEST(CountTest, ALimitOfNoneIsNeverBelow) {
  Slot<2> slot;
  EXPECT_FALSE(slot.count().Reserve(0, 0));
  EXPECT_EQ(slot.count().total(), 0u);
}

TEST(CountTest, CountsToItsGreatestAndNoFurther) {
  Slot<2> slot;
  for (uint32_t i = 0; i < kMaxOutstanding; ++i) ASSERT_TRUE(slot.count().Reserve(1, kMaxOutstanding));
  EXPECT_FALSE(slot.count().Reserve(0, kMaxOutstanding));
  EXPECT_EQ(slot.count().total(), kMaxOutstanding);
  EXPECT_EQ(slot.count().part(1), kMaxOutstanding);
  slot.count().ReleaseAll(1);
  EXPECT_EQ(slot.count().total(), 0u);
  EXPECT_TRUE(slot.count().Reserve(0, 1));
}

TEST(CountTest, TheLastColumnIsAsGoodAsAny) {
  Slot<Count::kMaxOwners> slot;
  constexpr uint32_t kLast = Count::kMaxOwners - 1;
  EXPECT_TRUE(slot.count().Reserve(kLast, 5));
  EXPECT_TRUE(slot.count().Reserve(0, 5));
  EXPECT_EQ(slot.count().part(kLast), 1u);
  EXPECT_EQ(slot.count().part(0), 1u);
  EXPECT_EQ(slot.count().part(1), 0u);
  slot.count().Release(kLast);
  EXPECT_EQ(slot.count().part(kLast), 0u);
  EXPECT_EQ(slot.count().total(), 1u);
}

// Four owners of two threads each; `holders` is an account beside the count, which must never pass the limit.
TEST(CountTest, ThreadsNeverPassTheLimit) {
  constexpr uint32_t kOwners = 4;
  constexpr uint32_t kLimit = 3;
  Slot<kOwners> slot;
  std::atomic<uint32_t> holders{0};
  std::atomic<uint32_t> passed{0};
  std::atomic<uint64_t> reserved{0};
  const int rounds = test::Scaled(100'000);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 2 * kOwners; ++i) {
    threads.emplace_back([&, owner = i % kOwners] {
      for (int round = 0; round < rounds; ++round) {
        if (!slot.count().Reserve(owner, kLimit)) continue;
        if (holders.fetch_add(1) + 1 > kLimit) passed.fetch_add(1);
        reserved.fetch_add(1);
        if (round % 64 == 0) std::this_thread::yield();
        holders.fetch_sub(1);
        slot.count().Release(owner);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(passed.load(), 0u);
  EXPECT_GT(reserved.load(), 0u);
  EXPECT_EQ(slot.count().total(), 0u);
  for (uint32_t owner = 0; owner < kOwners; ++owner) EXPECT_EQ(slot.count().part(owner), 0u);
}

}  // namespace
}  // namespace prefixroute::internal
