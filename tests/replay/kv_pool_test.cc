// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/engine/kv_pool.h"

#include <vector>

#include "benchmarks/replay/split_mix.h"
#include "gtest/gtest.h"

namespace prefixroute::replay {
namespace {

using Blocks = std::vector<BlockId>;

// A request that comes, computes all its blocks and ends.
void Use(KvPool& pool, const Blocks& blocks) {
  KvPool::Holding holding;
  const size_t hits = pool.LeadingHits(blocks);
  ASSERT_TRUE(pool.Reserve(blocks, blocks.size(), &holding));
  for (size_t i = hits; i < blocks.size(); ++i) pool.Fill(blocks[i], &holding);
  pool.Release(&holding);
}

TEST(KvPoolTest, BlocksStayWhenTheirRequestEnds) {
  KvPool pool(10);
  Use(pool, {1, 2, 3});
  EXPECT_EQ(pool.LeadingHits(Blocks{1, 2, 3}), 3u);
  EXPECT_EQ(pool.LeadingHits(Blocks{1, 2, 4}), 2u);
  EXPECT_EQ(pool.LeadingHits(Blocks{2, 3}), 2u);
  EXPECT_EQ(pool.LeadingHits(Blocks{4, 1}), 0u);
}

TEST(KvPoolTest, WhatIsNotComputedIsNotFound) {
  KvPool pool(10);
  KvPool::Holding holding;
  ASSERT_TRUE(pool.Reserve(Blocks{1, 2, 3}, 4, &holding));
  EXPECT_EQ(pool.LeadingHits(Blocks{1, 2, 3}), 0u);
  pool.Fill(1, &holding);
  EXPECT_EQ(pool.LeadingHits(Blocks{1, 2, 3}), 1u);
  pool.Release(&holding);
  EXPECT_EQ(pool.LeadingHits(Blocks{1, 2, 3}), 1u);
  EXPECT_EQ(pool.cached_blocks(), 1u);
}

TEST(KvPoolTest, EvictsTheLeastRecentlyUsedAndTheEndOfAPromptFirst) {
  KvPool pool(5);
  Use(pool, {1, 2});
  Use(pool, {11, 12});
  Use(pool, {1, 2});
  Use(pool, {21, 22});
  EXPECT_EQ(pool.LeadingHits(Blocks{1, 2}), 2u);
  EXPECT_EQ(pool.LeadingHits(Blocks{11, 12}), 1u);
  EXPECT_EQ(pool.LeadingHits(Blocks{21, 22}), 2u);
}

TEST(KvPoolTest, RunningRequestsPinTheirPages) {
  KvPool pool(5);
  Use(pool, {1, 2});
  KvPool::Holding first, second;
  ASSERT_TRUE(pool.Reserve(Blocks{1, 2}, 3, &first));  // Two that hit, one anonymous.
  EXPECT_FALSE(pool.Reserve(Blocks{7}, 3, &second));
  EXPECT_FALSE(pool.Reserve(Blocks{1}, 4, &second));
  EXPECT_EQ(pool.LeadingHits(Blocks{1, 2}), 2u);
  EXPECT_TRUE(second.blocks.empty());
  ASSERT_TRUE(pool.Reserve(Blocks{1}, 3, &second));  // Shares a page with the first.
  pool.Release(&first);
  EXPECT_FALSE(pool.Reserve(Blocks{7}, 3, &first));  // Block 1 and two anonymous pages are still held.
  pool.Release(&second);
  EXPECT_TRUE(pool.Reserve(Blocks{7}, 5, &first));
  EXPECT_EQ(pool.cached_blocks(), 0u);
}

TEST(KvPoolTest, ABlockComputedTwiceIsKeptOnce) {
  KvPool pool(4);
  KvPool::Holding first, second;
  ASSERT_TRUE(pool.Reserve(Blocks{1, 2}, 2, &first));
  ASSERT_TRUE(pool.Reserve(Blocks{1, 2}, 2, &second));
  for (const BlockId block : {1, 2}) {
    pool.Fill(block, &first);
    pool.Fill(block, &second);
  }
  pool.Release(&first);
  pool.Release(&second);
  EXPECT_EQ(pool.cached_blocks(), 2u);
  KvPool::Holding third;
  EXPECT_TRUE(pool.Reserve(Blocks{3}, 2, &third));
  EXPECT_EQ(pool.LeadingHits(Blocks{1, 2}), 2u);  // Two pages were free.
}

TEST(KvPoolTest, NeverHoldsMoreThanItsPagesAndLosesNone) {
  constexpr uint64_t kPages = 64;
  KvPool pool(kPages);
  SplitMix random(1);
  std::vector<KvPool::Holding> running;
  uint64_t refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (!running.empty() && random.Below(2) == 0) {
      const uint32_t ended = random.Below(static_cast<uint32_t>(running.size()));
      pool.Release(&running[ended]);
      running.erase(running.begin() + ended);
    }
    Blocks prompt;
    BlockId id = 0;
    for (uint32_t depth = 1 + random.Below(10); depth > 0; --depth) {
      prompt.push_back(id = ChainBlock(id, random.Below(3)));
    }
    KvPool::Holding holding;
    const size_t hits = pool.LeadingHits(prompt);
    if (!pool.Reserve(prompt, prompt.size() + random.Below(4), &holding)) {
      ++refused;
      continue;
    }
    for (size_t block = hits; block < prompt.size(); ++block) pool.Fill(prompt[block], &holding);
    ASSERT_EQ(pool.LeadingHits(prompt), prompt.size());
    ASSERT_LE(pool.cached_blocks(), kPages);
    running.push_back(std::move(holding));
  }
  EXPECT_GT(refused, 0u);
  for (KvPool::Holding& holding : running) pool.Release(&holding);
  KvPool::Holding all;
  EXPECT_TRUE(pool.Reserve(Blocks{}, kPages, &all));
  EXPECT_EQ(pool.cached_blocks(), 0u);
}

}  // namespace
}  // namespace prefixroute::replay
