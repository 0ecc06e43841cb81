// SPDX-License-Identifier: Apache-2.0
//
// Sends the requests of a trace over HTTP, as POST /v1/completions with streaming, and takes down what came of each.
// The prompt is the body's first field, so that what routes by the body's bytes routes by the prompt.

#ifndef PREFIXROUTE_BENCHMARKS_HTTP_LOAD_H_
#define PREFIXROUTE_BENCHMARKS_HTTP_LOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "benchmarks/replay/trace.h"

namespace prefixroute::http_load {

struct LoadOptions {
  std::string host;
  std::string port;
  // 0: open loop, each request at its time, whatever has become of those before. Else a closed loop: as many at a time,
  // one after the other, whatever the trace's times.
  uint32_t concurrency = 0;
  // Of the engines: their seconds in one of the clock. Arrivals keep to it, and results are in the engines' time.
  double engine_speed = 1;
  // Seconds of the clock without a byte from the server after which a request has failed.
  double timeout_seconds = 300;
};

struct Outcome {
  std::string error;    // "" where the answer came to its end.
  int64_t ttft_us = 0;  // From when it was due to the first event of the answer, in the engines' time.
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;
};

struct LoadResult {
  std::vector<Outcome> outcomes;  // In the order of the trace.
  int64_t duration_us = 0;        // In the engines' time.
};

// The body that is sent. What a trace doesn't give as text gets letters in its place, 4 to a token all the same.
std::string RequestBody(const replay::Trace& trace, const replay::TraceRequest& request);

// NotFound where the host has no address. Requests that fail are outcomes.
absl::StatusOr<LoadResult> RunLoad(const replay::Trace& trace, const LoadOptions& options);

}  // namespace prefixroute::http_load

#endif  // PREFIXROUTE_BENCHMARKS_HTTP_LOAD_H_
