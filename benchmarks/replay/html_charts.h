// SPDX-License-Identifier: Apache-2.0
//
// Charts for the page, as inline SVG that takes its colours from the page's style: a row for each rule, the rule under
// test (class "own") apart from the others.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_HTML_CHARTS_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_HTML_CHARTS_H_

#include <string>

#include "benchmarks/replay/report.h"

namespace prefixroute::replay {

std::string EscapeHtml(const std::string& text);

// A bar from P50 to P90, a line on to P99, a mark at the mean; seconds, on a logarithmic axis.
std::string TtftChart(const Report& report);

// A bar from 0, and a line at the ceiling.
std::string HitRateChart(const Report& report);

// From the idlest to the busiest instance, the mean being 1.
std::string BalanceChart(const Report& report);

// A small chart for each rule over time, all with the same axes, scale events marked: the hit rate, and the mean TTFT.
std::string HitRateSeries(const Report& report);
std::string TtftSeries(const Report& report);

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_HTML_CHARTS_H_
