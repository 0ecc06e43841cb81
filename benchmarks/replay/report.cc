// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace prefixroute::replay {
namespace {

constexpr double kUsASecond = 1e6;
constexpr int64_t kMinuteUs = 60'000'000;
constexpr double kRecovered = 0.98;

// 0 of 0 is 0: a trace may have no tokens, a row no request served.
double Ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

// The sum of the buckets that begin in [from_us, to_us).
Bucket Sum(const FleetOptions& options, const FleetResult& result, int64_t from_us, int64_t to_us) {
  Bucket sum;
  for (size_t i = 0; i < result.series.size(); ++i) {
    const int64_t start_us = static_cast<int64_t>(i) * options.bucket_us;
    if (start_us < from_us || start_us >= to_us) continue;
    const Bucket& bucket = result.series[i];
    sum.input_tokens += bucket.input_tokens;
    sum.hit_tokens += bucket.hit_tokens;
    sum.known += bucket.known;
    sum.moved += bucket.moved;
  }
  return sum;
}

}  // namespace

Report MakeReport(const std::string& source, const Trace& trace, const FleetOptions& options) {
  Report report;
  report.source = source;
  report.requests = trace.requests.size();
  report.input_tokens = trace.InputTokens();
  if (!trace.requests.empty()) report.seconds = static_cast<double>(trace.requests.back().arrival_us) / kUsASecond;
  uint64_t counted_tokens = 0;
  for (const TraceRequest& request : trace.requests) {
    if (request.arrival_us >= options.warm_up_us) counted_tokens += request.input_tokens;
  }
  report.ceiling = Ratio(OneCacheHitTokens(trace, options.warm_up_us), counted_tokens);
  report.options = options;
  return report;
}

Summary Summarize(const Report& report, const ReportRow& row) {
  const FleetResult& result = row.result;
  const auto instances = static_cast<double>(result.requests_by_instance.size());
  const double mean = static_cast<double>(result.served) / instances;
  const double window = static_cast<double>(result.window_us) / kUsASecond;
  const auto [idlest, busiest] =
      std::minmax_element(result.requests_by_instance.begin(), result.requests_by_instance.end());
  Summary summary;
  summary.ttft_mean = result.MeanTtftUs() / kUsASecond;
  summary.ttft_p50 = static_cast<double>(result.TtftPercentile(0.5)) / kUsASecond;
  summary.ttft_p90 = static_cast<double>(result.TtftPercentile(0.9)) / kUsASecond;
  summary.ttft_p99 = static_cast<double>(result.TtftPercentile(0.99)) / kUsASecond;
  summary.hit_rate = Ratio(result.hit_tokens, result.input_tokens);
  summary.of_ceiling = Ratio(summary.hit_rate, report.ceiling);
  summary.throughput = Ratio(result.finished, window);
  summary.goodput = Ratio(result.goodput, window);
  summary.busiest = Ratio(*busiest, mean);
  summary.idlest = Ratio(*idlest, mean);
  summary.diverted = Ratio(result.diverted, result.served);
  summary.in_flight = Ratio(result.outstanding_seen, static_cast<double>(result.served + result.refused) * instances);
  summary.routed = Ratio(result.routing.decisions, static_cast<double>(result.routing.nanoseconds) / 1e9);
  return summary;
}

std::vector<Recovery> Recoveries(const FleetOptions& options, const FleetResult& result) {
  std::vector<Recovery> recoveries;
  for (size_t i = 0; i < options.events.size(); ++i) {
    const int64_t at_us = options.events[i].at_us;
    const int64_t until_us = i + 1 < options.events.size()
                                 ? options.events[i + 1].at_us
                                 : static_cast<int64_t>(result.series.size()) * options.bucket_us;
    const Bucket before = Sum(options, result, at_us - kMinuteUs, at_us);
    const Bucket after = Sum(options, result, at_us, at_us + kMinuteUs);
    Recovery recovery;
    recovery.event = options.events[i];
    recovery.hit_rate_before = Ratio(before.hit_tokens, before.input_tokens);
    recovery.moved_before = Ratio(before.moved, before.known);
    recovery.moved_after = Ratio(after.moved, after.known);
    recovery.seconds = -1;
    for (int64_t start_us = at_us; start_us < until_us; start_us += options.bucket_us) {
      const Bucket bucket = Sum(options, result, start_us, start_us + options.bucket_us);
      if (Ratio(bucket.hit_tokens, bucket.input_tokens) < kRecovered * recovery.hit_rate_before) continue;
      recovery.seconds = static_cast<double>(start_us + options.bucket_us - at_us) / kUsASecond;
      break;
    }
    recoveries.push_back(recovery);
  }
  return recoveries;
}

std::string Describe(const Report& report) {
  const FleetOptions& options = report.options;
  std::string text = absl::StrFormat(
      "%s: %d requests, %d input tokens, in %.0f seconds\n%d instances, each with %s; %d gateway%s that see%s only %s "
      "own requests\n",
      report.source, report.requests, report.input_tokens, report.seconds, options.instances,
      options.engine.cache_tokens == 0 ? "an unlimited cache"
                                       : absl::StrCat("a cache of ", options.engine.cache_tokens, " tokens"),
      options.gateways, options.gateways == 1 ? "" : "s", options.gateways == 1 ? "s" : "",
      options.gateways == 1 ? "its" : "their");
  if (options.warm_up_us > 0) {
    absl::StrAppendFormat(&text, "Caches were cold at the start; the first %g seconds are not counted.\n",
                          static_cast<double>(options.warm_up_us) / kUsASecond);
  } else {
    absl::StrAppend(&text, "All requests are counted, those that find cold caches at the start too.\n");
  }
  if (options.report_us > 0) {
    absl::StrAppendFormat(&text, "Engines tell the gateways their load every %g seconds.\n",
                          static_cast<double>(options.report_us) / kUsASecond);
  }
  for (const ScaleEvent& event : options.events) absl::StrAppend(&text, "At ", ScaleEventText(event), "\n");
  absl::StrAppendFormat(&text, "One unlimited cache that sees every request would hit %.3f: the ceiling.\n",
                        report.ceiling);
  return text;
}

}  // namespace prefixroute::replay
