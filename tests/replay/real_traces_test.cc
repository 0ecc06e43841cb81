// SPDX-License-Identifier: Apache-2.0
//
// Published traces, where the environment variable PREFIXROUTE_TRACES names a folder that has them. What one cache and
// what random routing over 8 find in each was computed independently.

#include <cstdlib>
#include <filesystem>
#include <string>

#include "benchmarks/replay/fleet_simulator.h"
#include "benchmarks/replay/rules/rules.h"
#include "benchmarks/replay/smear.h"
#include "benchmarks/replay/trace_reader.h"
#include "gtest/gtest.h"
#include "tests/testing/scale.h"

namespace prefixroute::replay {
namespace {

struct RealTrace {
  const char* file;
  size_t requests;
  double one_cache_hit_rate;
  double random_hit_rate;
};

// What the known figures were computed with.
constexpr uint32_t kBlockTokens = 64;

// "" where there is no such file, which the test should then say.
std::string PathOf(const char* file) {
  const char* folder = std::getenv("PREFIXROUTE_TRACES");  // NOLINT(concurrency-mt-unsafe): one thread
  if (folder == nullptr || *folder == '\0') return "";
  const std::filesystem::path path = std::filesystem::path(folder) / file;
  return std::filesystem::exists(path) ? path.string() : "";
}

constexpr char kNotThere[] = "PREFIXROUTE_TRACES names no folder that has this trace: ";

TraceFile Read(const std::string& path) {
  Progress progress(Progress::Mode::kOff);
  absl::StatusOr<TraceFile> file = ReadTrace(path, {0, kBlockTokens}, &progress);
  EXPECT_TRUE(file.ok()) << file.status();
  return file.ok() ? *std::move(file) : TraceFile();
}

FleetResult SimulateRule(const Trace& trace, const std::string& rule, const FleetOptions& options) {
  Progress progress(Progress::Mode::kOff);
  const RuleMaker make_rule = FindRules(rule, {}, {512})->front().make;
  absl::StatusOr<FleetResult> result = SimulateFleet(trace, options, make_rule, "test", &progress);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return {};
  EXPECT_EQ(result->ttft_us.size(), trace.requests.size());
  return *result;
}

double HitRate(const FleetResult& result) {
  return static_cast<double>(result.hit_tokens) / static_cast<double>(result.input_tokens);
}

class RealTracesTest : public testing::TestWithParam<RealTrace> {};

TEST_P(RealTracesTest, HaveTheirKnownHitRates) {
  const std::string path = PathOf(GetParam().file);
  if (path.empty()) GTEST_SKIP() << kNotThere << GetParam().file;
  const TraceFile file = Read(path);
  EXPECT_EQ(file.bad_lines, 0u);
  EXPECT_EQ(file.trace.requests.size(), GetParam().requests);
  const auto one_cache_hit_tokens = static_cast<double>(OneCacheHitTokens(file.trace));
  EXPECT_NEAR(one_cache_hit_tokens / static_cast<double>(file.trace.InputTokens()), GetParam().one_cache_hit_rate,
              0.005);
  FleetOptions options;
  options.engine.cache_tokens = 0;
  // What runs at the same time doesn't hit, so engines that are as good as idle are asked for.
  options.engine.step_us = 1;
  options.engine.prefill_us_per_token = 0;
  options.engine.sequence_us = 0;
  EXPECT_NEAR(HitRate(SimulateRule(file.trace, "random", options)), GetParam().random_hit_rate, 0.02);
}

INSTANTIATE_TEST_SUITE_P(All, RealTracesTest,
                         testing::Values(RealTrace{"mooncake_conversation.jsonl.gz", 12'031, .374, .133},
                                         RealTrace{"mooncake_synthetic.jsonl.gz", 3'993, .651, .236},
                                         RealTrace{"mooncake_arxiv_1000.jsonl.gz", 1'000, .391, .300},
                                         RealTrace{"tau_airline.jsonl.gz", 2'454, .928, .703},
                                         RealTrace{"miniswe_agent.jsonl.gz", 402, .932, .607},
                                         RealTrace{"faquad_pt.jsonl.gz", 900, .591, .170},
                                         RealTrace{"kdconv_zh.jsonl.gz", 9'531, .694, .252}),
                         [](const auto& tested) {
                           const std::string file = tested.param.file;
                           return file.substr(0, file.find('.'));
                         });

// All its requests share their first block of 512 tokens: rules that go by it scatter them, and by learning what
// follows others stay ahead.
TEST(ConversationTraceTest, AFixedPrefixThatAllShareIsWorseThanLearnedOnes) {
  constexpr char kFile[] = "mooncake_conversation.jsonl.gz";
  const std::string path = PathOf(kFile);
  if (path.empty()) GTEST_SKIP() << kNotThere << kFile;
  Trace trace = Read(path).trace;
  EXPECT_GT(SmearQuanta(&trace, 1), 2'900'000);
  trace.SpeedUp(5);
  const FleetResult least_outstanding = SimulateRule(trace, "least_outstanding", {});
  const FleetResult first_block = SimulateRule(trace, "bounded_hash", {});
  const FleetResult tree = SimulateRule(trace, "prefix_tree", {});
  const FleetResult score = SimulateRule(trace, "prefix_score", {});
  const FleetResult precise = SimulateRule(trace, "precise", {});
  EXPECT_NEAR(HitRate(first_block), HitRate(least_outstanding), 0.03);
  EXPECT_GT(HitRate(tree), 2 * HitRate(least_outstanding));
  EXPECT_LT(least_outstanding.MeanTtftUs(), first_block.MeanTtftUs());
  EXPECT_LT(tree.MeanTtftUs(), least_outstanding.MeanTtftUs());
  EXPECT_LT(score.MeanTtftUs(), tree.MeanTtftUs());
  EXPECT_LT(precise.MeanTtftUs(), score.MeanTtftUs());
}

class PrefixAwareOnRealTracesTest : public testing::TestWithParam<const char*> {};

// Each as much faster as it takes to load eight engines.
TEST_P(PrefixAwareOnRealTracesTest, IsAsFastAsTheBestOfTheOthers) {
  if (PREFIXROUTE_TEST_SANITIZED != 0) GTEST_SKIP() << "a sanitizer would make minutes of it";
  const std::string path = PathOf(GetParam());
  if (path.empty()) GTEST_SKIP() << kNotThere << GetParam();
  Trace trace = Read(path).trace;
  SmearQuanta(&trace, 1);
  const bool is_long = std::string(GetParam()).rfind("mooncake", 0) == 0;
  trace.SpeedUp(is_long ? 3 : 60);
  const FleetResult own = SimulateRule(trace, "prefix_aware", {});
  for (const char* rule : {"prefix_tree", "prefix_score", "precise", "precise_2"}) {
    EXPECT_LE(own.MeanTtftUs(), 1.1 * SimulateRule(trace, rule, {}).MeanTtftUs()) << rule;
  }
  for (const char* rule : {"random", "least_outstanding", "bounded_hash"}) {
    EXPECT_LE(own.MeanTtftUs(), SimulateRule(trace, rule, {}).MeanTtftUs()) << rule;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PrefixAwareOnRealTracesTest,
                         testing::Values("mooncake_conversation.jsonl.gz", "mooncake_synthetic.jsonl.gz",
                                         "mooncake_arxiv_1000.jsonl.gz", "tau_airline.jsonl.gz",
                                         "miniswe_agent.jsonl.gz", "faquad_pt.jsonl.gz", "kdconv_zh.jsonl.gz"),
                         [](const auto& tested) {
                           const std::string file = tested.param;
                           return file.substr(0, file.find('.'));
                         });

}  // namespace
}  // namespace prefixroute::replay
