// SPDX-License-Identifier: Apache-2.0

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/replay/report.h"

namespace prefixroute::replay {
namespace {

std::string RenderRow(const Report& report, const ReportRow& row) {
  const Summary summary = Summarize(report, row);
  return absl::StrFormat(
      "%-18s %8.3f %8.3f %8.3f %8.3f  %6.3f  %9.1f%%  %7.1f  %7.1f  %7.2f  %6.2f  %7.1f%%  %7d  %6d  %9.1f  %10s\n",
      row.rule, summary.ttft_mean, summary.ttft_p50, summary.ttft_p90, summary.ttft_p99, summary.hit_rate,
      100 * summary.of_ceiling, summary.throughput, summary.goodput, summary.busiest, summary.idlest,
      100 * summary.diverted, row.result.refused, row.result.failed, summary.in_flight,
      summary.routed == 0 ? "-" : absl::StrFormat("%.0f", summary.routed));
}

}  // namespace

std::string RenderTable(const Report& report) {
  std::string table =
      absl::StrFormat("\n%-18s %35s\n%-18s %8s %8s %8s %8s  %6s  %10s  %7s  %7s  %7s  %6s  %8s  %7s  %6s  %9s  %10s\n",
                      "", "TTFT in seconds", "rule", "mean", "P50", "P90", "P99", "hits", "of ceiling", "done/s",
                      "good/s", "busiest", "idlest", "diverted", "refused", "failed", "in flight", "requests/s");
  for (const ReportRow& row : report.rows) table += RenderRow(report, row);
  if (!report.options.events.empty()) table += "\n";
  for (const ReportRow& row : report.rows) {
    for (const Recovery& recovery : Recoveries(report.options, row.result)) {
      const std::string back =
          recovery.seconds < 0 ? std::string("not back") : absl::StrFormat("back in %.0f s", recovery.seconds);
      absl::StrAppendFormat(&table, "%-18s %s: hits %.3f before, %s; moved %.1f%% before, %.1f%% after\n", row.rule,
                            ScaleEventText(recovery.event), recovery.hit_rate_before, back, 100 * recovery.moved_before,
                            100 * recovery.moved_after);
    }
  }
  return table;
}

std::string TableLegend() {
  return "\nTTFT: from arrival to the end of the engine's step that completes the prompt"
         "\nhits: tokens found in the chosen instance's cache, of all input tokens"
         "\ndone/s: requests finished a second, until the last arrival; good/s: requests within the limit of TTFT"
         "\nbusiest, idlest: the instance with the most and the fewest requests, against the mean"
         "\nrefused: at the hard bound, or too large for any engine; failed: lost by a restart"
         "\nin flight: requests outstanding an instance when a request arrives, mean"
         "\nrequests/s: Router::Acquire() alone, on one thread; not measured for rules that aren't the router's\n";
}

}  // namespace prefixroute::replay
