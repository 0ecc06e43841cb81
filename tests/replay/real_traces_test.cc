// SPDX-License-Identifier: Apache-2.0
//
// Published traces, where the environment variable PREFIXROUTE_TRACES names a folder that has them. What one cache and
// what random routing over 8 find in each was computed independently.

#include <cstdlib>
#include <filesystem>
#include <string>

#include "benchmarks/replay/replay.h"
#include "benchmarks/replay/trace_reader.h"
#include "gtest/gtest.h"

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

double HitRate(const Trace& trace, const ReplayOptions& options) {
  Progress progress(Progress::Mode::kOff);
  const absl::StatusOr<ReplayResult> result = Replay(trace, options, "test", &progress);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return -1;
  EXPECT_EQ(result->served, trace.requests.size());
  return static_cast<double>(result->hit_tokens) / static_cast<double>(result->input_tokens);
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
  ReplayOptions options;
  options.router.strategy = Strategy::kRandom;
  EXPECT_NEAR(HitRate(file.trace, options), GetParam().random_hit_rate, 0.02);
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

// All its requests share their first block of 512 tokens: they have one home, and its bound scatters them.
TEST(ConversationTraceTest, APrefixLimitThatAllShareIsHardlyBetterThanRandom) {
  constexpr char kFile[] = "mooncake_conversation.jsonl.gz";
  const std::string path = PathOf(kFile);
  if (path.empty()) GTEST_SKIP() << kNotThere << kFile;
  const Trace trace = Read(path).trace;
  ReplayOptions options;
  options.speed = 5;
  options.router.strategy = Strategy::kRandom;
  const double random = HitRate(trace, options);
  options.router.strategy = Strategy::kPrefixAware;
  options.router.max_prefix_bytes = uint64_t{512} * kBytesPerToken;
  EXPECT_NEAR(HitRate(trace, options), random, 0.03);
  options.router.max_prefix_bytes = uint64_t{1024} * kBytesPerToken;
  const double longer = HitRate(trace, options);
  EXPECT_GT(longer, 0.29);
  EXPECT_LT(longer, 0.37);
}

}  // namespace
}  // namespace prefixroute::replay
