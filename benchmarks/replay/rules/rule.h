// SPDX-License-Identifier: Apache-2.0
//
// A routing rule under test: what one gateway replica uses to choose an instance. It sees the requests that this
// gateway gets, and no others; each gateway has an object of its own.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_RULES_RULE_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_RULES_RULE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "benchmarks/replay/trace.h"
#include "prefixroute/instance.h"

namespace prefixroute::replay {

struct Arrival {
  const Trace& trace;
  const TraceRequest& request;
  uint64_t random;  // For whatever is left to chance; never 0.
};

struct Placement {
  uint32_t instance = 0;
  bool diverted = false;  // Elsewhere than the rule would have it if load didn't count.
};

// Time spent in decisions.
struct RoutingCost {
  uint64_t decisions = 0;
  int64_t nanoseconds = 0;
};

// Instances go by numbers, which a fleet never uses twice. Requests go by slots, small numbers that are used again.
class Rule {
 public:
  virtual ~Rule() = default;

  // These instances, and no others, take requests from now on.
  virtual absl::Status SetInstances(absl::Span<const uint32_t> instances) = 0;

  // Chooses, and counts the request as outstanding until Finish(). ResourceExhausted: all are full, it is refused.
  virtual absl::StatusOr<Placement> Place(uint32_t slot, const Arrival& arrival) = 0;

  // The request's first token has come.
  virtual void FirstToken(uint32_t /*slot*/) {}

  // The request is over.
  virtual void Finish(uint32_t slot) = 0;

  // What the instance says of its load.
  virtual void ReportLoad(uint32_t /*instance*/, const EngineLoad& /*load*/) {}

  // The instance was restarted, with nothing cached.
  virtual void CacheLost(uint32_t /*instance*/) {}

  // So far. The router's alone is measured: what the others' rules cost here says nothing of their own programs.
  virtual RoutingCost Cost() const { return {}; }
};

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_RULES_RULE_H_
