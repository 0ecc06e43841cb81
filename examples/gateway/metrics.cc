// SPDX-License-Identifier: Apache-2.0

#include "metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <iterator>
#include <utility>
#include <vector>

#include "prefixroute/router.h"

namespace gateway {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr double kRoutingSeconds[] = {1e-6, 2e-6, 3e-6, 5e-6, 7.5e-6, 1e-5, 1.5e-5, 2e-5,
                                      3e-5, 5e-5, 1e-4, 2e-4, 5e-4,   1e-3, 2.5e-3, 1e-2};

class Page {
 public:
  MetricFamily& Add(const char* name, const char* help, MetricType type) {
    return families_.emplace_back(MetricFamily{std::string("prefixroute_") + name, help, type, {}});
  }
  void AddCounter(const char* name, const char* help, const prometheus::Counter& counter) {
    Add(name, help, MetricType::Counter).metric.push_back(counter.Collect());
  }
  std::string Text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<MetricFamily> families_;
};

void AddSample(MetricFamily& family, const char* label, std::string_view label_value, ClientMetric metric) {
  metric.label.push_back({label, std::string(label_value)});
  family.metric.push_back(std::move(metric));
}

ClientMetric Value(MetricType type, double value) {
  ClientMetric metric;
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  return metric;
}

void AddRouter(Page& page, const prefixroute::RouterStats& stats) {
  MetricFamily& decisions = page.Add("decisions_total", "Instances chosen, by why", MetricType::Counter);
  for (size_t i = 0; i < prefixroute::kReasonCount; ++i) {
    AddSample(decisions, "reason", prefixroute::ReasonName(static_cast<prefixroute::Reason>(i)),
              Value(MetricType::Counter, static_cast<double>(stats.decisions[i])));
  }
  MetricFamily& refused = page.Add("refused_total", "Requests for which no instance was free", MetricType::Counter);
  AddSample(refused, "why", "unavailable", Value(MetricType::Counter, static_cast<double>(stats.unavailable)));
  AddSample(refused, "why", "exhausted", Value(MetricType::Counter, static_cast<double>(stats.exhausted)));

  const auto by_instance = [&](const char* name, const char* help, MetricType type, auto value) {
    MetricFamily& family = page.Add(name, help, type);
    for (const prefixroute::InstanceStats& each : stats.instances) {
      AddSample(family, "instance", each.id, Value(type, static_cast<double>(value(each))));
    }
  };
  using Stats = prefixroute::InstanceStats;
  by_instance("outstanding", "Requests under way", MetricType::Gauge, [](const Stats& s) { return s.outstanding; });
  by_instance("pending_bytes", "Bytes of prompts to be prefilled", MetricType::Gauge,
              [](const Stats& s) { return s.pending_bytes; });
  by_instance("draining", "1: gets no new requests", MetricType::Gauge, [](const Stats& s) { return s.draining; });
  by_instance("prompt_tokens_total", "Of the answers that told what was cached", MetricType::Counter,
              [](const Stats& s) { return s.prompt_tokens; });
  by_instance("cached_tokens_total", "Of those, cached, as the engine said", MetricType::Counter,
              [](const Stats& s) { return s.cached_tokens; });
  by_instance("expected_cached_tokens_total", "Of those, cached, as the router expected", MetricType::Counter,
              [](const Stats& s) { return s.expected_cached_tokens; });
  page.Add("outstanding_all", "Requests under way, also at instances removed since", MetricType::Gauge)
      .metric.push_back(Value(MetricType::Gauge, static_cast<double>(stats.outstanding)));
}

}  // namespace

Metrics::Metrics() : routing({std::begin(kRoutingSeconds), std::end(kRoutingSeconds)}) {}

std::string MetricsText(const Metrics& metrics, const Fleet& fleet) {
  Page page;
  AddRouter(page, fleet.router().Stats());
  page.AddCounter("requests_total", "Requests that were to go to an instance", metrics.requests);
  MetricFamily& bodies = page.Add("bodies_total", "Bodies, by the form they were read as", MetricType::Counter);
  for (size_t i = 0; i < metrics.bodies.size(); ++i) {
    AddSample(bodies, "form", prefixroute::PayloadFormName(static_cast<prefixroute::PayloadForm>(i)),
              metrics.bodies[i].Collect());
  }
  page.AddCounter("retries_total", "Tries at another instance", metrics.retries);
  page.AddCounter("client_losses_total", "Clients that left before the end", metrics.client_losses);
  page.AddCounter("unserved_total", "Requests answered by 502 or 503", metrics.unserved);
  page.AddCounter("broken_answers_total", "Answers that an instance broke off", metrics.broken_answers);
  page.AddCounter("timeouts_total", "Requests that no instance began to answer in time", metrics.timeouts);
  page.AddCounter("exceptions_total", "Connections given up for an error in the gateway", metrics.exceptions);
  page.Add("routing_seconds", "From a body complete to the instance known", MetricType::Histogram)
      .metric.push_back(metrics.routing.Collect());

  MetricFamily& first_token = page.Add("first_token_seconds", "From a body complete to the first token",  //
                                       MetricType::Histogram);
  const auto snapshot = fleet.snapshot();
  for (const auto& backend : snapshot->backends) {
    AddSample(first_token, "instance", backend->id(), backend->first_token.Collect());
  }
  MetricFamily& failures = page.Add("instance_failures_total", "Tries that failed", MetricType::Counter);
  for (const auto& backend : snapshot->backends) {
    AddSample(failures, "instance", backend->id(), backend->failures.Collect());
  }
  return page.Text();
}

}  // namespace gateway
