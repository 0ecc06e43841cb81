// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/report.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace prefixroute::replay {
namespace {

Trace TraceOfTokens(const std::vector<uint32_t>& input_tokens) {
  Trace trace;
  for (const uint32_t tokens : input_tokens) {
    TraceRequest request;
    request.input_tokens = tokens;
    request.arrival_us = 30'000'000;
    trace.requests.push_back(request);
  }
  return trace;
}

// The words of the line that begins with `start`.
std::vector<std::string> Line(const std::string& table, const std::string& start) {
  for (const absl::string_view line : absl::StrSplit(table, '\n')) {
    if (line.substr(0, start.size()) == start) return absl::StrSplit(line, ' ', absl::SkipEmpty());
  }
  return {};
}

TEST(ReportTest, ARowHasTheFiguresOfItsReplay) {
  ReplayResult result;
  result.requests_by_instance = {1, 2};
  result.served = 3;
  result.refused = 1;
  result.diverted = 1;
  result.input_tokens = 96;
  result.hit_tokens = 32;
  result.outstanding_seen = 3;
  result.acquire_seconds = 0.5;
  const std::string table = RenderTable(TraceOfTokens({32, 32, 32, 32}), 96, {{Strategy::kPrefixAware, 1024, result}});
  // 96 of 128; 32 / 96; that of 0.75; 2 and 1 of 1.5; 1 of 3; 1; 3 of 4 arrivals at 2 instances; 4 in 0.5 s.
  EXPECT_NE(table.find("every request would hit 0.750:"), std::string::npos) << table;
  EXPECT_EQ(Line(table, "PREFIX_AWARE"), (std::vector<std::string>{"PREFIX_AWARE", "1024", "tokens", "0.333", "44.4%",
                                                                   "1.33", "0.67", "33.3%", "1", "0.4", "8"}))
      << table;
}

TEST(ReportTest, EveryRowIsALineUnderItsHeading) {
  ReplayResult result;
  result.requests_by_instance = {1};
  result.served = 1;
  const std::string table = RenderTable(TraceOfTokens({32}), 0,
                                        {{Strategy::kRandom, 0, result},
                                         {Strategy::kLeastOutstandingRequests, 0, result},
                                         {Strategy::kPrefixAware, 16384, result}});
  const std::vector<std::string> lines = absl::StrSplit(table, '\n');
  size_t heading = 0;
  while (heading < lines.size() && lines[heading].rfind("strategy", 0) != 0) ++heading;
  ASSERT_LT(heading + 3, lines.size()) << table;
  for (size_t i = 1; i <= 3; ++i) EXPECT_EQ(lines[heading + i].size(), lines[heading].size()) << table;
  EXPECT_EQ(Line(table, "RANDOM")[1], "-");
}

TEST(ReportTest, NothingServedIsNotDividedBy) {
  ReplayResult result;
  result.requests_by_instance = {0, 0};
  const std::string table = RenderTable(Trace(), 0, {{Strategy::kRandom, 0, result}});
  EXPECT_EQ(Line(table, "RANDOM"),
            (std::vector<std::string>{"RANDOM", "-", "0.000", "0.0%", "0.00", "0.00", "0.0%", "0", "0.0", "0"}))
      << table;
}

TEST(ReportTest, SaysWhatWasReplayed) {
  ReplayOptions options;
  options.speed = 5;
  EXPECT_EQ(DescribeReplay("some.jsonl", TraceOfTokens({100, 28}), options),
            "some.jsonl: 2 requests, 128 input tokens, in 6 seconds (speed 5)\n"
            "8 instances, each with an unlimited cache\n");
  options.cache_tokens = 4096;
  options.instances = 3;
  EXPECT_NE(DescribeReplay("", Trace(), options).find("3 instances, each with a cache of 4096 tokens\n"),
            std::string::npos);
}

}  // namespace
}  // namespace prefixroute::replay
