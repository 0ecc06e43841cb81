// SPDX-License-Identifier: Apache-2.0
//
// What engines say of themselves, in Prometheus' text form and by vLLM's names.

#ifndef PREFIXROUTE_BENCHMARKS_HTTP_ENGINE_METRICS_H_
#define PREFIXROUTE_BENCHMARKS_HTTP_ENGINE_METRICS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace prefixroute::http_load {

// Since the engine started.
struct EngineMetrics {
  double requests = 0;  // That came to their end.
  double prompt_tokens = 0;
  double cached_tokens = 0;
};

// The sum over all series of that name; 0 where there is none.
double MetricValue(std::string_view text, std::string_view name);

// GET http://<address>/metrics. Unavailable where nothing answers.
absl::StatusOr<EngineMetrics> FetchEngineMetrics(const std::string& host, const std::string& port);

}  // namespace prefixroute::http_load

#endif  // PREFIXROUTE_BENCHMARKS_HTTP_ENGINE_METRICS_H_
