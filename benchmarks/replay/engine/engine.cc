// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/engine/engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace prefixroute::replay {

Engine::Engine(const EngineOptions& options, uint32_t block_tokens)
    : options_(options),
      block_tokens_(block_tokens),
      pool_(options.cache_tokens == 0 ? UINT64_MAX : options.cache_tokens / block_tokens) {}

absl::Span<const BlockId> Engine::UsableBlocks(uint32_t input_tokens, absl::Span<const BlockId> blocks) const {
  return blocks.first(std::min<size_t>(blocks.size(), input_tokens == 0 ? 0 : (input_tokens - 1) / block_tokens_));
}

uint64_t Engine::Pages(const EngineRequest& request) const {
  const uint64_t tokens = uint64_t{std::max(request.input_tokens, 1U)} + request.output_tokens;
  return (tokens + block_tokens_ - 1) / block_tokens_;
}

bool Engine::Fits(const EngineRequest& request) const { return Pages(request) <= pool_.pages(); }

uint32_t Engine::HitTokens(uint32_t input_tokens, absl::Span<const BlockId> blocks) const {
  return static_cast<uint32_t>(pool_.LeadingHits(UsableBlocks(input_tokens, blocks))) * block_tokens_;
}

void Engine::Submit(const EngineRequest& request) {
  // An empty prompt is computed like one of a token, the one that engines put before every prompt.
  EngineRequest submitted = request;
  submitted.input_tokens = std::max(request.input_tokens, 1U);
  const uint32_t expected = submitted.input_tokens - HitTokens(submitted.input_tokens, submitted.blocks);
  pending_tokens_ += expected;
  waiting_.push_back({submitted, expected});
}

// The next waiting request becomes the last of prefills_, unless there is none or no room.
bool Engine::Admit() {
  if (waiting_.empty() || sequences_ == options_.max_sequences) return false;
  const Waiting& next = waiting_.front();
  Prefill prefill;
  prefill.request = next.request;
  const absl::Span<const BlockId> usable = UsableBlocks(next.request.input_tokens, next.request.blocks);
  if (!pool_.Reserve(usable, Pages(next.request), &prefill.holding)) return false;
  prefill.filled = static_cast<uint32_t>(prefill.holding.blocks.size());
  prefill.hit_tokens = prefill.filled * block_tokens_;
  prefill.computed = prefill.hit_tokens;
  pending_tokens_ += next.request.input_tokens - prefill.hit_tokens;
  pending_tokens_ -= next.expected_tokens;
  ++sequences_;
  prefills_.push_back(std::move(prefill));
  waiting_.pop_front();
  return true;
}

int64_t Engine::StartStep() {
  uint32_t budget = options_.step_tokens - static_cast<uint32_t>(decodes_.size());
  uint64_t prompt_tokens = 0;
  // Of the prefills only the one that the last step left incomplete is there.
  for (size_t i = 0; budget > 0 && (i < prefills_.size() || Admit()); ++i) {
    Prefill& prefill = prefills_[i];
    const uint32_t chunk = std::min(budget, prefill.request.input_tokens - prefill.computed);
    prefill.computed += chunk;
    prompt_tokens += chunk;
    budget -= chunk;
  }
  if (prefills_.empty() && decodes_.empty()) return 0;
  stepping_ = true;
  pending_tokens_ -= prompt_tokens;
  const auto sequences = static_cast<double>(decodes_.size() + prefills_.size());
  const double us = options_.step_us + options_.prefill_us_per_token * static_cast<double>(prompt_tokens) +
                    options_.sequence_us * sequences;
  return std::max<int64_t>(1, std::llround(us));
}

void Engine::EndPrefill(Prefill prefill, StepResult* result) {
  const EngineRequest& request = prefill.request;
  result->first_tokens.push_back({request.ticket, prefill.hit_tokens});
  if (request.output_tokens <= 1) {
    pool_.Release(&prefill.holding);
    --sequences_;
    result->done.push_back(request.ticket);
    return;
  }
  decodes_.push_back({step_ + request.output_tokens - 1, order_++, request.ticket, std::move(prefill.holding)});
  std::push_heap(decodes_.begin(), decodes_.end(), EndsLater);
}

void Engine::FinishStep(StepResult* result) {
  result->first_tokens.clear();
  result->done.clear();
  stepping_ = false;
  ++step_;
  while (!decodes_.empty() && decodes_.front().last_step <= step_) {
    std::pop_heap(decodes_.begin(), decodes_.end(), EndsLater);
    pool_.Release(&decodes_.back().holding);
    result->done.push_back(decodes_.back().ticket);
    decodes_.pop_back();
    --sequences_;
  }
  std::vector<Prefill> prefills = std::move(prefills_);
  prefills_.clear();
  for (Prefill& prefill : prefills) {
    const EngineRequest& request = prefill.request;
    while (prefill.filled < request.blocks.size() && (prefill.filled + 1) * block_tokens_ <= prefill.computed) {
      pool_.Fill(request.blocks[prefill.filled++], &prefill.holding);
    }
    if (prefill.computed == request.input_tokens) {
      EndPrefill(std::move(prefill), result);
    } else {
      prefills_.push_back(std::move(prefill));
    }
  }
}

std::vector<uint32_t> Engine::Restart() {
  std::vector<uint32_t> lost;
  for (const Decode& decode : decodes_) lost.push_back(decode.ticket);
  for (const Prefill& prefill : prefills_) lost.push_back(prefill.request.ticket);
  for (const Waiting& waiting : waiting_) lost.push_back(waiting.request.ticket);
  *this = Engine(options_, block_tokens_);
  return lost;
}

}  // namespace prefixroute::replay
