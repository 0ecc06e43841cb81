// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/fleet_simulator.h"

#include <algorithm>
#include <memory>
#include <numeric>
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

RuleMaker RuleOf(const std::string& name, const RouterOptions& router = {}) {
  absl::StatusOr<std::vector<NamedRule>> rules = FindRules(name, router, {1024});
  EXPECT_TRUE(rules.ok()) << rules.status();
  return rules->front().make;
}

FleetResult SimulateOk(const Trace& trace, const FleetOptions& options, const std::string& rule) {
  Progress progress(Progress::Mode::kOff);
  absl::StatusOr<FleetResult> result = SimulateFleet(trace, options, RuleOf(rule), "test", &progress);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : FleetResult();
}

// A step takes 1000 us, and 10 more for each prompt token.
FleetOptions Small(uint32_t instances) {
  FleetOptions options;
  options.instances = instances;
  options.engine.step_us = 1000;
  options.engine.prefill_us_per_token = 10;
  options.engine.sequence_us = 0;
  return options;
}

const std::string prompt_a(128, 'a');  // 32 tokens.
const std::string prompt_b(128, 'b');

TEST(FleetSimulatorTest, TheFirstTokenComesAtTheEndOfTheStepThatEndsThePrompt) {
  Trace trace;
  trace.requests = {
      TextRequest(0, prompt_a, 3),     // Computed at 1320, done at 3320.
      TextRequest(500, prompt_b, 1),   // Waits for 1320, is computed at 2640 and done.
      TextRequest(2640, prompt_a, 1),  // Comes when the step has just ended. 16 tokens hit: 2640 + 1160.
  };
  const FleetResult result = SimulateOk(trace, Small(1), "random");
  EXPECT_EQ(result.ttft_us, (std::vector<int64_t>{1320, 2140, 2160}));
  EXPECT_EQ(result.hit_tokens, 16u);
  EXPECT_EQ(result.input_tokens, 96u);
  EXPECT_EQ(result.window_us, 2640);
  EXPECT_EQ(result.finished, 1u);
  EXPECT_EQ(result.outstanding_seen, 0u + 1 + 1);
}

TEST(FleetSimulatorTest, PercentilesAreThoseOfTheSortedTimes) {
  FleetResult result;
  EXPECT_EQ(result.TtftPercentile(0.5), 0);
  EXPECT_EQ(result.MeanTtftUs(), 0);
  result.ttft_us.resize(10);
  std::iota(result.ttft_us.begin(), result.ttft_us.end(), 1);
  EXPECT_EQ(result.TtftPercentile(0), 1);
  EXPECT_EQ(result.TtftPercentile(0.5), 5);
  EXPECT_EQ(result.TtftPercentile(0.9), 9);
  EXPECT_EQ(result.TtftPercentile(0.99), 10);
  EXPECT_EQ(result.TtftPercentile(1), 10);
  EXPECT_EQ(result.MeanTtftUs(), 5.5);
}

TEST(FleetSimulatorTest, CountsGoodputAndNothingOfTheWarmUp) {
  Trace trace;
  trace.requests = {TextRequest(0, prompt_a, 1), TextRequest(5000, prompt_a, 1), TextRequest(5001, prompt_a, 1),
                    TextRequest(20'000, prompt_b, 1)};
  FleetOptions options = Small(1);
  options.warm_up_us = 5000;
  options.ttft_limit_us = 1320;
  const FleetResult result = SimulateOk(trace, options, "random");
  EXPECT_EQ(result.served, 3u);
  EXPECT_EQ(result.ttft_us, (std::vector<int64_t>{1160, 1320, 1160 + 1159}));
  EXPECT_EQ(result.goodput, 2u);
  EXPECT_EQ(result.input_tokens, 96u);
  EXPECT_EQ(result.hit_tokens, 32u);
  EXPECT_EQ(result.finished, 2u);
  EXPECT_EQ(result.window_us, 15'000);
  EXPECT_EQ(OneCacheHitTokens(trace, 5000), 32u);
  ASSERT_EQ(result.series.size(), 1u);
  EXPECT_EQ(result.series[0].requests, 4u);  // The warm-up too.
}

TEST(FleetSimulatorTest, RefusesAtTheHardBoundAndWhatNoEngineCanHold) {
  Trace trace;
  trace.requests = {TextRequest(0, prompt_a, 10), TextRequest(1, prompt_a, 10), TextRequest(2, prompt_a, 10),
                    TextRequest(100'000, prompt_a, 2000)};
  FleetOptions options = Small(2);
  options.max_outstanding = 1;
  options.engine.cache_tokens = 1600;
  for (const char* rule : {"random", "prefix_aware", "round_robin", "precise", "prefix_score", "prefix_tree",
                           "bounded_hash", "least_outstanding"}) {
    const FleetResult result = SimulateOk(trace, options, rule);
    EXPECT_EQ(result.served, 2u) << rule;
    EXPECT_EQ(result.refused, 2u) << rule;
    EXPECT_EQ(result.requests_by_instance, (std::vector<uint64_t>{1, 1})) << rule;
  }
}

TEST(FleetSimulatorTest, GatewaysSeeTheirOwnRequestsOnly) {
  Trace trace;
  for (int i = 0; i < 64; ++i) trace.requests.push_back(TextRequest(i, prompt_a, 100));
  FleetOptions options = Small(8);
  options.max_outstanding = 4;
  EXPECT_EQ(SimulateOk(trace, options, "least_outstanding").refused, 32u);
  options.gateways = 2;  // Each has 32 places of its own, and gets about half of the requests.
  EXPECT_LT(SimulateOk(trace, options, "least_outstanding").refused, 20u);
}

TEST(FleetSimulatorTest, AnAddedInstanceTakesRequestsAndARemovedOneServesWhatItHas) {
  Trace trace;
  for (int i = 0; i < 40; ++i) trace.requests.push_back(TextRequest(i * 10'000, prompt_a + std::to_string(i), 20));
  FleetOptions options = Small(2);
  options.events = {{100'000, ScaleEvent::Kind::kAdd, 0}, {200'000, ScaleEvent::Kind::kRemove, 0}};
  const FleetResult result = SimulateOk(trace, options, "round_robin");
  // 5 each; 10 on three; 20 on the two left.
  EXPECT_EQ(result.requests_by_instance, (std::vector<uint64_t>{8, 18, 14}));
  EXPECT_EQ(result.failed, 0u);
  EXPECT_EQ(result.ttft_us.size(), 40u);
}

TEST(FleetSimulatorTest, ARestartLosesTheCacheAndWhatRuns) {
  Trace trace;
  trace.requests = {TextRequest(0, prompt_a, 1), TextRequest(5000, prompt_a, 100), TextRequest(8000, prompt_a, 1)};
  FleetOptions options = Small(1);
  options.events = {{7000, ScaleEvent::Kind::kRestart, 0}};
  for (const char* rule : {"random", "prefix_aware", "round_robin", "precise", "prefix_score", "prefix_tree"}) {
    const FleetResult result = SimulateOk(trace, options, rule);
    EXPECT_EQ(result.failed, 1u) << rule;
    EXPECT_EQ(result.ttft_us, (std::vector<int64_t>{1160, 1320, 1320})) << rule;
    EXPECT_EQ(result.hit_tokens, 16u) << rule;
  }
}

TEST(FleetSimulatorTest, AKnownBeginningIsNoKnownPrompt) {
  Trace trace;
  for (int i = 0; i < 8; ++i) {
    trace.requests.push_back(
        TextRequest(i * 1'000'000, prompt_a.substr(64) + std::string(64, static_cast<char>(i)), 1));
  }
  FleetOptions options = Small(2);
  options.events = {{3'500'000, ScaleEvent::Kind::kAdd, 0}};
  const FleetResult result = SimulateOk(trace, options, "round_robin");
  ASSERT_EQ(result.series.size(), 1u);
  EXPECT_EQ(result.series[0].known, 0u);  // Of two blocks one.
}

TEST(FleetSimulatorTest, CountsRequestsThatGoElsewhereThanTheirPrefixWent) {
  Trace trace;
  // Round robin over two: a known prompt stays away from where it last was; over one it can't.
  for (int i = 0; i < 8; ++i) trace.requests.push_back(TextRequest(i * 1'000'000, prompt_a, 1));
  FleetOptions options = Small(2);
  options.bucket_us = 4'000'000;
  options.events = {{3'500'000, ScaleEvent::Kind::kRemove, 1}};
  const FleetResult result = SimulateOk(trace, options, "round_robin");
  ASSERT_EQ(result.series.size(), 2u);
  EXPECT_EQ(result.series[0].known, 3u);
  EXPECT_EQ(result.series[0].moved, 3u);
  EXPECT_EQ(result.series[1].known, 4u);
  EXPECT_EQ(result.series[1].moved, 1u);
}

TEST(FleetSimulatorTest, TheSeedDecidesEverything) {
  LongContext workload;
  workload.max_requests = 400;
  const Trace trace = GenerateLongContext(workload);
  FleetOptions options;
  options.gateways = 3;
  for (const RuleDescription& rule : AllRules()) {
    const FleetResult first = SimulateOk(trace, options, rule.name);
    const FleetResult again = SimulateOk(trace, options, rule.name);
    EXPECT_EQ(first.requests_by_instance, again.requests_by_instance) << rule.name;
    EXPECT_EQ(first.ttft_us, again.ttft_us) << rule.name;
    EXPECT_EQ(first.hit_tokens, again.hit_tokens) << rule.name;
  }
  const FleetResult first = SimulateOk(trace, options, "random");
  options.seed = 2;
  EXPECT_NE(first.requests_by_instance, SimulateOk(trace, options, "random").requests_by_instance);
}

// The order of the rules is what the simulator is for: with everything shared and load to balance, those that look at
// prefixes are ahead of those that don't.
TEST(FleetSimulatorTest, RulesThatLookAtPrefixesAreAheadOnLongContext) {
  LongContext workload;
  workload.applications = 64;
  workload.mean_question_tokens = 200;
  workload.rate = 15;
  workload.seconds = 200;
  const Trace trace = GenerateLongContext(workload);
  const FleetResult random = SimulateOk(trace, {}, "random");
  const FleetResult least = SimulateOk(trace, {}, "least_outstanding");
  for (const char* rule : {"strict", "prefix_tree", "prefix_score", "precise", "bounded_hash"}) {
    const FleetResult result = SimulateOk(trace, {}, rule);
    EXPECT_GT(result.hit_tokens, random.hit_tokens) << rule;
    EXPECT_LT(result.MeanTtftUs(), 0.8 * random.MeanTtftUs()) << rule;
    EXPECT_LT(result.MeanTtftUs(), 0.9 * least.MeanTtftUs()) << rule;
    EXPECT_LE(result.hit_tokens, OneCacheHitTokens(trace)) << rule;
  }
}

TEST(FleetSimulatorTest, EmptyPromptsAndTracesAreSimulated) {
  Trace trace;
  EXPECT_EQ(SimulateOk(trace, {}, "prefix_aware").served, 0u);
  EXPECT_EQ(OneCacheHitTokens(trace), 0u);
  trace.requests = {TextRequest(0, "", 0), TextRequest(0, "", 0)};
  for (const RuleDescription& rule : AllRules()) {
    const FleetResult result = SimulateOk(trace, {}, rule.name);
    EXPECT_EQ(result.ttft_us.size(), 2u) << rule.name;
    EXPECT_EQ(result.input_tokens, 0u) << rule.name;
  }
}

TEST(FleetSimulatorTest, TheRoutersRefusalOfOptionsIsReturned) {
  RouterOptions router;
  router.max_prefix_bytes = 0;
  Progress progress(Progress::Mode::kOff);
  EXPECT_EQ(SimulateFleet({}, {}, RuleOf("prefix_aware", router), "test", &progress).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace prefixroute::replay
