// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <utility>

#include "benchmarks/replay/random_draws.h"
#include "benchmarks/replay/split_mix.h"
#include "benchmarks/replay/workload_generator.h"

namespace prefixroute::replay {
namespace {

constexpr double kMinTokens = 4;
constexpr double kMaxTokens = 2048;
constexpr double kSecondsAToken = 0.025;

uint32_t Tokens(SplitMix& random, double mean) {
  return static_cast<uint32_t>(std::llround(std::clamp(mean * Exponential(random), kMinTokens, kMaxTokens)));
}

// All turns of one conversation that come before the end.
void AddConversation(const ShortContext& workload, uint64_t name, double seconds, SplitMix& random, Trace* trace) {
  // The text goes on from turn to turn, and so do its blocks.
  std::vector<BlockId> text;
  BlockId id = ChainBlock(workload.seed, name);
  uint32_t tokens = 0;
  do {
    TraceRequest request;
    tokens += Tokens(random, workload.mean_user_tokens);
    while (text.size() * kGeneratedBlockTokens < tokens) text.push_back(id = ChainBlock(id, 0));
    request.arrival_us = std::llround(seconds * 1e6);
    request.input_tokens = tokens;
    request.output_tokens = Tokens(random, workload.mean_output_tokens);
    request.blocks = text;
    tokens += request.output_tokens;
    seconds += request.output_tokens * kSecondsAToken + workload.mean_think_seconds * Exponential(random);
    trace->requests.push_back(std::move(request));
  } while (seconds < workload.seconds && Uniform(random) >= 1 / workload.mean_turns);
}

}  // namespace

Trace GenerateShortContext(const ShortContext& workload) {
  SplitMix random(workload.seed);
  Trace trace;
  trace.block_tokens = kGeneratedBlockTokens;
  double seconds = 0;
  for (uint64_t name = 1;; ++name) {
    seconds += Exponential(random) / workload.rate * workload.mean_turns;
    if (seconds >= workload.seconds) break;
    AddConversation(workload, name, seconds, random, &trace);
  }
  trace.SortByArrival();
  if (trace.requests.size() > workload.max_requests) {
    trace.requests.resize(static_cast<size_t>(workload.max_requests));
  }
  return trace;
}

}  // namespace prefixroute::replay
