// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/workload_generator.h"

#include <cmath>
#include <utility>

#include "benchmarks/replay/split_mix.h"
#include "prefixroute/rendezvous.h"

namespace prefixroute::replay {
namespace {

constexpr double kLn2 = 0.69314718055994530942;
constexpr double kLog2Unit = static_cast<double>(uint64_t{1} << internal::kLog2FractionBits);

static_assert(kApplicationTokens % kTextBlockTokens == 0);

// From an exponential distribution of mean 1: -ln of a uniform number, by integers and so alike everywhere.
double Exponential(SplitMix& random) { return static_cast<double>(NegativeLog2(random.Next())) / kLog2Unit * kLn2; }

uint32_t Between(SplitMix& random, uint32_t min, uint32_t max) { return min + random.Below(max - min + 1); }

}  // namespace

Trace GenerateTrace(const Workload& workload) {
  SplitMix random(workload.seed);
  Trace trace;
  trace.block_tokens = kTextBlockTokens;
  trace.requests.reserve(workload.requests);
  double seconds = 0;
  for (uint64_t i = 0; i < workload.requests; ++i) {
    seconds += Exponential(random) / workload.rate;
    const uint32_t application = random.Below(workload.applications);
    TraceRequest request;
    request.arrival_us = std::llround(seconds * 1e6);
    request.input_tokens = kApplicationTokens + Between(random, kMinQuestionTokens, kMaxQuestionTokens);
    request.output_tokens = Between(random, kMinOutputTokens, kMaxOutputTokens);
    BlockId id = ChainBlock(workload.seed, application);
    const uint32_t blocks = (request.input_tokens + kTextBlockTokens - 1) / kTextBlockTokens;
    request.blocks.reserve(blocks);
    for (uint32_t block = 0; block < blocks; ++block) {
      const bool shared = block < kApplicationTokens / kTextBlockTokens;
      id = ChainBlock(id, shared ? 0 : i + 1);
      request.blocks.push_back(id);
    }
    trace.requests.push_back(std::move(request));
  }
  return trace;
}

}  // namespace prefixroute::replay
