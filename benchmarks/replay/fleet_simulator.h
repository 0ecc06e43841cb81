// SPDX-License-Identifier: Apache-2.0
//
// A fleet of engines behind gateways, by discrete events: arrivals, ends of engine steps, and changes of the fleet.
//
// Each request comes to a random gateway, whose rule sends it to an engine at once. It ends when its answer is
// complete; its first token is there at the end of the step that finishes its prompt. Where several things happen at
// one instant, steps end first, then the fleet changes, then requests arrive. Gateways and the network take no time.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_FLEET_SIMULATOR_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_FLEET_SIMULATOR_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "benchmarks/replay/engine/engine.h"
#include "benchmarks/replay/progress.h"
#include "benchmarks/replay/rules/rules.h"
#include "benchmarks/replay/scale_event.h"
#include "benchmarks/replay/trace.h"

namespace prefixroute::replay {

struct FleetOptions {
  uint32_t instances = 8;
  uint32_t gateways = 1;
  int64_t report_us = 0;         // How often engines tell the gateways their load; 0: never.
  uint32_t max_outstanding = 0;  // As Instance::max_outstanding, for each gateway.
  EngineOptions engine;
  std::vector<ScaleEvent> events;     // In the order of their time.
  int64_t warm_up_us = 0;             // Requests that arrive earlier are served, and counted nowhere but in `series`.
  int64_t ttft_limit_us = 1'000'000;  // Requests that are faster to their first token are goodput.
  int64_t bucket_us = 10'000'000;     // Of `series`.
  uint64_t seed = 1;                  // Of which gateway a request comes to, and of Arrival::random.
};

// Requests by their arrival. Sums, for whoever wants means.
struct Bucket {
  uint64_t requests = 0;
  uint64_t first_tokens = 0;
  int64_t ttft_us = 0;
  uint64_t input_tokens = 0;
  uint64_t hit_tokens = 0;
  // Requests more than half of whose full blocks were seen before, and those of them that went elsewhere than the last
  // of these blocks had gone last. Counted only where there are scale events.
  uint64_t known = 0;
  uint64_t moved = 0;
};

struct FleetResult {
  std::vector<uint64_t> requests_by_instance;  // By number: added ones come behind.
  uint64_t served = 0;                         // That were given to an engine, as all that follows.
  uint64_t diverted = 0;
  uint64_t input_tokens = 0;  // Of those that got their first token, as all that follows.
  uint64_t hit_tokens = 0;
  std::vector<int64_t> ttft_us;  // In ascending order.
  uint64_t goodput = 0;          // Requests within the limit.

  uint64_t refused = 0;  // All instances were at their bounds, or the request was too large for any engine.
  uint64_t failed = 0;   // Lost by a restart.
  // Requests finished from the warm-up's end to the last arrival, and how long that is.
  uint64_t finished = 0;
  int64_t window_us = 0;
  uint64_t outstanding_seen = 0;  // Requests outstanding in the fleet, summed over arrivals.

  RoutingCost routing;  // By the clock, and so the one thing here that differs from run to run.

  std::vector<Bucket> series;

  // The smallest time that the share `share` of all requests did not exceed; 0 where there are none.
  int64_t TtftPercentile(double share) const;
  double MeanTtftUs() const;
};

// Deterministic but for the routing cost. The error is the rule's, where it takes its options or a request amiss.
absl::StatusOr<FleetResult> SimulateFleet(const Trace& trace, const FleetOptions& options, const RuleMaker& make_rule,
                                          std::string_view task, Progress* progress);

// The ceiling of any routing: the tokens that hit in one cache without a limit that sees all requests, and has each
// prompt computed before the next comes. Of requests that arrive from `warm_up_us` on.
uint64_t OneCacheHitTokens(const Trace& trace, int64_t warm_up_us = 0);

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_FLEET_SIMULATOR_H_
