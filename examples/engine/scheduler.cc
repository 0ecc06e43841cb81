// SPDX-License-Identifier: Apache-2.0

#include "scheduler.h"

#include <algorithm>
#include <utility>

namespace engine {

Scheduler::Scheduler(const SchedulerOptions& options)
    : options_(options), cache_(options.cache_tokens / options.block_tokens) {}

std::shared_ptr<Sequence> Scheduler::MakeSequence(std::string_view prompt, uint32_t max_tokens) const {
  auto sequence = std::make_shared<Sequence>();
  sequence->prompt_tokens = static_cast<uint32_t>(std::max<size_t>(1, prompt.size() / kBytesPerToken));
  sequence->max_tokens = max_tokens;
  sequence->blocks = ChainBlocks(prompt, options_.block_tokens * kBytesPerToken);
  return sequence;
}

uint64_t Scheduler::Blocks(const Sequence& sequence) const {
  const uint64_t tokens = uint64_t{sequence.prompt_tokens} + sequence.max_tokens;
  return (tokens + options_.block_tokens - 1) / options_.block_tokens;
}

void Scheduler::Submit(std::shared_ptr<Sequence> sequence) {
  waiting_.push_back(std::move(sequence));
  totals_.peak = std::max(totals_.peak, waiting_.size() + running_.size());
}

void Scheduler::Cancel(const Sequence* sequence) {
  const auto is_it = [sequence](const std::shared_ptr<Sequence>& other) { return other.get() == sequence; };
  const auto waiting = std::find_if(waiting_.begin(), waiting_.end(), is_it);
  const auto running = std::find_if(running_.begin(), running_.end(), is_it);
  if (waiting != waiting_.end()) {
    waiting_.erase(waiting);
  } else if (running != running_.end()) {
    cache_.Release(&(*running)->holding);
    running_.erase(running);
  } else {
    return;
  }
  ++totals_.cancelled;
}

bool Scheduler::Admit() {
  if (waiting_.empty() || running_.size() == options_.max_sequences) return false;
  Sequence& next = *waiting_.front();
  // The answer begins with what the prompt's last token gives, so that one is computed at any rate.
  const size_t usable = std::min<size_t>(next.blocks.size(), (next.prompt_tokens - 1) / options_.block_tokens);
  if (!cache_.Reserve(next.blocks, usable, Blocks(next), &next.holding)) return false;
  next.filled = next.holding.blocks.size();
  next.cached_tokens = static_cast<uint32_t>(next.filled * options_.block_tokens);
  next.computed = next.cached_tokens;
  totals_.prompt_tokens += next.prompt_tokens;
  totals_.cached_tokens += next.cached_tokens;
  running_.push_back(std::move(waiting_.front()));
  waiting_.pop_front();
  return true;
}

double Scheduler::StartStep() {
  const auto decodes = [](const std::shared_ptr<Sequence>& sequence) { return Decodes(*sequence); };
  auto budget = static_cast<uint32_t>(options_.step_tokens - std::count_if(running_.begin(), running_.end(), decodes));
  uint32_t prompt_tokens = 0;
  for (size_t i = 0; budget > 0 && (i < running_.size() || Admit()); ++i) {
    Sequence& sequence = *running_[i];
    const uint32_t piece = std::min(budget, sequence.prompt_tokens - sequence.computed);
    sequence.computed += piece;
    prompt_tokens += piece;
    budget -= piece;
  }
  if (running_.empty()) return 0;
  return std::max(1.0, options_.step_us + options_.prefill_us_per_token * prompt_tokens +
                           options_.sequence_us * static_cast<double>(running_.size()));
}

std::vector<std::shared_ptr<Sequence>> Scheduler::FinishStep() {
  std::vector<std::shared_ptr<Sequence>> progressed;
  for (const std::shared_ptr<Sequence>& sequence : running_) {
    for (; sequence->filled < sequence->blocks.size() &&
           (sequence->filled + 1) * options_.block_tokens <= sequence->computed;
         ++sequence->filled) {
      cache_.Fill(sequence->blocks[sequence->filled], &sequence->holding);
    }
    if (sequence->computed < sequence->prompt_tokens) continue;
    ++sequence->answered;
    ++totals_.answer_tokens;
    progressed.push_back(sequence);
    if (!sequence->done()) continue;
    cache_.Release(&sequence->holding);
    ++totals_.done;
  }
  running_.erase(
      std::remove_if(running_.begin(), running_.end(), [](const auto& sequence) { return sequence->done(); }),
      running_.end());
  return progressed;
}

}  // namespace engine
