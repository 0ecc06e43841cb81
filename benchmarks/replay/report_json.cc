// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/report.h"
#include "nlohmann/json.hpp"

namespace prefixroute::replay {
namespace {

using Json = nlohmann::ordered_json;

Json OptionsJson(const FleetOptions& options) {
  Json events = Json::array();
  for (const ScaleEvent& event : options.events) events.push_back(ScaleEventText(event));
  return {{"instances", options.instances},
          {"gateways", options.gateways},
          {"report_us", options.report_us},
          {"max_outstanding", options.max_outstanding},
          {"step_tokens", options.engine.step_tokens},
          {"max_sequences", options.engine.max_sequences},
          {"step_us", options.engine.step_us},
          {"prefill_us_per_token", options.engine.prefill_us_per_token},
          {"sequence_us", options.engine.sequence_us},
          {"cache_tokens", options.engine.cache_tokens},
          {"events", events},
          {"warm_up_us", options.warm_up_us},
          {"ttft_limit_us", options.ttft_limit_us},
          {"bucket_us", options.bucket_us},
          {"seed", options.seed}};
}

// A column for each figure, since the series is long.
Json SeriesJson(const std::vector<Bucket>& series) {
  Json requests = Json::array(), first_tokens = Json::array(), ttft_us = Json::array(), input_tokens = Json::array(),
       hit_tokens = Json::array(), known = Json::array(), moved = Json::array();
  for (const Bucket& bucket : series) {
    requests.push_back(bucket.requests);
    first_tokens.push_back(bucket.first_tokens);
    ttft_us.push_back(bucket.ttft_us);
    input_tokens.push_back(bucket.input_tokens);
    hit_tokens.push_back(bucket.hit_tokens);
    known.push_back(bucket.known);
    moved.push_back(bucket.moved);
  }
  return {{"requests", requests},
          {"first_tokens", first_tokens},
          {"ttft_us", ttft_us},
          {"input_tokens", input_tokens},
          {"hit_tokens", hit_tokens},
          {"known", known},
          {"moved", moved}};
}

Json RowJson(const Report& report, const ReportRow& row) {
  const FleetResult& result = row.result;
  const Summary summary = Summarize(report, row);
  Json recoveries = Json::array();
  for (const Recovery& recovery : Recoveries(report.options, result)) {
    recoveries.push_back({{"event", ScaleEventText(recovery.event)},
                          {"hit_rate_before", recovery.hit_rate_before},
                          {"moved_before", recovery.moved_before},
                          {"moved_after", recovery.moved_after},
                          {"seconds", recovery.seconds < 0 ? Json() : Json(recovery.seconds)}});
  }
  return {
      {"rule", row.rule},
      {"ttft_seconds",
       {{"mean", summary.ttft_mean}, {"p50", summary.ttft_p50}, {"p90", summary.ttft_p90}, {"p99", summary.ttft_p99}}},
      {"hit_rate", summary.hit_rate},
      {"of_ceiling", summary.of_ceiling},
      {"throughput", summary.throughput},
      {"goodput", summary.goodput},
      {"busiest", summary.busiest},
      {"idlest", summary.idlest},
      {"diverted", summary.diverted},
      {"in_flight", summary.in_flight},
      {"served", result.served},
      {"refused", result.refused},
      {"failed", result.failed},
      {"requests_by_instance", result.requests_by_instance},
      {"recoveries", recoveries},
      {"series", SeriesJson(result.series)}};
}

}  // namespace

std::string RenderJson(absl::Span<const Report> reports) {
  Json all = Json::array();
  for (const Report& report : reports) {
    Json rows = Json::array();
    for (const ReportRow& row : report.rows) rows.push_back(RowJson(report, row));
    all.push_back({{"source", report.source},
                   {"requests", report.requests},
                   {"input_tokens", report.input_tokens},
                   {"seconds", report.seconds},
                   {"ceiling", report.ceiling},
                   {"options", OptionsJson(report.options)},
                   {"rules", rows}});
  }
  return all.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
}

}  // namespace prefixroute::replay
