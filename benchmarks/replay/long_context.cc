// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <utility>

#include "benchmarks/replay/random_draws.h"
#include "benchmarks/replay/split_mix.h"
#include "benchmarks/replay/workload_generator.h"

namespace prefixroute::replay {
namespace {

uint32_t AroundMean(SplitMix& random, uint32_t mean) { return Between(random, mean - mean / 2, mean + mean / 2); }

}  // namespace

Trace GenerateLongContext(const LongContext& workload) {
  SplitMix random(workload.seed);
  Trace trace;
  trace.block_tokens = kGeneratedBlockTokens;
  double seconds = 0;
  for (uint64_t i = 0; i < workload.max_requests; ++i) {
    seconds += Exponential(random) / workload.rate;
    if (seconds >= workload.seconds) break;
    const uint32_t application = random.Below(workload.applications);
    TraceRequest request;
    request.arrival_us = std::llround(seconds * 1e6);
    request.input_tokens = workload.prefix_tokens + AroundMean(random, workload.mean_question_tokens);
    request.output_tokens = AroundMean(random, workload.mean_output_tokens);
    const uint32_t blocks = (request.input_tokens + kGeneratedBlockTokens - 1) / kGeneratedBlockTokens;
    request.blocks.reserve(blocks);
    BlockId id = ChainBlock(workload.seed, application);
    for (uint32_t block = 0; block < blocks; ++block) {
      const bool shared = (block + 1) * kGeneratedBlockTokens <= workload.prefix_tokens;
      request.blocks.push_back(id = ChainBlock(id, shared ? 0 : i + 1));
    }
    trace.requests.push_back(std::move(request));
  }
  return trace;
}

}  // namespace prefixroute::replay
