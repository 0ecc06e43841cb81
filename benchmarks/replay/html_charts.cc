// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/html_charts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace prefixroute::replay {
namespace {

constexpr double kWidth = 760;
constexpr double kLabelWidth = 150;
constexpr double kValueWidth = 130;
constexpr double kRowHeight = 26;
constexpr double kAxisHeight = 24;
constexpr double kBarHeight = 12;

const char* ClassOf(const std::string& rule) { return rule == "prefix_aware" ? "own" : "other"; }

// Where values lie between the labels on the left and the figures on the right.
class Axis {
 public:
  Axis(double min, double max, bool logarithmic) : min_(min), max_(max), logarithmic_(logarithmic) {}

  double X(double value) const {
    const double place = logarithmic_ ? (std::log(value) - std::log(min_)) / (std::log(max_) - std::log(min_))
                                      : (value - min_) / (max_ - min_);
    return kLabelWidth + std::clamp(place, 0.0, 1.0) * (kWidth - kLabelWidth - kValueWidth);
  }

 private:
  double min_;
  double max_;
  bool logarithmic_;
};

std::string Svg(const std::string& title, double height, const std::string& body) {
  return absl::StrFormat("<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"%s\">%s</svg>\n", kWidth, height, title,
                         body);
}

std::string Text(double x, double y, const std::string& style, const std::string& text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>", x, y, style, EscapeHtml(text));
}

std::string Line(double x1, double y1, double x2, double y2, const std::string& style) {
  return absl::StrFormat("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>", x1, y1, x2, y2, style);
}

std::string Bar(double from, double to, double middle, const std::string& style) {
  return absl::StrFormat("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%g\" rx=\"2\" class=\"%s\"/>", from,
                         middle - kBarHeight / 2, std::max(1.5, to - from), kBarHeight, style);
}

struct Tick {
  double value;
  std::string label;
};

// The frame of a chart with a row for each rule; `row` draws one, given its figures and the height of its middle.
template <typename DrawRow>
std::string RowChart(const Report& report, const std::string& title, const Axis& axis, const std::vector<Tick>& ticks,
                     const DrawRow& draw_row) {
  const double bottom = kAxisHeight + kRowHeight * static_cast<double>(report.rows.size());
  std::string body;
  for (const Tick& tick : ticks) {
    body += Line(axis.X(tick.value), kAxisHeight - 4, axis.X(tick.value), bottom, "grid");
    body += Text(axis.X(tick.value), kAxisHeight - 9, "tick", tick.label);
  }
  for (size_t i = 0; i < report.rows.size(); ++i) {
    const ReportRow& row = report.rows[i];
    const double middle = kAxisHeight + kRowHeight * (static_cast<double>(i) + 0.5);
    body += Text(kLabelWidth - 10, middle + 4, absl::StrCat("label ", ClassOf(row.rule)), row.rule);
    body += draw_row(row, Summarize(report, row), middle);
  }
  return Svg(title, bottom + 4, body);
}

std::string Seconds(double seconds) {
  return seconds < 1 ? absl::StrFormat("%.0f ms", 1000 * seconds) : absl::StrFormat("%.3g s", seconds);
}

// The powers of ten, and their halves and fifths, from the first below all values to the first above.
std::vector<Tick> LogarithmicTicks(double least, double most) {
  std::vector<Tick> ticks;
  for (int exponent = -6; exponent < 9; ++exponent) {
    const double decade = std::pow(10, exponent);
    for (const double value : {decade, 2 * decade, 5 * decade}) {
      if (value >= most && !ticks.empty()) {
        ticks.push_back({value, Seconds(value)});
        return ticks;
      }
      if (value <= least) ticks.clear();
      ticks.push_back({value, Seconds(value)});
    }
  }
  return ticks;
}

constexpr double kPanelWidth = 180;
constexpr double kPanelHeight = 92;
constexpr double kPanelGap = 13;
constexpr double kPanelTop = 16;
constexpr uint32_t kPanelsARow = 4;

// Points of one rule's panel: the bucket and a height from 0 to 1.
template <typename HeightOf>
std::string SmallMultiples(const Report& report, const std::string& title, const std::string& top_label,
                           const HeightOf& height_of) {
  size_t buckets = 0;
  for (const ReportRow& row : report.rows) buckets = std::max(buckets, row.result.series.size());
  if (buckets < 2) return "";
  const auto x_of = [&](double bucket) { return bucket / static_cast<double>(buckets) * kPanelWidth; };
  std::string body;
  for (size_t i = 0; i < report.rows.size(); ++i) {
    const ReportRow& row = report.rows[i];
    const size_t panel_row = i / kPanelsARow;
    const double left = static_cast<double>(i % kPanelsARow) * (kPanelWidth + kPanelGap);
    const double top = static_cast<double>(panel_row) * (kPanelHeight + kPanelTop + kPanelGap) + kPanelTop;
    body += Text(left, top - 5, absl::StrCat("panel ", ClassOf(row.rule)), row.rule);
    body += absl::StrFormat("<rect x=\"%.1f\" y=\"%.1f\" width=\"%g\" height=\"%g\" class=\"frame\"/>", left, top,
                            kPanelWidth, kPanelHeight);
    if (i == 0) body += Text(left + kPanelWidth - 3, top + 11, "end", top_label);
    for (const ScaleEvent& event : report.options.events) {
      const double x = left + x_of(static_cast<double>(event.at_us) / static_cast<double>(report.options.bucket_us));
      body += Line(x, top, x, top + kPanelHeight, "event");
    }
    std::string points;
    for (size_t bucket = 0; bucket < row.result.series.size(); ++bucket) {
      if (row.result.series[bucket].first_tokens == 0) continue;
      const double height = std::clamp(height_of(row.result.series[bucket]), 0.0, 1.0);
      absl::StrAppendFormat(&points, "%.1f,%.1f ", left + x_of(static_cast<double>(bucket) + 0.5),
                            top + kPanelHeight * (1 - height));
    }
    body += absl::StrFormat("<polyline points=\"%s\" class=\"line %s\"/>", points, ClassOf(row.rule));
  }
  const size_t panel_rows = (report.rows.size() + kPanelsARow - 1) / kPanelsARow;
  return Svg(title, static_cast<double>(panel_rows) * (kPanelHeight + kPanelTop + kPanelGap), body);
}

double MeanTtftSeconds(const Bucket& bucket) {
  return static_cast<double>(bucket.ttft_us) / static_cast<double>(bucket.first_tokens) / 1e6;
}

}  // namespace

std::string EscapeHtml(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string TtftChart(const Report& report) {
  double least = 1e9;
  double most = 1e-6;
  for (const ReportRow& row : report.rows) {
    const Summary summary = Summarize(report, row);
    if (row.result.ttft_us.empty()) continue;
    least = std::min({least, summary.ttft_p50, summary.ttft_mean});
    most = std::max({most, summary.ttft_p99, summary.ttft_mean});
  }
  if (least > most) return "";
  const std::vector<Tick> ticks = LogarithmicTicks(least, most);
  const Axis axis(ticks.front().value, ticks.back().value, true);
  const auto draw = [&](const ReportRow& row, const Summary& summary, double middle) -> std::string {
    if (row.result.ttft_us.empty()) return "";
    const double mean = axis.X(summary.ttft_mean);
    return absl::StrCat(Line(axis.X(summary.ttft_p90), middle, axis.X(summary.ttft_p99), middle, "whisker"),
                        Bar(axis.X(summary.ttft_p50), axis.X(summary.ttft_p90), middle, ClassOf(row.rule)),
                        Line(mean, middle - kBarHeight / 2 - 2, mean, middle + kBarHeight / 2 + 2, "mark"),
                        Text(kWidth, middle + 4, "end",
                             absl::StrFormat("%s / %s", Seconds(summary.ttft_p50), Seconds(summary.ttft_p90))));
  };
  return RowChart(report, "Time to the first token by rule", axis, ticks, draw);
}

std::string HitRateChart(const Report& report) {
  const Axis axis(0, 1, false);
  const auto draw = [&](const ReportRow& row, const Summary& summary, double middle) {
    return absl::StrCat(
        Bar(axis.X(0), axis.X(summary.hit_rate), middle, ClassOf(row.rule)),
        Line(axis.X(report.ceiling), middle - kRowHeight / 2, axis.X(report.ceiling), middle + kRowHeight / 2, "mark"),
        Text(kWidth, middle + 4, "end",
             absl::StrFormat("%.1f %% (%.0f %% of it)", 100 * summary.hit_rate, 100 * summary.of_ceiling)));
  };
  return RowChart(report, "Hit rate by rule", axis,
                  {{0, "0"}, {0.25, "25 %"}, {0.5, "50 %"}, {0.75, "75 %"}, {1, "100 %"}}, draw);
}

std::string BalanceChart(const Report& report) {
  double most = 1.1;
  double least = 0.9;
  for (const ReportRow& row : report.rows) {
    most = std::max(most, Summarize(report, row).busiest);
    least = std::min(least, Summarize(report, row).idlest);
  }
  const Axis axis(least, most, false);
  const auto draw = [&](const ReportRow& row, const Summary& summary, double middle) {
    return absl::StrCat(
        Bar(axis.X(summary.idlest), axis.X(summary.busiest), middle, ClassOf(row.rule)),
        Text(kWidth, middle + 4, "end", absl::StrFormat("%.2f to %.2f", summary.idlest, summary.busiest)));
  };
  return RowChart(report, "Requests of the idlest and the busiest instance by rule", axis,
                  {{least, absl::StrFormat("%.2g", least)}, {1, "mean"}, {most, absl::StrFormat("%.2g", most)}}, draw);
}

std::string HitRateSeries(const Report& report) {
  return SmallMultiples(report, "Hit rate over time", "100 %", [](const Bucket& bucket) {
    return bucket.input_tokens == 0 ? 0.0
                                    : static_cast<double>(bucket.hit_tokens) / static_cast<double>(bucket.input_tokens);
  });
}

std::string TtftSeries(const Report& report) {
  double least = 1e9;
  double most = 1e-6;
  for (const ReportRow& row : report.rows) {
    for (const Bucket& bucket : row.result.series) {
      if (bucket.first_tokens == 0) continue;
      least = std::min(least, MeanTtftSeconds(bucket));
      most = std::max(most, MeanTtftSeconds(bucket));
    }
  }
  if (least >= most) return "";
  const std::string range = absl::StrFormat("%s to %s", Seconds(least), Seconds(most));
  return SmallMultiples(report, "Mean time to the first token over time", range, [&](const Bucket& bucket) {
    return std::log(MeanTtftSeconds(bucket) / least) / std::log(most / least);
  });
}

}  // namespace prefixroute::replay
