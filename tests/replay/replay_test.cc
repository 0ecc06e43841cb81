// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/replay.h"

#include <algorithm>
#include <string>
#include <vector>

#include "benchmarks/replay/workload_generator.h"
#include "gtest/gtest.h"

namespace prefixroute::replay {
namespace {

TraceRequest TextRequest(int64_t arrival_us, const std::string& text, uint32_t output_tokens) {
  TraceRequest request;
  request.arrival_us = arrival_us;
  request.text = text;
  request.blocks = ChainText(text);
  request.input_tokens = static_cast<uint32_t>(text.size() / kBytesPerToken);
  request.output_tokens = output_tokens;
  return request;
}

ReplayResult ReplayOk(const Trace& trace, const ReplayOptions& options) {
  Progress progress(Progress::Mode::kOff);
  absl::StatusOr<ReplayResult> result = Replay(trace, options, "test", &progress);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : ReplayResult();
}

// By the count of requests, since the trace doesn't say which instance is the home.
std::vector<uint64_t> Sorted(std::vector<uint64_t> counts) {
  std::sort(counts.begin(), counts.end());
  return counts;
}

const std::string prompt_a(128, 'a');
const std::string prompt_b(128, 'b');

ReplayOptions TwoInstances(Strategy strategy) {
  ReplayOptions options;
  options.instances = 2;
  options.router.strategy = strategy;
  options.prefill_us_per_token = 0;
  options.decode_us_per_token = 1000;
  return options;
}

TEST(ReplayTest, CountsHitsDiversionsAndRefusals) {
  Trace trace;
  trace.requests = {
      TextRequest(0, prompt_a, 10),      // To the home, until 10000.
      TextRequest(1000, prompt_a, 10),   // The home is full: diverted, not cached there, until 11000.
      TextRequest(9999, prompt_a, 10),   // Both full: refused.
      TextRequest(10000, prompt_a, 10),  // The home has just become free: 32 tokens hit.
  };
  ReplayOptions options = TwoInstances(Strategy::kPrefixAware);
  options.max_outstanding = 1;
  const ReplayResult result = ReplayOk(trace, options);
  EXPECT_EQ(result.served, 3u);
  EXPECT_EQ(result.refused, 1u);
  EXPECT_EQ(result.diverted, 1u);
  EXPECT_EQ(result.input_tokens, 96u);
  EXPECT_EQ(result.hit_tokens, 32u);
  EXPECT_EQ(Sorted(result.requests_by_instance), (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(result.outstanding_seen, 0u + 1 + 2 + 1);
  EXPECT_GT(result.acquire_seconds, 0);
}

TEST(ReplayTest, HitsAreWholeLeadingBlocks) {
  Trace trace;
  trace.requests = {
      TextRequest(0, prompt_a + "end", 0),
      TextRequest(1, prompt_a.substr(0, 64) + prompt_b, 0),        // 16 tokens.
      TextRequest(2, prompt_a + "end", 0),                         // 32: not the partial block.
      TextRequest(3, prompt_b.substr(0, 64) + prompt_a, 0),        // None: the blocks are cached elsewhere in a prompt.
      TextRequest(4, prompt_a.substr(0, 64) + prompt_b + "!", 0),  // 48.
  };
  ReplayOptions options = TwoInstances(Strategy::kPrefixAware);
  options.instances = 1;
  EXPECT_EQ(ReplayOk(trace, options).hit_tokens, 16u + 32 + 48);
  EXPECT_EQ(OneCacheHitTokens(trace), 16u + 32 + 48);
  options.cache_tokens = 47;  // Two blocks.
  EXPECT_EQ(ReplayOk(trace, options).hit_tokens, 16u + 16 + 0);
  EXPECT_EQ(OneCacheHitTokens(trace), 16u + 32 + 48);
}

TEST(ReplayTest, AHitShortensTheTimeOutstanding) {
  Trace trace;
  trace.requests = {
      TextRequest(0, prompt_a, 1),       // 32 * 100 + 1000 = 4200.
      TextRequest(4200, prompt_a, 1),    // 1000, until 5200.
      TextRequest(5199, prompt_b, 1),    // Sees one.
      TextRequest(5200, prompt_b, 1000)  // Sees the one before.
  };
  ReplayOptions options = TwoInstances(Strategy::kPrefixAware);
  options.instances = 1;
  options.prefill_us_per_token = 100;
  EXPECT_EQ(ReplayOk(trace, options).outstanding_seen, 0u + 0 + 1 + 1);
}

TEST(ReplayTest, SpeedBringsArrivalsTogether) {
  Trace trace;
  trace.requests = {TextRequest(0, prompt_a, 10), TextRequest(15'000, prompt_a, 10)};
  ReplayOptions options = TwoInstances(Strategy::kLeastOutstandingRequests);
  EXPECT_EQ(ReplayOk(trace, options).outstanding_seen, 0u);
  options.speed = 2;
  EXPECT_EQ(ReplayOk(trace, options).outstanding_seen, 1u);
}

TEST(ReplayTest, LeastOutstandingTakesTheFreeInstance) {
  Trace trace;
  for (int64_t i = 0; i < 10; ++i) {
    trace.requests.push_back(TextRequest(i * 1000, prompt_a, 5));
    trace.requests.push_back(TextRequest(i * 1000, prompt_a, 5));
  }
  const ReplayResult result = ReplayOk(trace, TwoInstances(Strategy::kLeastOutstandingRequests));
  EXPECT_EQ(result.requests_by_instance, (std::vector<uint64_t>{10, 10}));
  EXPECT_EQ(result.diverted, 0u);
}

TEST(ReplayTest, ThePrefixLimitDecidesWhatSharesAHome) {
  Trace trace;
  for (int64_t i = 0; i < 200; ++i) {
    trace.requests.push_back(TextRequest(i * 1'000'000, prompt_a + std::to_string(1000 + i), 1));
  }
  ReplayOptions options = TwoInstances(Strategy::kPrefixAware);
  options.router.max_prefix_bytes = prompt_a.size();
  EXPECT_EQ(Sorted(ReplayOk(trace, options).requests_by_instance), (std::vector<uint64_t>{0, 200}));
  options.router.max_prefix_bytes = prompt_a.size() + 4;
  EXPECT_GT(Sorted(ReplayOk(trace, options).requests_by_instance)[0], 60u);  // Of 100: more than 5 sigma.
}

TEST(ReplayTest, TheSeedDecidesEverything) {
  Workload workload;
  workload.requests = 500;
  const Trace trace = GenerateTrace(workload);
  for (const Strategy strategy : {Strategy::kRandom, Strategy::kLeastOutstandingRequests, Strategy::kPrefixAware}) {
    ReplayOptions options;
    options.router.strategy = strategy;
    const ReplayResult first = ReplayOk(trace, options);
    const ReplayResult again = ReplayOk(trace, options);
    EXPECT_EQ(first.requests_by_instance, again.requests_by_instance);
    EXPECT_EQ(first.hit_tokens, again.hit_tokens);
    EXPECT_EQ(first.diverted, again.diverted);
    EXPECT_EQ(first.outstanding_seen, again.outstanding_seen);
  }
  ReplayOptions options;
  options.router.strategy = Strategy::kRandom;
  const ReplayResult first = ReplayOk(trace, options);
  options.seed = 2;
  EXPECT_NE(first.requests_by_instance, ReplayOk(trace, options).requests_by_instance);
}

TEST(ReplayTest, PrefixAwareFindsWhatApplicationsShare) {
  Workload workload;
  workload.requests = 1000;
  const Trace trace = GenerateTrace(workload);
  ReplayOptions options;
  options.router.max_prefix_bytes = 4096;
  options.router.strategy = Strategy::kRandom;
  const uint64_t random = ReplayOk(trace, options).hit_tokens;
  options.router.strategy = Strategy::kPrefixAware;
  options.router.relative_bound.factor_percent = 0;
  const ReplayResult unbounded = ReplayOk(trace, options);
  EXPECT_EQ(unbounded.hit_tokens, OneCacheHitTokens(trace));  // Nothing is lost where nothing is diverted.
  EXPECT_EQ(unbounded.diverted, 0u);
  // Each application is new to 1 instance instead of 8; 1000 random requests miss most of 64 * 8 times.
  EXPECT_LT(random, unbounded.hit_tokens * 0.8);
}

TEST(ReplayTest, EmptyPromptsAndTracesAreReplayed) {
  Trace trace;
  ReplayResult result = ReplayOk(trace, {});
  EXPECT_EQ(result.served, 0u);
  EXPECT_EQ(OneCacheHitTokens(trace), 0u);
  trace.requests = {TextRequest(0, "", 0), TextRequest(0, "", 0)};
  result = ReplayOk(trace, {});
  EXPECT_EQ(result.served, 2u);
  EXPECT_EQ(result.input_tokens, 0u);
}

TEST(ReplayTest, TheRoutersRefusalOfOptionsIsReturned) {
  ReplayOptions options;
  options.router.max_prefix_bytes = 0;
  Progress progress(Progress::Mode::kOff);
  EXPECT_EQ(Replay({}, options, "test", &progress).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace prefixroute::replay
