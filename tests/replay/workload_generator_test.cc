// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/workload_generator.h"

#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace prefixroute::replay {
namespace {

bool Equal(const Trace& a, const Trace& b) {
  if (a.requests.size() != b.requests.size()) return false;
  for (size_t i = 0; i < a.requests.size(); ++i) {
    const TraceRequest& left = a.requests[i];
    const TraceRequest& right = b.requests[i];
    if (left.arrival_us != right.arrival_us || left.input_tokens != right.input_tokens ||
        left.output_tokens != right.output_tokens || left.blocks != right.blocks) {
      return false;
    }
  }
  return true;
}

// A block for each 32 tokens, the last one partial.
void ExpectBlocksCoverPrompts(const Trace& trace) {
  for (const TraceRequest& request : trace.requests) {
    ASSERT_EQ(request.blocks.size(), (request.input_tokens + kGeneratedBlockTokens - 1) / kGeneratedBlockTokens);
  }
}

TEST(LongContextTest, TheSeedDecidesEverything) {
  LongContext workload;
  workload.max_requests = 100;
  const Trace trace = GenerateLongContext(workload);
  EXPECT_TRUE(Equal(trace, GenerateLongContext(workload)));
  workload.seed = 2;
  EXPECT_FALSE(Equal(trace, GenerateLongContext(workload)));
}

TEST(LongContextTest, MoreRequestsContinueFewer) {
  LongContext workload;
  workload.max_requests = 50;
  const Trace fewer = GenerateLongContext(workload);
  workload.max_requests = 100;
  Trace more = GenerateLongContext(workload);
  more.requests.resize(50);
  EXPECT_TRUE(Equal(fewer, more));
}

// Frozen: the same on every machine, compiler and library.
TEST(LongContextTest, IsTheSameEverywhere) {
  LongContext workload;
  workload.max_requests = 1000;
  workload.applications = 64;
  workload.mean_question_tokens = 200;
  workload.rate = 20;
  const Trace trace = GenerateLongContext(workload);
  EXPECT_EQ(trace.requests.back().arrival_us, 50'983'956);
  EXPECT_EQ(trace.requests.back().input_tokens, 8133u);
  EXPECT_EQ(trace.requests.back().output_tokens, 249u);
}

TEST(LongContextTest, ApplicationsShareTheirPromptAndNothingElse) {
  LongContext workload;
  workload.max_requests = 640;
  workload.applications = 64;
  const Trace trace = GenerateLongContext(workload);
  const size_t shared_blocks = workload.prefix_tokens / kGeneratedBlockTokens;
  ExpectBlocksCoverPrompts(trace);
  std::map<BlockId, std::vector<BlockId>> prompts;  // By their last block.
  std::map<BlockId, int> uses;
  for (const TraceRequest& request : trace.requests) {
    const auto blocks = absl::MakeConstSpan(request.blocks);
    const auto prompt = blocks.first(shared_blocks);
    const auto [known, is_new] = prompts.try_emplace(prompt.back(), std::vector<BlockId>(prompt.begin(), prompt.end()));
    EXPECT_EQ(absl::MakeConstSpan(known->second), prompt);
    for (const BlockId block : blocks.subspan(shared_blocks)) EXPECT_EQ(++uses[block], 1);
  }
  EXPECT_EQ(prompts.size(), workload.applications);
}

// Tolerances of 5 standard deviations.
TEST(LongContextTest, HasTheStatisticsItNames) {
  LongContext workload;
  workload.max_requests = 6400;
  workload.applications = 64;
  workload.mean_question_tokens = 200;
  workload.rate = 50;
  const Trace trace = GenerateLongContext(workload);
  const auto n = static_cast<double>(workload.max_requests);
  std::map<BlockId, int> by_application;
  double question_tokens = 0, output_tokens = 0, gap = 0, gap_square = 0;
  int64_t before_us = 0;
  std::set<uint32_t> questions;
  for (const TraceRequest& request : trace.requests) {
    ++by_application[request.blocks[0]];
    questions.insert(request.input_tokens - workload.prefix_tokens);
    question_tokens += request.input_tokens - workload.prefix_tokens;
    output_tokens += request.output_tokens;
    const double seconds = static_cast<double>(request.arrival_us - before_us) / 1e6;
    gap += seconds;
    gap_square += seconds * seconds;
    before_us = request.arrival_us;
  }
  ASSERT_EQ(by_application.size(), workload.applications);
  for (const auto& [block, count] : by_application) EXPECT_NEAR(count, 100, 50);
  EXPECT_EQ(*questions.begin(), 100u);
  EXPECT_EQ(*questions.rbegin(), 300u);
  const double uniform_deviation = 201 / std::sqrt(12 * n);
  EXPECT_NEAR(question_tokens / n, 200, 5 * uniform_deviation);
  EXPECT_NEAR(output_tokens / n, 200, 5 * uniform_deviation);
  // Gaps are exponential: mean and standard deviation are 1 / rate, the mean square 2 / rate^2.
  EXPECT_NEAR(gap / n * workload.rate, 1, 5 / std::sqrt(n));
  EXPECT_NEAR(gap_square / n * workload.rate * workload.rate, 2, 5 * std::sqrt(20 / n));
}

TEST(ShortContextTest, TheSeedDecidesEverything) {
  ShortContext workload;
  workload.seconds = 60;
  const Trace trace = GenerateShortContext(workload);
  EXPECT_TRUE(Equal(trace, GenerateShortContext(workload)));
  workload.seed = 2;
  EXPECT_FALSE(Equal(trace, GenerateShortContext(workload)));
}

TEST(ShortContextTest, ATurnGoesOnFromTheOneBeforeIt) {
  ShortContext workload;
  workload.seconds = 600;
  const Trace trace = GenerateShortContext(workload);
  ExpectBlocksCoverPrompts(trace);
  std::map<BlockId, const TraceRequest*> last;  // By the conversation's first block.
  int later_turns = 0;
  for (const TraceRequest& request : trace.requests) {
    const TraceRequest*& before = last[request.blocks[0]];
    if (before != nullptr) {
      ++later_turns;
      EXPECT_GT(request.input_tokens, before->input_tokens + before->output_tokens);
      EXPECT_GT(request.arrival_us, before->arrival_us);
      for (size_t i = 0; i < before->blocks.size(); ++i) EXPECT_EQ(request.blocks[i], before->blocks[i]);
    }
    before = &request;
  }
  EXPECT_GT(later_turns, 1000);
}

// Tolerances of 5 standard deviations.
TEST(ShortContextTest, HasTheStatisticsItNames) {
  ShortContext workload;
  workload.mean_turns = 5;
  workload.mean_think_seconds = 1;
  workload.seconds = 3000;
  workload.rate = 10;
  const Trace trace = GenerateShortContext(workload);
  std::map<BlockId, int> turns;
  double output_tokens = 0;
  for (const TraceRequest& request : trace.requests) {
    ++turns[request.blocks[0]];
    output_tokens += request.output_tokens;
  }
  const auto n = static_cast<double>(trace.requests.size());
  const auto conversations = static_cast<double>(turns.size());
  EXPECT_NEAR(conversations, 3000 * 10 / 5.0, 5 * std::sqrt(3000 * 10 / 5.0));
  // Less than 5: at the end conversations are cut.
  EXPECT_NEAR(n / conversations, 5, 0.05 + 5 * std::sqrt(20 / conversations));
  // Cut at 2048, six means: a quarter of a percent of an exponential's mean lies beyond.
  EXPECT_NEAR(output_tokens / n, 338, 2 + 5 * 338 / std::sqrt(n));
}

}  // namespace
}  // namespace prefixroute::replay
