// SPDX-License-Identifier: Apache-2.0

#include "src/state/prefix_memory.h"

#include <atomic>
#include <cstdint>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/rendezvous.h"
#include "tests/testing/scale.h"

namespace prefixroute::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class PrefixMemoryTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kSize = 1024;

  void Note(uint64_t fingerprint, uint32_t when, uint32_t slot = 0, uint32_t generation = 0) {
    memory_.Note(fingerprint, memory_.Find(fingerprint), {slot, generation, when}, MixBits(++noted_));
  }
  bool Has(uint64_t fingerprint) const { return memory_.Find(fingerprint) != nullptr; }
  uint64_t SeenAt(uint64_t fingerprint, uint32_t now) const {
    const PrefixEntry* entry = memory_.Find(fingerprint);
    return entry == nullptr ? 0 : entry->SeenAt(now);
  }
  std::vector<uint32_t> HoldersOf(uint64_t fingerprint) const {
    std::vector<uint32_t> slots;
    for (const std::atomic<uint64_t>& holder : memory_.Find(fingerprint)->holders) {
      if (Holder::IsSet(holder)) slots.push_back(Holder::Unpack(holder).slot);
    }
    return slots;
  }

  std::vector<PrefixEntry> entries_ = std::vector<PrefixEntry>(kSize);
  PrefixMemory memory_{entries_.data(), kSize};
  uint64_t noted_ = 0;
};

TEST_F(PrefixMemoryTest, FindsWhatWasNotedAndNothingElse) {
  EXPECT_FALSE(Has(77));
  EXPECT_FALSE(Has(UINT64_MAX));
  for (uint64_t pair = 0; pair < kSize / 2; ++pair) Note((pair << 32) + 2 * pair, 1, static_cast<uint32_t>(pair));
  for (uint64_t pair = 1; pair < kSize / 2; ++pair) {
    const PrefixEntry* entry = memory_.Find((pair << 32) + 2 * pair);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->fingerprint, (pair << 32) + 2 * pair);
    EXPECT_THAT(HoldersOf(entry->fingerprint), ElementsAre(pair));
    EXPECT_FALSE(Has((pair << 33) + 2 * pair)) << "another of the same place";
  }
}

TEST_F(PrefixMemoryTest, OfTwoPlacesTheOneLongestUnseenIsDisplaced) {
  // All of these share two places, and come to them from either side.
  for (uint64_t first : {uint64_t{6}, uint64_t{7}}) {
    const auto fingerprint = [&](uint64_t number) { return number * kSize + (number % 2 == 0 ? first : first ^ 1); };
    const uint64_t a = fingerprint(1 + first * 10);
    const uint64_t b = fingerprint(2 + first * 10);
    const uint64_t c = fingerprint(3 + first * 10);
    const uint64_t d = fingerprint(4 + first * 10);
    const auto begin = static_cast<uint32_t>(1'000 * first);
    Note(a, begin);
    Note(b, begin + 1);
    EXPECT_TRUE(Has(a) && Has(b));
    Note(c, begin + 2);
    EXPECT_FALSE(Has(a));
    EXPECT_TRUE(Has(b) && Has(c));
    Note(b, begin + 3);
    Note(d, begin + 4);
    EXPECT_FALSE(Has(c)) << "b was seen again meanwhile";
    EXPECT_TRUE(Has(b) && Has(d));
  }
}

TEST_F(PrefixMemoryTest, WhoDisplacesInheritsNothing) {
  for (int i = 0; i < 100; ++i) {
    Note(1 * kSize, 1, 1 + i % 4);
    Note(2 * kSize, 2, 1 + i % 4);
  }
  Note(3 * kSize, 3, 77);
  EXPECT_FALSE(Has(1 * kSize));
  EXPECT_EQ(SeenAt(3 * kSize, 3), DecayedCount::kUnit);
  EXPECT_THAT(HoldersOf(3 * kSize), ElementsAre(77));
}

TEST_F(PrefixMemoryTest, OfFiveHoldersTheOldestIsDisplaced) {
  for (uint32_t slot = 1; slot <= 4; ++slot) Note(5, slot, slot);
  EXPECT_THAT(HoldersOf(5), UnorderedElementsAre(1, 2, 3, 4));
  Note(5, 10, 5);
  EXPECT_THAT(HoldersOf(5), UnorderedElementsAre(2, 3, 4, 5));
  Note(5, 11, 2);  // Sent there again.
  Note(5, 12, 6);
  EXPECT_THAT(HoldersOf(5), UnorderedElementsAre(2, 4, 5, 6));
}

TEST_F(PrefixMemoryTest, AHolderThatIsSentItAgainIsRefreshedInItsPlace) {
  Note(5, 1, 7, 3);
  Note(5, 2, 8, 1);
  Note(5, 9, 7, 4);
  EXPECT_THAT(HoldersOf(5), ElementsAre(7, 8));
  const Holder holder = Holder::Unpack(memory_.Find(5)->holders[0]);
  EXPECT_EQ(holder.slot, 7u);
  EXPECT_EQ(holder.generation, 4u);
  EXPECT_EQ(holder.when, 9u);
}

TEST(HolderTest, IsOneWordAndNeverThatOfNobody) {
  for (uint32_t slot : {0u, 1u, 2 * kMaxInstances - 1}) {
    for (uint32_t generation : {0u, 1u, Holder::kGenerationMask}) {
      for (uint32_t when : {0u, 4'711u, UINT32_MAX}) {
        const uint64_t word = Holder{slot, generation, when}.Pack();
        ASSERT_TRUE(Holder::IsSet(word));
        const Holder holder = Holder::Unpack(word);
        ASSERT_EQ(holder.slot, slot);
        ASSERT_EQ(holder.generation, generation);
        ASSERT_EQ(holder.when, when);
      }
    }
  }
  EXPECT_FALSE(Holder::IsSet(0));
  // A generation wraps within its bits.
  EXPECT_EQ(Holder::Unpack(Holder{1, Holder::kGenerationMask + 1, 1}.Pack()).generation, 0u);
}

TEST(DecayedCountTest, IsHalvedAtEveryBorderOfAnEpochAndNowhereElse) {
  constexpr uint32_t kEpoch = DecayedCount::kEpoch;
  EXPECT_EQ(DecayedCount::At(1'000, 0, 0), 1'000u);
  EXPECT_EQ(DecayedCount::At(1'000, 0, kEpoch - 1), 1'000u);
  EXPECT_EQ(DecayedCount::At(1'000, 0, kEpoch), 500u);
  EXPECT_EQ(DecayedCount::At(1'000, kEpoch - 1, kEpoch), 500u);
  EXPECT_EQ(DecayedCount::At(1'000, kEpoch, 2 * kEpoch - 1), 1'000u);
  EXPECT_EQ(DecayedCount::At(1'000, kEpoch - 1, 3 * kEpoch), 125u);
  EXPECT_EQ(DecayedCount::At(UINT32_MAX, 0, 31 * kEpoch), 1u);
  EXPECT_EQ(DecayedCount::At(UINT32_MAX, 0, 32 * kEpoch), 0u);
  EXPECT_EQ(DecayedCount::At(UINT32_MAX, 0, 64 * kEpoch), 0u);
  EXPECT_EQ(DecayedCount::At(UINT32_MAX, 0, 1'000 * kEpoch), 0u);
}

TEST_F(PrefixMemoryTest, WhatIsSeenEveryNthTimeHasThatShareThroughEveryBorder) {
  for (uint32_t each : {1u, 3u, 64u}) {
    const uint64_t fingerprint = 1'000 + 2 * each;
    double sum = 0;
    double exact_sum = 0;
    for (uint32_t now = 0; now < 20 * DecayedCount::kEpoch; ++now) {
      const auto share = static_cast<double>(SeenAt(fingerprint, now));
      const double exact = static_cast<double>(DecayedCount::OfAll(now)) / each;
      // But for the one that is due, and halves of it; where it is noted by chance, to within a part.
      const double tolerance = exact < PrefixEntry::kAlwaysWritten ? 2.0 * DecayedCount::kUnit : 0.4 * exact;
      ASSERT_NEAR(share, exact, tolerance) << "every " << each << " at " << now;
      sum += share;
      exact_sum += exact;
      if (now % each == 0) Note(fingerprint, now);
    }
    EXPECT_NEAR(sum / exact_sum, 1, 0.05) << "no bias, every " << each;
  }
}

TEST_F(PrefixMemoryTest, WhatAllSendIsWrittenRarely) {
  for (uint32_t now = 0; now < DecayedCount::kEpoch; ++now) Note(5, now);
  uint32_t writes = 0;
  for (uint32_t now = DecayedCount::kEpoch; now < 2 * DecayedCount::kEpoch; ++now) {
    const uint64_t before = memory_.Find(5)->seen;
    Note(5, now, now % 9);
    writes += memory_.Find(5)->seen != before ? 1 : 0;
  }
  EXPECT_GT(writes, 0u);
  EXPECT_LT(writes, DecayedCount::kEpoch / 16);
}

TEST_F(PrefixMemoryTest, WhatFewSendIsWrittenEachTime) {
  for (uint32_t now = 0; now < 256; ++now) {
    Note(5, now, now % 4);
    ASSERT_EQ(SeenAt(5, now), (now + 1) * DecayedCount::kUnit);
  }
}

TEST_F(PrefixMemoryTest, WhatIsSeenNoMoreLosesItsShare) {
  for (uint32_t now = 0; now < 4 * DecayedCount::kEpoch; ++now) Note(5, now);
  uint64_t before = SeenAt(5, 4 * DecayedCount::kEpoch);
  EXPECT_GT(before, 0u);
  for (uint32_t epoch = 5; epoch < 40; ++epoch) {
    const uint64_t seen = SeenAt(5, epoch * DecayedCount::kEpoch);
    ASSERT_EQ(seen, before / 2);
    before = seen;
  }
  EXPECT_EQ(before, 0u);
}

TEST_F(PrefixMemoryTest, CountFitsItsHalfWordHoweverOftenItIsSeenAtOneTime) {
  // The clock is told by the batch, and stands still for a while.
  for (int i = 0; i < 100'000; ++i) Note(5, DecayedCount::kEpoch - 1);
  EXPECT_NEAR(SeenAt(5, DecayedCount::kEpoch - 1), 100'000.0 * DecayedCount::kUnit, 40'000.0 * DecayedCount::kUnit);
  EXPECT_EQ(memory_.Find(5)->AgeAt(DecayedCount::kEpoch), 1u);
}

TEST_F(PrefixMemoryTest, AgesGoOnAsTheClockWraps) {
  Note(1 * kSize, UINT32_MAX - 5);
  EXPECT_EQ(memory_.Find(1 * kSize)->AgeAt(10), 16u);
  Note(2 * kSize, UINT32_MAX);
  Note(3 * kSize, 3);
  EXPECT_FALSE(Has(1 * kSize)) << "the longest unseen";
  EXPECT_TRUE(Has(2 * kSize));
  Note(4 * kSize, 4);
  EXPECT_FALSE(Has(2 * kSize));
  EXPECT_TRUE(Has(3 * kSize));

  for (uint32_t i = 0; i < 4; ++i) Note(5, UINT32_MAX - 1 + i, 10 + i);
  Note(5, 7, 20);
  EXPECT_THAT(HoldersOf(5), UnorderedElementsAre(11, 12, 13, 20));
}

// Counts and the count of all begin anew together: no share is above the whole, but for the chance in it.
TEST_F(PrefixMemoryTest, NoShareIsAboveTheWholeAsTheClockWraps) {
  uint32_t now = UINT32_MAX - 10'000;
  for (int i = 0; i < 30'000; ++i, ++now) {
    ASSERT_LE(SeenAt(5, now), 1.4 * static_cast<double>(DecayedCount::OfAll(now)) + DecayedCount::kUnit) << now;
    Note(5, now);
  }
  EXPECT_GT(SeenAt(5, now), DecayedCount::OfAll(now) / 2) << "and it comes back";
}

// Threads mix entries up, but never into anything that was not written.
TEST(PrefixMemoryThreadsTest, HammeredEntriesAreWhatSomebodyWrote) {
  constexpr uint32_t kSize = 8;
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kGeneration = 9;
  std::vector<PrefixEntry> entries(kSize);
  std::set<uint64_t> fingerprints;
  for (uint64_t i = 1; i <= 64; ++i) fingerprints.insert(i * 0x9e37'79b9'7f4a'7c15);
  const std::vector<uint64_t> all(fingerprints.begin(), fingerprints.end());
  std::atomic<uint64_t> strangers{0};
  std::vector<std::thread> threads;
  const int rounds = test::Scaled(200'000);
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      PrefixMemory memory(entries.data(), kSize);
      std::mt19937_64 random(thread);
      for (int round = 0; round < rounds; ++round) {
        const uint64_t fingerprint = all[random() % all.size()];
        memory.Note(fingerprint, memory.Find(fingerprint), {thread, kGeneration, static_cast<uint32_t>(round)},
                    random());
        const PrefixEntry* found = memory.Find(all[random() % all.size()]);
        if (found == nullptr) continue;
        const uint64_t now_there = found->fingerprint.load();
        if (now_there != 0 && fingerprints.count(now_there) == 0) ++strangers;
        for (const std::atomic<uint64_t>& word : found->holders) {
          const uint64_t holder = word.load(std::memory_order_relaxed);
          if (!Holder::IsSet(holder)) continue;
          if (Holder::Unpack(holder).slot >= kThreads || Holder::Unpack(holder).generation != kGeneration) ++strangers;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(strangers, 0u);
  for (uint32_t place = 0; place < kSize; ++place) {
    const uint64_t fingerprint = entries[place].fingerprint;
    ASSERT_EQ(fingerprints.count(fingerprint), 1u);
    ASSERT_EQ(fingerprint % kSize / 2, place / 2) << "where it is looked for";
  }
  // It works on as ever.
  PrefixMemory memory(entries.data(), kSize);
  for (uint64_t fingerprint : all) {
    memory.Note(fingerprint, memory.Find(fingerprint), {1, kGeneration, static_cast<uint32_t>(rounds)}, 0);
    ASSERT_NE(memory.Find(fingerprint), nullptr);
    ASSERT_EQ(memory.Find(fingerprint)->fingerprint, fingerprint);
  }
}

// Threads read the clock before they write: one that is late must not undo what others wrote.
TEST_F(PrefixMemoryTest, ALateThreadForgetsNothing) {
  for (uint32_t now = 0; now <= DecayedCount::kEpoch; ++now) Note(5, now);
  Note(5, DecayedCount::kEpoch - 1);
  EXPECT_GT(SeenAt(5, DecayedCount::kEpoch), 1800u * DecayedCount::kUnit);

  Note(16, 100);
  Note(16 + kSize, 5000);
  Note(16 + 2 * kSize, 4999);
  EXPECT_TRUE(Has(16 + kSize));
  EXPECT_FALSE(Has(16));
}

}  // namespace
}  // namespace prefixroute::internal
