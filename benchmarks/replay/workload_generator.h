// SPDX-License-Identifier: Apache-2.0
//
// Workloads for want of a trace. Arrivals are a Poisson process. Same workload, same trace, on any machine.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_WORKLOAD_GENERATOR_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_WORKLOAD_GENERATOR_H_

#include <cstdint>

#include "benchmarks/replay/trace.h"

namespace prefixroute::replay {

// The blocks of generated prompts.
inline constexpr uint32_t kGeneratedBlockTokens = 32;

// Long context: applications that each send a long prompt of their own (instructions, examples, documents) and behind
// it a question that nobody asked before. Each request is of a random application. As many as there are by default
// don't fit into one engine's memory, and RANDOM over 7 hits 25 %; a warm prompt takes 63 ms on an idle engine.
struct LongContext {
  uint32_t applications = 450;
  uint32_t prefix_tokens = 8000;
  // Question and answer: uniform from half the mean to one and a half.
  uint32_t mean_question_tokens = 1344;
  uint32_t mean_output_tokens = 200;
  double rate = 10;  // Requests a second.
  double seconds = 3600;
  uint64_t max_requests = UINT64_MAX;
  uint64_t seed = 1;
};
Trace GenerateLongContext(const LongContext& workload);

// Short context: conversations of several turns, each of which sends all that was said before. The lengths are
// exponential, with the means of ShareGPT that the vLLM paper gives (arXiv:2309.06180, section 6.1: 161 tokens of
// input, 338 of output), cut at 4 and 2,048 tokens; the number of turns is geometric. A turn comes after the answer
// before it, at 25 ms a token, and an exponential time to think: as if the fleet were never slower than that. By
// default RANDOM over 7 hits 30 %.
struct ShortContext {
  double mean_turns = 4.2;
  double mean_user_tokens = 161;
  double mean_output_tokens = 338;
  double mean_think_seconds = 20;
  double rate = 20;  // Requests a second, once conversations begin and end alike often.
  double seconds = 1800;
  uint64_t max_requests = UINT64_MAX;
  uint64_t seed = 1;
};
Trace GenerateShortContext(const ShortContext& workload);

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_WORKLOAD_GENERATOR_H_
