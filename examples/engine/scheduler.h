// SPDX-License-Identifier: Apache-2.0
//
// What an inference engine does with its time, in steps, as vLLM schedules them. A step gives a token to every sequence
// that decodes, and what is left of its budget to prompts, first come first served, a long one in pieces. It takes
//
//   step_us + prefill_us_per_token * prompt tokens computed + sequence_us * sequences
//
// and what it computed is there at its end. The first tokens of a prompt that are in the cache need no computing. A
// waiting sequence is let in when one of max_sequences is free and the cache has room for prompt and answer.
//
// It knows no clock: the caller waits between StartStep() and FinishStep(). One thread.

#ifndef PREFIXROUTE_EXAMPLES_ENGINE_SCHEDULER_H_
#define PREFIXROUTE_EXAMPLES_ENGINE_SCHEDULER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "block_cache.h"

namespace engine {

inline constexpr size_t kBytesPerToken = 4;

// The defaults of the times are those of Llama 3.1 70B on a node of 8 H100, of which that is the cache, too.
struct SchedulerOptions {
  uint32_t block_tokens = 16;
  uint64_t cache_tokens = 1'300'000;
  uint32_t step_tokens = 8192;  // At least max_sequences.
  uint32_t max_sequences = 256;
  double step_us = 20'000;
  double prefill_us_per_token = 32;
  double sequence_us = 50;
};

// A request on its way through the engine.
struct Sequence {
  uint32_t prompt_tokens = 0;
  uint32_t max_tokens = 0;
  std::vector<BlockId> blocks;
  std::function<void()> on_progress;  // There are more tokens of the answer.

  uint32_t cached_tokens = 0;  // Of the prompt; known with the first token.
  uint32_t answered = 0;       // Tokens of the answer that are there.
  bool done() const { return answered == max_tokens; }

  // The scheduler's own.
  uint32_t computed = 0;  // Tokens of the prompt, those of the step under way included.
  size_t filled = 0;      // Blocks.
  BlockCache::Holding holding;
};

class Scheduler {
 public:
  // In tokens and requests, since the start.
  struct Totals {
    uint64_t prompt_tokens = 0;
    uint64_t cached_tokens = 0;
    uint64_t answer_tokens = 0;
    uint64_t done = 0;
    uint64_t cancelled = 0;
    size_t peak = 0;  // Requests at a time.
  };

  explicit Scheduler(const SchedulerOptions& options);

  std::shared_ptr<Sequence> MakeSequence(std::string_view prompt, uint32_t max_tokens) const;
  // Whether it has room in the cache at all.
  bool Fits(const Sequence& sequence) const { return Blocks(sequence) <= cache_.capacity(); }

  // It must fit.
  void Submit(std::shared_ptr<Sequence> sequence);
  // Frees what it has, whatever has become of it.
  void Cancel(const Sequence* sequence);

  // Starts a step and returns its duration in microseconds; 0, and starts none, where there is nothing to do.
  double StartStep();
  // Ends it, and returns the sequences of which there are more tokens.
  std::vector<std::shared_ptr<Sequence>> FinishStep();

  size_t running() const { return running_.size(); }
  size_t waiting() const { return waiting_.size(); }
  double cache_usage() const { return cache_.Usage(); }
  const Totals& totals() const { return totals_; }

 private:
  static bool Decodes(const Sequence& sequence) { return sequence.answered > 0; }
  uint64_t Blocks(const Sequence& sequence) const;
  bool Admit();

  SchedulerOptions options_;
  BlockCache cache_;
  std::deque<std::shared_ptr<Sequence>> waiting_;
  std::vector<std::shared_ptr<Sequence>> running_;  // In the order in which they came.
  Totals totals_;
};

}  // namespace engine

#endif  // PREFIXROUTE_EXAMPLES_ENGINE_SCHEDULER_H_
