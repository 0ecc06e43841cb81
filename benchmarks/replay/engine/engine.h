// SPDX-License-Identifier: Apache-2.0
//
// One inference engine, by its iterations, as vLLM schedules them. A step gives one token to every sequence that
// decodes, and what is left of its token budget to prompts, first come first served, a long one in chunks over several
// steps. It takes
//
//   step_us + prefill_us_per_token * prompt tokens + sequence_us * sequences
//
// and all that it computed is there at its end: the first token of a prompt that is complete, and its blocks for others
// to find. A waiting request is let in when a sequence is free and KvPool has room for its prompt and its answer; those
// behind it wait too.
//
// Where this differs from vLLM: the answer's pages are reserved at once, so that nothing is ever preempted, and an
// answer's blocks are not found by the next turn of a conversation, since traces don't say what they hold.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_ENGINE_ENGINE_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_ENGINE_ENGINE_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/types/span.h"
#include "benchmarks/replay/engine/kv_pool.h"
#include "benchmarks/replay/trace.h"

namespace prefixroute::replay {

// The defaults are those of Llama 3.1 70B on a node of 8 H100: 8,000 new tokens take 276 ms, and 640 GB hold, beside
// 140 GB of weights, about 1.3 million tokens of 320 KiB.
struct EngineOptions {
  uint32_t step_tokens = 8192;  // At least max_sequences.
  uint32_t max_sequences = 256;
  double step_us = 20'000;
  double prefill_us_per_token = 32;
  double sequence_us = 50;
  uint64_t cache_tokens = 1'300'000;  // 0: no limit.
};

// What an engine is asked to do. `blocks` must stay valid until the request is done.
struct EngineRequest {
  uint32_t ticket = 0;  // The caller's own name for it.
  uint32_t input_tokens = 0;
  uint32_t output_tokens = 0;
  absl::Span<const BlockId> blocks;  // The full ones.
};

class Engine {
 public:
  struct FirstToken {
    uint32_t ticket;
    uint32_t hit_tokens;
  };
  // What became of requests in one step, in the order in which they came.
  struct StepResult {
    std::vector<FirstToken> first_tokens;
    std::vector<uint32_t> done;
  };

  Engine(const EngineOptions& options, uint32_t block_tokens);

  // Whether the whole of it fits into the memory at all.
  bool Fits(const EngineRequest& request) const;

  // A request arrives, and waits at least for the step under way. It must fit.
  void Submit(const EngineRequest& request);

  // Starts a step and returns its duration in microseconds; 0, and starts none, where there is nothing to do. No step
  // may be under way.
  int64_t StartStep();
  void FinishStep(StepResult* result);
  bool stepping() const { return stepping_; }

  // The truth that only precise rules know. Tokens of prompts that are yet to be computed, as far as the cache showed
  // when they came; requests that are not done; tokens of a prompt that would hit now.
  uint64_t pending_tokens() const { return pending_tokens_; }
  uint32_t outstanding() const { return static_cast<uint32_t>(waiting_.size()) + sequences_; }
  // Of those, the ones whose prompt is not computed.
  uint32_t waiting() const { return static_cast<uint32_t>(waiting_.size() + prefills_.size()); }
  uint32_t HitTokens(uint32_t input_tokens, absl::Span<const BlockId> blocks) const;

  // The process ends and a new one takes its place, with nothing in memory. Returns the tickets that it lost.
  std::vector<uint32_t> Restart();

 private:
  struct Waiting {
    EngineRequest request;
    uint32_t expected_tokens;  // Its part of pending_tokens_.
  };
  struct Prefill {
    EngineRequest request;
    KvPool::Holding holding;
    uint32_t hit_tokens = 0;
    uint32_t computed = 0;  // Tokens, those that hit and those of the step under way included.
    uint32_t filled = 0;    // Blocks.
  };
  struct Decode {
    uint64_t last_step;
    uint64_t order;
    uint32_t ticket;
    KvPool::Holding holding;
  };
  static bool EndsLater(const Decode& a, const Decode& b) {
    return a.last_step != b.last_step ? a.last_step > b.last_step : a.order > b.order;
  }

  // At least one token of a prompt is computed: the answer begins with what that gives.
  absl::Span<const BlockId> UsableBlocks(uint32_t input_tokens, absl::Span<const BlockId> blocks) const;
  uint64_t Pages(const EngineRequest& request) const;
  bool Admit();
  void EndPrefill(Prefill prefill, StepResult* result);

  EngineOptions options_;
  uint32_t block_tokens_;
  KvPool pool_;
  bool stepping_ = false;
  uint64_t step_ = 0;
  uint64_t order_ = 0;
  uint64_t pending_tokens_ = 0;
  uint32_t sequences_ = 0;  // Let in and not done.
  std::deque<Waiting> waiting_;
  std::vector<Prefill> prefills_;  // Of the step; only the last may be incomplete.
  std::vector<Decode> decodes_;    // A heap: the first to end on top.
};

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_ENGINE_ENGINE_H_
