// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace prefixroute::replay {
namespace {

// 0 of 0 is 0: a trace may have no tokens, a row no request served.
double Ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

std::string RenderRow(const ReportRow& row, double ceiling) {
  const ReplayResult& result = row.result;
  const auto instances = static_cast<double>(result.requests_by_instance.size());
  const auto [idlest, busiest] =
      std::minmax_element(result.requests_by_instance.begin(), result.requests_by_instance.end());
  const double mean = static_cast<double>(result.served) / instances;
  const auto arrivals = static_cast<double>(result.served + result.refused);
  const double hit_rate = Ratio(result.hit_tokens, result.input_tokens);
  return absl::StrFormat("%-26s  %13s  %8.3f  %9.1f%%  %7.2f  %6.2f  %7.1f%%  %7d  %9.1f  %10.0f\n",
                         absl::StrFormat("%s", StrategyName(row.strategy)),
                         row.max_prefix_tokens == 0 ? "-" : absl::StrCat(row.max_prefix_tokens, " tokens"), hit_rate,
                         100 * Ratio(hit_rate, ceiling), Ratio(*busiest, mean), Ratio(*idlest, mean),
                         100 * Ratio(result.diverted, result.served), result.refused,
                         Ratio(result.outstanding_seen, arrivals * instances), Ratio(arrivals, result.acquire_seconds));
}

}  // namespace

std::string DescribeReplay(const std::string& source, const Trace& trace, const ReplayOptions& options) {
  const double seconds =
      trace.requests.empty() ? 0 : static_cast<double>(trace.requests.back().arrival_us) / 1e6 / options.speed;
  return absl::StrFormat(
      "%s: %d requests, %d input tokens, in %.0f seconds (speed %g)\n%d instances, each with %s\n", source,
      trace.requests.size(), trace.InputTokens(), seconds, options.speed, options.instances,
      options.cache_tokens == 0 ? "an unlimited cache" : absl::StrCat("a cache of ", options.cache_tokens, " tokens"));
}

std::string RenderTable(const Trace& trace, uint64_t one_cache_hit_tokens, const std::vector<ReportRow>& rows) {
  const double ceiling = Ratio(one_cache_hit_tokens, trace.InputTokens());
  std::string table =
      absl::StrFormat("One unlimited cache that sees every request would hit %.3f: the ceiling.\n\n", ceiling);
  absl::StrAppendFormat(&table, "%-26s  %13s  %8s  %10s  %7s  %6s  %8s  %7s  %9s  %10s\n", "strategy", "prefix limit",
                        "hit rate", "of ceiling", "busiest", "idlest", "diverted", "refused", "in flight",
                        "requests/s");
  for (const ReportRow& row : rows) table += RenderRow(row, ceiling);
  absl::StrAppend(&table,
                  "\nhit rate: tokens found in the chosen instance's cache, of all input tokens served"
                  "\nbusiest, idlest: the instance with the most and the fewest requests, against the mean"
                  "\nin flight: requests outstanding an instance when a request arrives, mean"
                  "\nrequests/s: routing alone (Router::Acquire, one thread)\n");
  return table;
}

}  // namespace prefixroute::replay
