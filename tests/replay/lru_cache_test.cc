// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/lru_cache.h"

#include <algorithm>
#include <vector>

#include "benchmarks/replay/split_mix.h"
#include "gtest/gtest.h"

namespace prefixroute::replay {
namespace {

using Blocks = std::vector<BlockId>;

TEST(LruCacheTest, HitsEndAtTheFirstBlockThatIsNotCached) {
  LruCache cache;
  EXPECT_EQ(cache.LeadingHits(Blocks{1, 2}), 0u);
  cache.Use(Blocks{1, 2});
  cache.Use(Blocks{5});
  EXPECT_EQ(cache.LeadingHits(Blocks{1, 2}), 2u);
  EXPECT_EQ(cache.LeadingHits(Blocks{1, 2, 3}), 2u);
  EXPECT_EQ(cache.LeadingHits(Blocks{1, 4, 5}), 1u);
  EXPECT_EQ(cache.LeadingHits(Blocks{}), 0u);
}

TEST(LruCacheTest, EvictsTheLeastRecentlyUsed) {
  LruCache cache(2);
  cache.Use(Blocks{1});
  cache.Use(Blocks{2});
  cache.Use(Blocks{1});
  cache.Use(Blocks{3});
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(cache.LeadingHits(Blocks{1}), 1u);
  EXPECT_EQ(cache.LeadingHits(Blocks{2}), 0u);
  EXPECT_EQ(cache.LeadingHits(Blocks{3}), 1u);
}

TEST(LruCacheTest, LookingUpIsNotUsing) {
  LruCache cache(2);
  cache.Use(Blocks{1});
  cache.Use(Blocks{2});
  EXPECT_EQ(cache.LeadingHits(Blocks{1}), 1u);
  cache.Use(Blocks{3});
  EXPECT_EQ(cache.LeadingHits(Blocks{1}), 0u);
}

TEST(LruCacheTest, EvictsTheEndOfAPromptBeforeItsBeginning) {
  LruCache cache(4);
  cache.Use(Blocks{1, 2, 3});
  cache.Use(Blocks{7, 8});
  EXPECT_EQ(cache.LeadingHits(Blocks{1, 2, 3}), 2u);
  EXPECT_EQ(cache.LeadingHits(Blocks{7, 8}), 2u);
}

TEST(LruCacheTest, KeepsTheBeginningOfAPromptThatDoesNotFit) {
  LruCache cache(2);
  cache.Use(Blocks{9});
  cache.Use(Blocks{1, 2, 3, 4});
  EXPECT_EQ(cache.LeadingHits(Blocks{1, 2, 3, 4}), 2u);
  EXPECT_EQ(cache.LeadingHits(Blocks{9}), 0u);
  EXPECT_EQ(cache.size(), 2u);
}

TEST(LruCacheTest, HoldsNothingWithoutRoom) {
  LruCache cache(0);
  cache.Use(Blocks{1, 2});
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(cache.LeadingHits(Blocks{1, 2}), 0u);
}

// Against a list that is searched from end to end.
TEST(LruCacheTest, AgreesWithAPlainListOnRandomPrompts) {
  SplitMix random(1);
  for (const size_t capacity : {1, 5, 17, 64}) {
    LruCache cache(capacity);
    Blocks by_use;  // The most recent first.
    for (int i = 0; i < 3000; ++i) {
      // A walk down a tree: 3 children a block, so prompts share beginnings.
      Blocks prompt;
      BlockId id = 0;
      for (uint32_t depth = 1 + random.Below(8); depth > 0; --depth) {
        prompt.push_back(id = ChainBlock(id, random.Below(3)));
      }
      size_t hits = 0;
      while (hits < prompt.size() && std::count(by_use.begin(), by_use.end(), prompt[hits]) > 0) ++hits;
      ASSERT_EQ(cache.LeadingHits(prompt), hits);
      cache.Use(prompt);
      for (const BlockId block : by_use) {
        if (std::count(prompt.begin(), prompt.end(), block) == 0) prompt.push_back(block);
      }
      prompt.resize(std::min(prompt.size(), capacity));
      by_use = prompt;
      ASSERT_EQ(cache.size(), by_use.size());
    }
  }
}

}  // namespace
}  // namespace prefixroute::replay
