// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/workload_generator.h"

#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace prefixroute::replay {
namespace {

constexpr size_t kSharedBlocks = kApplicationTokens / kTextBlockTokens;

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

TEST(WorkloadGeneratorTest, TheSeedDecidesEverything) {
  Workload workload;
  workload.requests = 100;
  const Trace trace = GenerateTrace(workload);
  EXPECT_TRUE(Equal(trace, GenerateTrace(workload)));
  workload.seed = 2;
  EXPECT_FALSE(Equal(trace, GenerateTrace(workload)));
}

TEST(WorkloadGeneratorTest, MoreRequestsContinueFewer) {
  Workload workload;
  workload.requests = 50;
  const Trace fewer = GenerateTrace(workload);
  workload.requests = 100;
  Trace more = GenerateTrace(workload);
  more.requests.resize(50);
  EXPECT_TRUE(Equal(fewer, more));
}

// Frozen: the same on every machine, compiler and library.
TEST(WorkloadGeneratorTest, IsTheSameEverywhere) {
  Workload workload;
  workload.requests = 1000;
  const Trace trace = GenerateTrace(workload);
  EXPECT_EQ(trace.requests.back().arrival_us, 50'983'956);
  EXPECT_EQ(trace.requests.back().input_tokens, 8099u);
  EXPECT_EQ(trace.requests.back().output_tokens, 273u);
  EXPECT_EQ(trace.requests.back().blocks.back(), 3033006574292974886u);
}

TEST(WorkloadGeneratorTest, ApplicationsShareTheirPromptAndNothingElse) {
  Workload workload;
  workload.requests = 640;
  const Trace trace = GenerateTrace(workload);
  std::map<BlockId, std::vector<BlockId>> prompts;  // By their last block.
  std::map<BlockId, int> uses;
  for (const TraceRequest& request : trace.requests) {
    const auto blocks = absl::MakeConstSpan(request.blocks);
    const auto prompt = blocks.first(kSharedBlocks);
    const auto [known, is_new] = prompts.try_emplace(prompt.back(), std::vector<BlockId>(prompt.begin(), prompt.end()));
    EXPECT_EQ(absl::MakeConstSpan(known->second), prompt);
    for (const BlockId block : blocks.subspan(kSharedBlocks)) EXPECT_EQ(++uses[block], 1);
    EXPECT_EQ(blocks.size(), (request.input_tokens + kTextBlockTokens - 1) / kTextBlockTokens);
  }
  EXPECT_EQ(prompts.size(), workload.applications);
  std::set<BlockId> shared;
  for (const auto& [last, prompt] : prompts) shared.insert(prompt.begin(), prompt.end());
  EXPECT_EQ(shared.size(), workload.applications * kSharedBlocks);
}

// Tolerances of 5 standard deviations.
TEST(WorkloadGeneratorTest, HasTheStatisticsItNames) {
  Workload workload;
  workload.requests = 6400;
  workload.rate = 50;
  const Trace trace = GenerateTrace(workload);
  const auto n = static_cast<double>(workload.requests);

  std::map<BlockId, int> by_application;
  double question_tokens = 0, output_tokens = 0, gap = 0, gap_square = 0;
  int64_t before_us = 0;
  std::set<uint32_t> questions;
  for (const TraceRequest& request : trace.requests) {
    ++by_application[request.blocks[0]];
    questions.insert(request.input_tokens - kApplicationTokens);
    question_tokens += request.input_tokens - kApplicationTokens;
    output_tokens += request.output_tokens;
    EXPECT_GE(request.output_tokens, kMinOutputTokens);
    EXPECT_LE(request.output_tokens, kMaxOutputTokens);
    const double seconds = static_cast<double>(request.arrival_us - before_us) / 1e6;
    EXPECT_GE(seconds, 0);
    gap += seconds;
    gap_square += seconds * seconds;
    before_us = request.arrival_us;
  }
  ASSERT_EQ(by_application.size(), workload.applications);
  for (const auto& [block, count] : by_application) EXPECT_NEAR(count, 100, 50);
  EXPECT_EQ(*questions.begin(), kMinQuestionTokens);
  EXPECT_EQ(*questions.rbegin(), kMaxQuestionTokens);
  const double uniform_deviation = 301 / std::sqrt(12 * n);
  EXPECT_NEAR(question_tokens / n, 200, 5 * uniform_deviation);
  EXPECT_NEAR(output_tokens / n, 200, 5 * uniform_deviation);
  // Gaps are exponential: mean and standard deviation are 1 / rate, the mean square 2 / rate^2.
  EXPECT_NEAR(gap / n * workload.rate, 1, 5 / std::sqrt(n));
  EXPECT_NEAR(gap_square / n * workload.rate * workload.rate, 2, 5 * std::sqrt(20 / n));
}

}  // namespace
}  // namespace prefixroute::replay
