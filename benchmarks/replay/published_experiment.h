// SPDX-License-Identifier: Apache-2.0
//
// The experiment that Amazon SageMaker published with its PREFIX_AWARE: 7 instances, an hour of long context and half
// an hour of short context, RANDOM against PREFIX_AWARE. Here it is simulated.
//
// What it doesn't say was chosen so that RANDOM's side comes out as published, a hit rate of 25 % and of 30 %: the
// number of applications, and the number of turns. The rates are such that RANDOM copes. PREFIX_AWARE's side follows.
// These are the defaults of LongContext and ShortContext.
//
// Arrivals don't wait for answers here, so throughput can only differ once a rule can't keep up.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_PUBLISHED_EXPERIMENT_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_PUBLISHED_EXPERIMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "benchmarks/replay/progress.h"
#include "benchmarks/replay/report.h"

namespace prefixroute::replay {

// A report for each of the two workloads, with rows for random, a strict rule, prefix_aware and precise. `seconds`
// shortens both, where it isn't 0.
absl::StatusOr<std::vector<Report>> RunPublishedExperiment(uint64_t seed, double seconds, Progress* progress);

// Those reports beside the published figures.
std::string RenderPublishedExperiment(absl::Span<const Report> reports);

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_PUBLISHED_EXPERIMENT_H_
