// SPDX-License-Identifier: Apache-2.0
//
// A workload for want of a trace: applications that each send a long prompt of their own (instructions, examples,
// documents) and behind it a question that nobody asked before.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_WORKLOAD_GENERATOR_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_WORKLOAD_GENERATOR_H_

#include <cstdint>

#include "benchmarks/replay/trace.h"

namespace prefixroute::replay {

// What all requests of one application begin with.
inline constexpr uint32_t kApplicationTokens = 8000;
// The question and the answer: uniform, both ends included.
inline constexpr uint32_t kMinQuestionTokens = 50;
inline constexpr uint32_t kMaxQuestionTokens = 350;
inline constexpr uint32_t kMinOutputTokens = 50;
inline constexpr uint32_t kMaxOutputTokens = 350;

struct Workload {
  uint64_t requests = 2000;
  uint32_t applications = 64;  // Each request is of a random one.
  double rate = 20;            // Requests a second; arrivals are a Poisson process.
  uint64_t seed = 1;
};

// About 4 kB a request. Same workload, same trace, on any machine.
Trace GenerateTrace(const Workload& workload);

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_WORKLOAD_GENERATOR_H_
