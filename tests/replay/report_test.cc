// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/report.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace prefixroute::replay {
namespace {

// 4 requests of 32 tokens, of which 3 are served by 2 instances.
Report SmallReport() {
  Report report;
  report.source = "some.jsonl";
  report.requests = 4;
  report.input_tokens = 128;
  report.seconds = 30;
  report.ceiling = 0.75;
  report.options.instances = 2;
  FleetResult result;
  result.requests_by_instance = {1, 2};
  result.served = 3;
  result.diverted = 1;
  result.input_tokens = 96;
  result.hit_tokens = 32;
  result.ttft_us = {100'000, 200'000, 900'000};
  result.goodput = 2;
  result.refused = 1;
  result.finished = 3;
  result.window_us = 30'000'000;
  result.outstanding_seen = 3;
  result.routing = {4, 2'000'000};
  result.series.resize(3);
  report.rows = {{"prefix_aware", result}};
  return report;
}

// The words of the line that begins with `start`.
std::vector<std::string> Line(const std::string& table, const std::string& start) {
  for (const absl::string_view line : absl::StrSplit(table, '\n')) {
    if (line.substr(0, start.size()) == start) return absl::StrSplit(line, ' ', absl::SkipEmpty());
  }
  return {};
}

TEST(ReportTest, ARowHasTheFiguresOfItsRun) {
  const std::string table = RenderTable(SmallReport());
  EXPECT_EQ(Line(table, "prefix_aware"),
            (std::vector<std::string>{"prefix_aware", "0.400", "0.200", "0.900", "0.900", "0.333", "44.4%", "0.1",
                                      "0.1", "1.33", "0.67", "33.3%", "1", "0", "0.4", "2000"}))
      << table;
}

TEST(ReportTest, EveryRowIsALineUnderItsHeading) {
  Report report = SmallReport();
  report.rows.push_back({"strict_16384", report.rows[0].result});
  const std::string table = RenderTable(report);
  const std::vector<std::string> lines = absl::StrSplit(table, '\n');
  size_t heading = 0;
  while (heading < lines.size() && lines[heading].rfind("rule", 0) != 0) ++heading;
  ASSERT_LT(heading + 2, lines.size()) << table;
  EXPECT_EQ(lines[heading + 1].size(), lines[heading].size()) << table;
  EXPECT_EQ(lines[heading + 2].size(), lines[heading].size()) << table;
}

TEST(ReportTest, NothingServedIsNotDividedBy) {
  Report report = SmallReport();
  report.ceiling = 0;
  report.rows[0].result = FleetResult();
  report.rows[0].result.requests_by_instance = {0, 0};
  EXPECT_EQ(Line(RenderTable(report), "prefix_aware"),
            (std::vector<std::string>{"prefix_aware", "0.000", "0.000", "0.000", "0.000", "0.000", "0.0%", "0.0", "0.0",
                                      "0.00", "0.00", "0.0%", "0", "0", "0.0", "-"}));
}

TEST(ReportTest, SaysWhatWasSimulatedAndWhetherTheWarmUpCounts) {
  Report report = SmallReport();
  EXPECT_EQ(Describe(report),
            "some.jsonl: 4 requests, 128 input tokens, in 30 seconds\n"
            "2 instances, each with a cache of 1300000 tokens; 1 gateway that sees only its own requests\n"
            "All requests are counted, those that find cold caches at the start too.\n"
            "One unlimited cache that sees every request would hit 0.750: the ceiling.\n");
  report.options.engine.cache_tokens = 0;
  report.options.gateways = 4;
  report.options.warm_up_us = 5'000'000;
  report.options.events = {{10'000'000, ScaleEvent::Kind::kAdd, 0}};
  const std::string text = Describe(report);
  EXPECT_NE(text.find("an unlimited cache; 4 gateways that see only their own requests\n"), std::string::npos) << text;
  EXPECT_NE(text.find("the first 5 seconds are not counted.\nAt 10s:add\n"), std::string::npos) << text;
}

Bucket BucketOf(uint64_t hit_tokens, uint64_t moved) {
  Bucket bucket;
  bucket.input_tokens = 100;
  bucket.hit_tokens = hit_tokens;
  bucket.known = 10;
  bucket.moved = moved;
  return bucket;
}

TEST(ReportTest, TellsHowSoonTheHitRateIsBackAfterAScaleEvent) {
  FleetOptions options;
  options.bucket_us = 10'000'000;
  options.events = {{20'000'000, ScaleEvent::Kind::kAdd, 0}, {60'000'000, ScaleEvent::Kind::kRestart, 1}};
  FleetResult result;
  result.series = {BucketOf(50, 1), BucketOf(50, 1), BucketOf(30, 8), BucketOf(48, 2),
                   BucketOf(49, 2), BucketOf(50, 0), BucketOf(20, 0), BucketOf(40, 0)};
  const std::vector<Recovery> recoveries = Recoveries(options, result);
  ASSERT_EQ(recoveries.size(), 2u);
  EXPECT_DOUBLE_EQ(recoveries[0].hit_rate_before, 0.5);
  EXPECT_DOUBLE_EQ(recoveries[0].moved_before, 0.1);
  EXPECT_DOUBLE_EQ(recoveries[0].moved_after, 0.2);  // Over 6 buckets.
  EXPECT_DOUBLE_EQ(recoveries[0].seconds, 30);       // 0.49 is within 2 %.
  EXPECT_LT(recoveries[1].seconds, 0);               // Never.
}

TEST(ReportTest, JsonHasTheFiguresOfTheTable) {
  const std::vector<Report> reports = {SmallReport()};
  const nlohmann::json json = nlohmann::json::parse(RenderJson(reports));
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["source"], "some.jsonl");
  EXPECT_EQ(json[0]["options"]["cache_tokens"], 1'300'000);
  const nlohmann::json& row = json[0]["rules"][0];
  EXPECT_EQ(row["rule"], "prefix_aware");
  EXPECT_DOUBLE_EQ(row["ttft_seconds"]["p90"], 0.9);
  EXPECT_DOUBLE_EQ(row["goodput"], 2.0 / 30);
  EXPECT_EQ(row["refused"], 1);
  EXPECT_EQ(row["requests_by_instance"], (std::vector<uint64_t>{1, 2}));
  EXPECT_EQ(row["series"]["requests"].size(), 3u);
}

TEST(ReportTest, ThePageIsOneFileWithAChartOfEachKind) {
  Report report = SmallReport();
  report.source = "<some & \"quoted\">.jsonl";
  report.options.events = {{10'000'000, ScaleEvent::Kind::kAdd, 0}};
  for (Bucket& bucket : report.rows[0].result.series) {
    bucket.first_tokens = 1;
    bucket.ttft_us = 1000;
  }
  report.rows[0].result.series[1].ttft_us = 2000;
  const std::vector<Report> reports = {report};
  const std::string page = RenderHtml(reports);
  for (const char* title : {"Time to the first token", "Hit rate", "Balance", "Hit rate over time",
                            "Mean time to the first token over time", "When the fleet changes", "All figures"}) {
    EXPECT_NE(page.find("<h3>" + std::string(title) + "</h3>"), std::string::npos) << title;
  }
  EXPECT_NE(page.find("&lt;some &amp; &quot;quoted&quot;&gt;.jsonl"), std::string::npos);
  EXPECT_EQ(page.find("<some"), std::string::npos);
  EXPECT_NE(page.find("prefers-color-scheme: dark"), std::string::npos);
  // Nothing is fetched from elsewhere, and no figure is missing.
  for (const char* foreign : {"http", "src=", "url(", "<script", "nan", "inf"}) {
    EXPECT_EQ(page.find(foreign), std::string::npos) << foreign;
  }
}

TEST(ReportTest, APageOfNothingServedHasNoBrokenChart) {
  Report report = SmallReport();
  report.rows[0].result = FleetResult();
  report.rows[0].result.requests_by_instance = {0, 0};
  const std::vector<Report> reports = {report};
  const std::string page = RenderHtml(reports);
  EXPECT_EQ(page.find("<h3>Time to the first token</h3>"), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace prefixroute::replay
