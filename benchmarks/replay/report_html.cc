// SPDX-License-Identifier: Apache-2.0

#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "benchmarks/replay/html_charts.h"
#include "benchmarks/replay/report.h"

namespace prefixroute::replay {
namespace {

constexpr std::string_view kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>prefixroute: routing rules compared</title>
<style>
:root { --page: #fbfbf9; --card: #ffffff; --ink: #1d2128; --quiet: #687080; --grid: #e4e6ea; --own: #0b6e6e;
  --other: #a9b4c4; --mark: #c2410c; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171c; --card: #1b1f26; --ink: #e8eaee; --quiet: #9aa3b2; --grid: #2d333d; --own: #3fc1b6;
    --other: #5d6a7d; --mark: #fb923c; }
}
body { margin: 0 auto; max-width: 860px; padding: 32px 16px 64px; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 19px; margin: 40px 0 4px; overflow-wrap: anywhere; }
h3 { font-size: 15px; margin: 0; }
p { margin: 4px 0 12px; }
.quiet { color: var(--quiet); }
section > div { background: var(--card); border: 1px solid var(--grid); border-radius: 8px; padding: 14px 16px;
  margin: 14px 0; }
svg { display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--quiet); font-variant-numeric: tabular-nums; }
svg .label, svg .end { text-anchor: end; }
svg .tick { text-anchor: middle; }
svg text.own { fill: var(--own); font-weight: 600; }
svg text.other { fill: var(--ink); }
rect.own { fill: var(--own); } rect.other { fill: var(--other); }
.grid { stroke: var(--grid); }
.whisker { stroke: var(--quiet); stroke-width: 1.5; }
.mark { stroke: var(--mark); stroke-width: 2; }
.frame { fill: none; stroke: var(--grid); }
.event { stroke: var(--mark); stroke-dasharray: 3 3; }
.line { fill: none; stroke-width: 1.5; } .line.own { stroke: var(--own); } .line.other { stroke: var(--quiet); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { text-align: right; padding: 3px 10px; border-bottom: 1px solid var(--grid); }
th { color: var(--quiet); font-weight: 500; } th:first-child, td:first-child { text-align: left; padding-left: 0; }
tr.own td { color: var(--own); font-weight: 600; }
</style>
</head>
<body>
<h1>Routing rules on the same requests</h1>
<p class="quiet">A simulated fleet; every rule gets the same arrivals. The router's PREFIX_AWARE stands out in
colour.</p>
)";

std::string Card(std::string_view title, std::string_view note, const std::string& chart) {
  if (chart.empty()) return "";
  return absl::StrFormat("<div><h3>%s</h3><p class=\"quiet\">%s</p>\n%s</div>\n", std::string(title), std::string(note),
                         chart);
}

std::string Table(const Report& report) {
  std::string table =
      "<table><tr><th>rule</th><th>TTFT mean</th><th>P50</th><th>P90</th><th>P99</th><th>hits</th><th>of ceiling</th>"
      "<th>done/s</th><th>good/s</th><th>busiest</th><th>idlest</th><th>diverted</th><th>refused</th><th>failed</th>"
      "</tr>\n";
  for (const ReportRow& row : report.rows) {
    const Summary summary = Summarize(report, row);
    absl::StrAppendFormat(
        &table,
        "<tr%s><td>%s</td><td>%.3f s</td><td>%.3f s</td><td>%.3f s</td><td>%.3f s</td><td>%.3f</td><td>%.1f %%</td>"
        "<td>%.1f</td><td>%.1f</td><td>%.2f</td><td>%.2f</td><td>%.1f %%</td><td>%d</td><td>%d</td></tr>\n",
        row.rule == "prefix_aware" ? " class=\"own\"" : "", EscapeHtml(row.rule), summary.ttft_mean, summary.ttft_p50,
        summary.ttft_p90, summary.ttft_p99, summary.hit_rate, 100 * summary.of_ceiling, summary.throughput,
        summary.goodput, summary.busiest, summary.idlest, 100 * summary.diverted, row.result.refused,
        row.result.failed);
  }
  return table + "</table>\n";
}

std::string RecoveryTable(const Report& report) {
  if (report.options.events.empty()) return "";
  std::string table =
      "<table><tr><th>rule</th><th>event</th><th>hits before</th><th>back after</th><th>moved before</th>"
      "<th>moved after</th></tr>\n";
  for (const ReportRow& row : report.rows) {
    for (const Recovery& recovery : Recoveries(report.options, row.result)) {
      absl::StrAppendFormat(&table,
                            "<tr><td>%s</td><td>%s</td><td>%.3f</td><td>%s</td><td>%.1f %%</td><td>%.1f %%</td></tr>\n",
                            EscapeHtml(row.rule), ScaleEventText(recovery.event), recovery.hit_rate_before,
                            recovery.seconds < 0 ? std::string("not yet") : absl::StrFormat("%.0f s", recovery.seconds),
                            100 * recovery.moved_before, 100 * recovery.moved_after);
    }
  }
  return absl::StrCat("<div class=\"scroll\">", table, "</table></div>\n");
}

std::string Section(const Report& report) {
  const std::string limit =
      absl::StrFormat("Times are seconds; good/s are requests with their first token within %g s.",
                      static_cast<double>(report.options.ttft_limit_us) / 1e6);
  return absl::StrCat(
      "<section><h2>", EscapeHtml(report.source), "</h2>\n<p class=\"quiet\">",
      absl::StrReplaceAll(EscapeHtml(Describe(report)), {{"\n", "<br>"}}), "</p>\n",
      Card("Time to the first token",
           "A bar from P50 to P90, a line on to P99, a mark at the mean; logarithmic. On the right: P50 / P90.",
           TtftChart(report)),
      Card("Hit rate", "Input tokens found in the chosen instance's cache; the mark is the ceiling.",
           HitRateChart(report)),
      Card("Balance", "From the idlest instance to the busiest, in requests against the mean.", BalanceChart(report)),
      Card("Hit rate over time", "By arrival, from 0 to 100 %; dashed: the fleet changes.", HitRateSeries(report)),
      Card("Mean time to the first token over time", "By arrival, logarithmic, all with the same axis.",
           TtftSeries(report)),
      Card("When the fleet changes",
           "How soon the hit rate is back within 2 % of the minute before, and requests that go elsewhere than their "
           "longest known prefix went last, in the minutes before and after.",
           RecoveryTable(report)),
      Card("All figures", limit, absl::StrCat("<div class=\"scroll\">", Table(report), "</div>")), "</section>\n");
}

}  // namespace

std::string RenderHtml(absl::Span<const Report> reports) {
  std::string page(kHead);
  for (const Report& report : reports) page += Section(report);
  return page + "</body>\n</html>\n";
}

}  // namespace prefixroute::replay
