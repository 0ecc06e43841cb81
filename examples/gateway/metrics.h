// SPDX-License-Identifier: Apache-2.0
//
// What the gateway counts beside what the router counts, and all of it in Prometheus' text form. Thread-safe.

#ifndef PREFIXROUTE_EXAMPLES_GATEWAY_METRICS_H_
#define PREFIXROUTE_EXAMPLES_GATEWAY_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/histogram.h>

#include <array>
#include <string>

#include "fleet.h"
#include "prefixroute/payload.h"

namespace gateway {

struct Metrics {
  Metrics();

  prometheus::Histogram routing;  // Seconds from a body complete to the instance known.
  prometheus::Counter requests;   // That were to go to an instance.
  prometheus::Counter retries;    // Of those, tries after the first.
  // Of those, bodies by the form that they were read as.
  std::array<prometheus::Counter, static_cast<size_t>(prefixroute::PayloadForm::kGenerate) + 1> bodies;
  prometheus::Counter client_losses;
  prometheus::Counter unserved;        // Answered by 502 or 503: no try succeeded, or no instance was left to try.
  prometheus::Counter broken_answers;  // The instance failed when a part of its answer had been passed on.
  prometheus::Counter timeouts;        // No byte of an answer in time.
  prometheus::Counter exceptions;      // Each has cost a connection.
};

std::string MetricsText(const Metrics& metrics, const Fleet& fleet);

}  // namespace gateway

#endif  // PREFIXROUTE_EXAMPLES_GATEWAY_METRICS_H_
