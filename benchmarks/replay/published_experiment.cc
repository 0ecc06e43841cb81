// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/published_experiment.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/replay/rules/rules.h"
#include "benchmarks/replay/workload_generator.h"

namespace prefixroute::replay {
namespace {

constexpr uint32_t kInstances = 7;
// What the strict rule looks at: most of an application's prompt begins alike; a conversation's first words tell it.
constexpr uint64_t kLongStrictTokens = 1024;
constexpr uint64_t kShortStrictTokens = 64;

struct Published {
  const char* hit_rate;
  const char* p50;
  const char* p90;
  const char* throughput;
};
constexpr Published kPublished[] = {{"25 to 82 %", "-71 to -77 %", "-33 to -37 %", "+15 to +16 %"},
                                    {"30 to 80 %", "-13 to -16 %", "-24 to -37 %", "+1.7 to +2.0 %"}};

absl::StatusOr<Report> RunWorkload(const std::string& source, const Trace& trace, uint64_t strict_tokens, uint64_t seed,
                                   Progress* progress) {
  FleetOptions options;
  options.instances = kInstances;
  options.seed = seed;
  Report report = MakeReport(source, trace, options);
  for (const char* name : {"random", "strict", "prefix_aware", "precise"}) {
    const absl::StatusOr<std::vector<NamedRule>> rules = FindRules(name, {}, {strict_tokens});
    if (!rules.ok()) return rules.status();
    const NamedRule& rule = rules->front();
    absl::StatusOr<FleetResult> result =
        SimulateFleet(trace, options, rule.make, absl::StrCat(source, ", ", rule.name), progress);
    if (!result.ok()) return result.status();
    report.rows.push_back({rule.name, *std::move(result)});
  }
  return report;
}

// What the rule's figure is, and how it differs from RANDOM's.
std::string Change(double value, double random) {
  return absl::StrFormat("%.3f %+.0f %%", value, random == 0 ? 0 : 100 * (value / random - 1));
}

std::string RenderWorkload(const Report& report, const Published& published) {
  std::string table = absl::StrFormat("\n%-30s", "");
  for (const ReportRow& row : report.rows) absl::StrAppendFormat(&table, " %15s", row.rule);
  absl::StrAppendFormat(&table, "   %s\n", "published: RANDOM to PREFIX_AWARE");
  const Summary random = Summarize(report, report.rows.front());
  const auto line = [&](const char* what, const char* published_figure, const auto& figure) {
    absl::StrAppendFormat(&table, "%-30s", what);
    for (const ReportRow& row : report.rows) {
      absl::StrAppendFormat(&table, " %15s", figure(Summarize(report, row), row.result));
    }
    absl::StrAppendFormat(&table, "   %s\n", published_figure);
  };
  line("hit rate", published.hit_rate,
       [](const Summary& summary, const FleetResult&) { return absl::StrFormat("%.1f %%", 100 * summary.hit_rate); });
  line("TTFT P50, seconds", published.p50,
       [&](const Summary& summary, const FleetResult&) { return Change(summary.ttft_p50, random.ttft_p50); });
  line("TTFT P90, seconds", published.p90,
       [&](const Summary& summary, const FleetResult&) { return Change(summary.ttft_p90, random.ttft_p90); });
  line("requests finished a second", published.throughput,
       [&](const Summary& summary, const FleetResult&) { return Change(summary.throughput, random.throughput); });
  line("share of an instance", "13.3 to 15.4 %", [&](const Summary& summary, const FleetResult&) {
    return absl::StrFormat("%.1f to %.1f %%", 100 * summary.idlest / kInstances, 100 * summary.busiest / kInstances);
  });
  line("refused or failed", "0",
       [](const Summary&, const FleetResult& result) { return absl::StrCat(result.refused + result.failed); });
  return table;
}

}  // namespace

absl::StatusOr<std::vector<Report>> RunPublishedExperiment(uint64_t seed, double seconds, Progress* progress) {
  LongContext long_context;
  ShortContext short_context;
  long_context.seed = short_context.seed = seed;
  if (seconds > 0) long_context.seconds = short_context.seconds = seconds;
  std::vector<Report> reports;
  const std::string long_source = absl::StrFormat(
      "long context: %d applications of %d tokens and about %d new ones, %g requests a second",
      long_context.applications, long_context.prefix_tokens, long_context.mean_question_tokens, long_context.rate);
  absl::StatusOr<Report> report =
      RunWorkload(long_source, GenerateLongContext(long_context), kLongStrictTokens, seed, progress);
  if (!report.ok()) return report.status();
  reports.push_back(*std::move(report));
  const std::string short_source = absl::StrFormat("short context: conversations of %g turns, %g requests a second",
                                                   short_context.mean_turns, short_context.rate);
  report = RunWorkload(short_source, GenerateShortContext(short_context), kShortStrictTokens, seed, progress);
  if (!report.ok()) return report.status();
  reports.push_back(*std::move(report));
  return reports;
}

std::string RenderPublishedExperiment(absl::Span<const Report> reports) {
  std::string text;
  for (size_t i = 0; i < reports.size(); ++i) {
    absl::StrAppend(&text, i > 0 ? "\n" : "", Describe(reports[i]), RenderWorkload(reports[i], kPublished[i]));
  }
  absl::StrAppend(&text,
                  "\nChosen so that RANDOM hits as published: the number of applications, and that of turns. The rest"
                  "\nfollows. Arrivals don't wait for answers here, as a closed loop's would: throughput differs only"
                  "\nonce a rule can't keep up. \"precise\" knows all caches and queues: what is there to be had.\n");
  return text;
}

}  // namespace prefixroute::replay
