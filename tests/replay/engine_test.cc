// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/engine/engine.h"

#include <map>
#include <vector>

#include "gtest/gtest.h"

namespace prefixroute::replay {
namespace {

constexpr uint32_t kBlockTokens = 10;

// Round numbers: a step takes 1000 us, 10 more for each prompt token, 1 more for each sequence.
EngineOptions Small() {
  EngineOptions options;
  options.step_tokens = 100;
  options.max_sequences = 4;
  options.step_us = 1000;
  options.prefill_us_per_token = 10;
  options.sequence_us = 1;
  options.cache_tokens = 0;
  return options;
}

std::vector<BlockId> Prompt(uint64_t name, uint32_t tokens, uint32_t block_tokens = kBlockTokens) {
  std::vector<BlockId> blocks;
  BlockId id = name;
  for (uint32_t i = 0; i < tokens / block_tokens; ++i) blocks.push_back(id = ChainBlock(id, i));
  return blocks;
}

// An engine and its clock.
class Bench {
 public:
  explicit Bench(const EngineOptions& options, uint32_t block_tokens = kBlockTokens)
      : engine(options, block_tokens), block_tokens_(block_tokens) {}

  void Submit(uint32_t ticket, uint64_t prompt, uint32_t input_tokens, uint32_t output_tokens) {
    prompts_[ticket] = Prompt(prompt, input_tokens, block_tokens_);
    engine.Submit({ticket, input_tokens, output_tokens, prompts_[ticket]});
  }

  // One step; false where there is nothing to do.
  bool Step() {
    const int64_t us = engine.StartStep();
    if (us == 0) return false;
    now_us += us;
    Engine::StepResult result;
    engine.FinishStep(&result);
    for (const Engine::FirstToken& first : result.first_tokens) {
      first_token_us[first.ticket] = now_us;
      hit_tokens[first.ticket] = first.hit_tokens;
    }
    for (const uint32_t ticket : result.done) done_us[ticket] = now_us;
    return true;
  }
  void Run() {
    while (Step()) {
    }
  }

  Engine engine;
  int64_t now_us = 0;
  std::map<uint32_t, int64_t> first_token_us, done_us;
  std::map<uint32_t, uint32_t> hit_tokens;

 private:
  uint32_t block_tokens_;
  std::map<uint32_t, std::vector<BlockId>> prompts_;
};

TEST(EngineTest, APromptThenATokenAStep) {
  Bench bench(Small());
  bench.Submit(1, 7, 55, 3);
  bench.Run();
  EXPECT_EQ(bench.first_token_us[1], 1000 + 550 + 1);
  EXPECT_EQ(bench.done_us[1], 1551 + 2 * 1001);
  EXPECT_EQ(bench.engine.outstanding(), 0u);
  EXPECT_EQ(bench.engine.StartStep(), 0);
}

TEST(EngineTest, AnAnswerOfOneTokenOrNoneEndsWithThePrompt) {
  Bench bench(Small());
  bench.Submit(1, 7, 10, 1);
  bench.Submit(2, 8, 10, 0);
  bench.Submit(3, 9, 0, 0);
  bench.Run();
  EXPECT_EQ(bench.done_us, (std::map<uint32_t, int64_t>{{1, 1213}, {2, 1213}, {3, 1213}}));
  EXPECT_EQ(bench.first_token_us, bench.done_us);
}

TEST(EngineTest, LongPromptsComeInChunksFirstComeFirstServed) {
  Bench bench(Small());
  bench.Submit(1, 7, 150, 1);
  bench.Submit(2, 8, 30, 1);
  bench.Submit(3, 9, 40, 1);
  // 100 of the first; 50, 30 and 20; 20.
  bench.Run();
  EXPECT_EQ(bench.first_token_us[1], 2001 + 2003);
  EXPECT_EQ(bench.first_token_us[2], 4004);
  EXPECT_EQ(bench.first_token_us[3], 4004 + 1201);
}

TEST(EngineTest, DecodingComesBeforePromptsInTheTokenBudget) {
  Bench bench(Small());
  bench.Submit(1, 7, 10, 10);
  bench.Step();
  bench.Submit(2, 8, 100, 1);
  bench.Step();  // 99 tokens of the prompt.
  EXPECT_EQ(bench.first_token_us.count(2), 0u);
  EXPECT_EQ(bench.now_us, 1101 + 1992);
  bench.Step();
  EXPECT_EQ(bench.first_token_us[2], 3093 + 1012);
}

TEST(EngineTest, AnArrivalWaitsForTheStepUnderWay) {
  Bench bench(Small());
  bench.Submit(1, 7, 10, 1);
  ASSERT_EQ(bench.engine.StartStep(), 1101);
  bench.Submit(2, 8, 10, 1);
  Engine::StepResult result;
  bench.engine.FinishStep(&result);
  ASSERT_EQ(result.first_tokens.size(), 1u);
  EXPECT_EQ(result.first_tokens[0].ticket, 1u);
  EXPECT_EQ(bench.engine.outstanding(), 1u);
}

TEST(EngineTest, OnlySoManySequencesRun) {
  Bench bench(Small());
  for (uint32_t i = 1; i <= 5; ++i) bench.Submit(i, i, 10, 2);
  bench.Step();
  EXPECT_EQ(bench.first_token_us.size(), 4u);
  bench.Step();
  EXPECT_EQ(bench.done_us.size(), 4u);
  EXPECT_EQ(bench.first_token_us.size(), 4u);
  bench.Step();
  EXPECT_EQ(bench.first_token_us.size(), 5u);
}

TEST(EngineTest, BlocksAreFoundOnceTheirPrefillIsDone) {
  Bench bench(Small());
  bench.Submit(1, 7, 45, 1);
  bench.Submit(2, 7, 45, 1);  // In the same step: nothing is there yet.
  bench.Run();
  EXPECT_EQ(bench.hit_tokens[2], 0u);
  bench.Submit(3, 7, 45, 1);
  const int64_t start_us = bench.now_us;
  bench.Run();
  EXPECT_EQ(bench.hit_tokens[3], 40u);
  EXPECT_EQ(bench.first_token_us[3] - start_us, 1000 + 50 + 1);
}

TEST(EngineTest, FullBlocksOfAChunkAreFoundBeforeThePromptIsComplete) {
  Bench bench(Small());
  bench.Submit(1, 7, 150, 1);
  bench.Step();
  EXPECT_EQ(bench.engine.HitTokens(150, Prompt(7, 150)), 100u);
}

TEST(EngineTest, APartialLastBlockIsNeverFoundAndTheLastTokenIsComputed) {
  Bench bench(Small());
  bench.Submit(1, 7, 49, 1);
  bench.Run();
  EXPECT_EQ(bench.engine.HitTokens(49, Prompt(7, 49)), 40u);
  EXPECT_EQ(bench.engine.HitTokens(41, Prompt(7, 41)), 40u);
  // All its blocks are there, but something has to be computed.
  EXPECT_EQ(bench.engine.HitTokens(40, Prompt(7, 40)), 30u);
}

TEST(EngineTest, RequestsWaitWhileTheMemoryIsFull) {
  EngineOptions options = Small();
  options.cache_tokens = 50;
  Bench bench(options);
  bench.Submit(1, 7, 25, 5);  // 3 of 5 pages.
  bench.Submit(2, 8, 25, 5);
  bench.Submit(3, 9, 5, 1);  // Would fit, but others are first.
  bench.Step();
  EXPECT_EQ(bench.first_token_us.size(), 1u);
  for (int i = 0; i < 4; ++i) bench.Step();
  EXPECT_EQ(bench.done_us.size(), 1u);
  EXPECT_EQ(bench.first_token_us.size(), 1u);
  bench.Step();
  EXPECT_EQ(bench.first_token_us.size(), 3u);
}

TEST(EngineTest, SaysWhatCanNeverFit) {
  EngineOptions options = Small();
  options.cache_tokens = 50;
  const Engine engine(options, kBlockTokens);
  EXPECT_TRUE(engine.Fits({1, 45, 5, {}}));
  EXPECT_FALSE(engine.Fits({1, 45, 6, {}}));
}

TEST(EngineTest, CountsPromptTokensYetToBeComputed) {
  Bench bench(Small());
  bench.Submit(1, 7, 45, 1);
  bench.Run();
  bench.Submit(2, 7, 45, 1);  // 5 expected: 40 are there.
  bench.Submit(3, 8, 150, 1);
  EXPECT_EQ(bench.engine.pending_tokens(), 155u);
  bench.Step();
  EXPECT_EQ(bench.engine.pending_tokens(), 55u);
  bench.Run();
  EXPECT_EQ(bench.engine.pending_tokens(), 0u);
}

TEST(EngineTest, ARestartLosesRequestsAndMemory) {
  Bench bench(Small());
  bench.Submit(1, 7, 45, 10);
  bench.Step();
  bench.Submit(2, 8, 150, 1);
  bench.Step();
  bench.Submit(3, 9, 20, 1);
  ASSERT_GT(bench.engine.StartStep(), 0);
  EXPECT_EQ(bench.engine.Restart(), (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_FALSE(bench.engine.stepping());
  EXPECT_EQ(bench.engine.outstanding(), 0u);
  EXPECT_EQ(bench.engine.pending_tokens(), 0u);
  EXPECT_EQ(bench.engine.HitTokens(45, Prompt(7, 45)), 0u);
  EXPECT_EQ(bench.engine.StartStep(), 0);
}

// 8,000 tokens on an idle node: nothing cached, and 13 of their 16 blocks of 512.
TEST(EngineTest, TheDefaultsAreThoseOfANodeOfEightGpus) {
  Bench bench(EngineOptions(), kHashBlockTokens);
  bench.Submit(1, 7, 8000, 1);
  bench.Run();
  EXPECT_NEAR(static_cast<double>(bench.first_token_us[1]), 280'000, 0.03 * 280'000);
  std::vector<BlockId> prompt = Prompt(7, 8000, kHashBlockTokens);
  for (size_t i = 13; i < prompt.size(); ++i) prompt[i] = ChainBlock(prompt[i - 1], 99);
  bench.engine.Submit({2, 8000, 1, prompt});
  const int64_t start_us = bench.now_us;
  bench.Run();
  EXPECT_NEAR(static_cast<double>(bench.first_token_us[2] - start_us), 63'000, 0.03 * 63'000);
}

}  // namespace
}  // namespace prefixroute::replay
