// SPDX-License-Identifier: Apache-2.0
//
// What a run ends with: the same figures as a table, as JSON, and as a page for a browser.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_REPORT_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/replay/fleet_simulator.h"
#include "benchmarks/replay/trace.h"

namespace prefixroute::replay {

struct ReportRow {
  std::string rule;
  FleetResult result;
};

// Every rule on the same arrivals.
struct Report {
  std::string source;  // What the trace is.
  uint64_t requests = 0;
  uint64_t input_tokens = 0;
  double seconds = 0;  // To the last arrival.
  double ceiling = 0;  // The hit rate of OneCacheHitTokens().
  FleetOptions options;
  std::vector<ReportRow> rows;
};

// Without rows.
Report MakeReport(const std::string& source, const Trace& trace, const FleetOptions& options);

// The figures of a row.
struct Summary {
  double ttft_mean = 0;  // Seconds, as the next three.
  double ttft_p50 = 0;
  double ttft_p90 = 0;
  double ttft_p99 = 0;
  double hit_rate = 0;
  double of_ceiling = 0;
  double throughput = 0;  // Requests finished a second, until the last arrival.
  double goodput = 0;     // Requests within the limit of their first token, a second.
  double busiest = 0;     // The instance with the most requests and that with the fewest, against the mean.
  double idlest = 0;
  double diverted = 0;   // Of those served.
  double in_flight = 0;  // Requests outstanding an instance when one arrives.
  double routed = 0;     // Decisions a second of routing alone; 0 where that isn't measured.
};
Summary Summarize(const Report& report, const ReportRow& row);

// The time after each scale event until the hit rate was back within 2 % of what it was before, in seconds; negative
// where it wasn't by the next event or the end. "Before" is the minute before the event, and "back" a bucket of
// FleetOptions::bucket_us.
struct Recovery {
  ScaleEvent event;
  double hit_rate_before = 0;
  double moved_before = 0;  // Of requests with a known prefix, in that minute.
  double moved_after = 0;   // In the minute that begins with the event.
  double seconds = 0;
};
std::vector<Recovery> Recoveries(const FleetOptions& options, const FleetResult& result);

// What ran against what, in lines of text.
std::string Describe(const Report& report);

std::string RenderTable(const Report& report);
// Ends with what the columns are.
std::string TableLegend();
std::string RenderJson(absl::Span<const Report> reports);
// One file without any other.
std::string RenderHtml(absl::Span<const Report> reports);

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_REPORT_H_
