// SPDX-License-Identifier: Apache-2.0
//
// Sends a trace through a real Router, against a simulated cache for each instance.
//
// Each request is acquired at its arrival. The full blocks of its prompt are looked up in the chosen instance's cache,
// and cached there from then on. Its lease ends after
//
//   (input tokens - hit tokens) * prefill_us_per_token + output tokens * decode_us_per_token
//
// microseconds, however many others the instance serves meanwhile: enough for bounds to act on, not an engine's
// latency. A refused request is dropped.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_REPLAY_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_REPLAY_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "benchmarks/replay/progress.h"
#include "benchmarks/replay/trace.h"
#include "prefixroute/router.h"

namespace prefixroute::replay {

struct ReplayOptions {
  uint32_t instances = 8;
  RouterOptions router;          // Its max_instances follows from `instances`.
  uint32_t max_outstanding = 0;  // As Instance::max_outstanding.
  // Of each instance; 0 for no limit. Without one, what a strategy misses of the ceiling is lost by routing alone.
  uint64_t cache_tokens = 0;
  double speed = 1;  // Arrivals come so many times as fast.
  // An 8-billion-parameter model on a large GPU takes about so long.
  uint32_t prefill_us_per_token = 32;
  uint32_t decode_us_per_token = 20'000;
  uint64_t seed = 1;  // Of Request::random.
};

struct ReplayResult {
  std::vector<uint64_t> requests_by_instance;
  uint64_t served = 0;
  uint64_t refused = 0;
  uint64_t diverted = 0;
  uint64_t input_tokens = 0;  // Of served requests, as all that follows.
  uint64_t hit_tokens = 0;
  uint64_t outstanding_seen = 0;  // Requests outstanding in the fleet, summed over all arrivals.
  double acquire_seconds = 0;     // Spent in Router::Acquire().
};

// Deterministic, but for acquire_seconds. The error is the router's, where it takes the options or a request amiss.
absl::StatusOr<ReplayResult> Replay(const Trace& trace, const ReplayOptions& options, std::string_view task,
                                    Progress* progress);

// The ceiling of any routing: the tokens that hit in one cache without a limit that sees all requests.
uint64_t OneCacheHitTokens(const Trace& trace);

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_REPLAY_H_
