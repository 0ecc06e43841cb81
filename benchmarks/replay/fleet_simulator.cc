// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/fleet_simulator.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <numeric>
#include <queue>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "benchmarks/replay/lru_cache.h"
#include "benchmarks/replay/split_mix.h"

namespace prefixroute::replay {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// Random bits that are set: a rule may take 0 for "none".
uint64_t NextRandom(SplitMix& random) {
  uint64_t bits;
  do {
    bits = random.Next();
  } while (bits == 0);
  return bits;
}

class FleetSimulator {
 public:
  FleetSimulator(const Trace& trace, const FleetOptions& options) : trace_(trace), options_(options) {
    for (uint32_t i = 0; i < options.instances; ++i) AddEngine();
  }

  absl::StatusOr<FleetResult> Run(const RuleMaker& make_rule, std::string_view task, Progress* progress);

 private:
  struct InFlight {
    uint32_t request;
    uint32_t gateway;
    uint32_t instance;
    bool counted;
  };
  struct StepEnd {
    int64_t at_us;
    uint32_t instance;
    uint32_t starts;  // Of the instance: a restart makes the step void.
    bool operator>(const StepEnd& other) const {
      return at_us != other.at_us ? at_us > other.at_us : instance > other.instance;
    }
  };

  void AddEngine();
  absl::Status MakeGateways(const RuleMaker& make_rule);
  absl::Status TellMembership();
  absl::Status Change(const ScaleEvent& event);
  absl::Status Arrive(uint32_t index);
  void FinishStepsUntil(int64_t now_us);
  void ReportLoads();
  void StartStep(uint32_t instance, int64_t now_us);
  void End(uint32_t slot, int64_t now_us, bool failed);
  Bucket& BucketOf(int64_t arrival_us);
  void TrackMove(absl::Span<const BlockId> blocks, uint32_t instance, Bucket* bucket);

  const Trace& trace_;
  const FleetOptions& options_;
  std::deque<Engine> engines_;        // By number, as all that follows.
  std::vector<uint32_t> starts_;      // How often each was started.
  std::vector<uint32_t> membership_;  // Those that take requests.
  std::vector<std::unique_ptr<Rule>> gateways_;
  std::priority_queue<StepEnd, std::vector<StepEnd>, std::greater<StepEnd>> step_ends_;
  std::vector<InFlight> in_flight_;  // By slot.
  std::vector<uint32_t> free_slots_;
  absl::flat_hash_map<BlockId, uint32_t> last_instance_;
  Engine::StepResult step_result_;
  SplitMix random_{0};
  int64_t last_arrival_us_ = 0;
  FleetResult result_;
};

void FleetSimulator::AddEngine() {
  membership_.push_back(static_cast<uint32_t>(engines_.size()));
  engines_.emplace_back(options_.engine, trace_.block_tokens);
  starts_.push_back(0);
  result_.requests_by_instance.push_back(0);
}

absl::Status FleetSimulator::MakeGateways(const RuleMaker& make_rule) {
  const auto adds = std::count_if(options_.events.begin(), options_.events.end(),
                                  [](const ScaleEvent& event) { return event.kind == ScaleEvent::Kind::kAdd; });
  const RuleContext context = {
      engines_,
      trace_.block_tokens,
      options_.engine.cache_tokens == 0 ? UINT64_MAX : options_.engine.cache_tokens / trace_.block_tokens,
      options_.max_outstanding,
      options_.instances + static_cast<uint32_t>(adds),
      options_.gateways};
  for (uint32_t i = 0; i < options_.gateways; ++i) gateways_.push_back(make_rule(context));
  return TellMembership();
}

absl::Status FleetSimulator::TellMembership() {
  for (const std::unique_ptr<Rule>& gateway : gateways_) {
    if (absl::Status status = gateway->SetInstances(membership_); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status FleetSimulator::Change(const ScaleEvent& event) {
  switch (event.kind) {
    case ScaleEvent::Kind::kAdd:
      AddEngine();
      return TellMembership();
    case ScaleEvent::Kind::kRemove:
      membership_.erase(std::remove(membership_.begin(), membership_.end(), event.instance), membership_.end());
      return TellMembership();
    case ScaleEvent::Kind::kRestart:
      ++starts_[event.instance];
      for (const uint32_t slot : engines_[event.instance].Restart()) End(slot, event.at_us, true);
      for (const std::unique_ptr<Rule>& gateway : gateways_) gateway->CacheLost(event.instance);
      break;
  }
  return absl::OkStatus();
}

void FleetSimulator::ReportLoads() {
  for (const uint32_t instance : membership_) {
    const EngineLoad load = {engines_[instance].outstanding(), engines_[instance].waiting()};
    for (const std::unique_ptr<Rule>& gateway : gateways_) gateway->ReportLoad(instance, load);
  }
}

Bucket& FleetSimulator::BucketOf(int64_t arrival_us) {
  const auto bucket = static_cast<size_t>(arrival_us / options_.bucket_us);
  if (result_.series.size() <= bucket) result_.series.resize(bucket + 1);
  return result_.series[bucket];
}

void FleetSimulator::TrackMove(absl::Span<const BlockId> blocks, uint32_t instance, Bucket* bucket) {
  size_t seen = 0;
  uint32_t before = UINT32_MAX;
  for (const BlockId block : blocks) {
    const auto [last, is_new] = last_instance_.try_emplace(block, instance);
    if (is_new) continue;
    ++seen;
    before = last->second;
    last->second = instance;
  }
  if (2 * seen <= blocks.size()) return;
  ++bucket->known;
  bucket->moved += before != instance ? 1 : 0;
}

absl::Status FleetSimulator::Arrive(uint32_t index) {
  const TraceRequest& request = trace_.requests[index];
  const bool counted = request.arrival_us >= options_.warm_up_us;
  Bucket& bucket = BucketOf(request.arrival_us);
  ++bucket.requests;
  if (counted) result_.outstanding_seen += in_flight_.size() - free_slots_.size();
  const auto gateway = static_cast<uint32_t>(random_.Below(options_.gateways));
  const uint64_t random = NextRandom(random_);
  EngineRequest submitted = {0, request.input_tokens, request.output_tokens, trace_.FullBlocks(request)};
  if (!engines_[0].Fits(submitted)) {
    result_.refused += counted ? 1 : 0;
    return absl::OkStatus();
  }
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<uint32_t>(in_flight_.size()));
    in_flight_.emplace_back();
  }
  const uint32_t slot = free_slots_.back();
  const absl::StatusOr<Placement> placement = gateways_[gateway]->Place(slot, {trace_, request, random});
  if (absl::IsResourceExhausted(placement.status())) {
    result_.refused += counted ? 1 : 0;
    return absl::OkStatus();
  }
  if (!placement.ok()) return placement.status();
  free_slots_.pop_back();
  const uint32_t instance = placement->instance;
  in_flight_[slot] = {index, gateway, instance, counted};
  if (!options_.events.empty()) TrackMove(submitted.blocks, instance, &bucket);
  if (counted) {
    ++result_.served;
    ++result_.requests_by_instance[instance];
    result_.diverted += placement->diverted ? 1 : 0;
  }
  submitted.ticket = slot;
  engines_[instance].Submit(submitted);
  if (!engines_[instance].stepping()) StartStep(instance, request.arrival_us);
  return absl::OkStatus();
}

void FleetSimulator::StartStep(uint32_t instance, int64_t now_us) {
  const int64_t us = engines_[instance].StartStep();
  if (us > 0) step_ends_.push({now_us + us, instance, starts_[instance]});
}

void FleetSimulator::FinishStepsUntil(int64_t now_us) {
  while (!step_ends_.empty() && step_ends_.top().at_us <= now_us) {
    const StepEnd step = step_ends_.top();
    step_ends_.pop();
    if (step.starts != starts_[step.instance]) continue;
    engines_[step.instance].FinishStep(&step_result_);
    for (const Engine::FirstToken& first : step_result_.first_tokens) {
      const InFlight& flight = in_flight_[first.ticket];
      gateways_[flight.gateway]->FirstToken(first.ticket);
      const TraceRequest& request = trace_.requests[flight.request];
      const int64_t ttft_us = step.at_us - request.arrival_us;
      Bucket& bucket = BucketOf(request.arrival_us);
      ++bucket.first_tokens;
      bucket.ttft_us += ttft_us;
      bucket.input_tokens += request.input_tokens;
      bucket.hit_tokens += first.hit_tokens;
      if (!flight.counted) continue;
      result_.ttft_us.push_back(ttft_us);
      result_.goodput += ttft_us <= options_.ttft_limit_us ? 1 : 0;
      result_.input_tokens += request.input_tokens;
      result_.hit_tokens += first.hit_tokens;
    }
    for (const uint32_t slot : step_result_.done) End(slot, step.at_us, false);
    StartStep(step.instance, step.at_us);
  }
}

void FleetSimulator::End(uint32_t slot, int64_t now_us, bool failed) {
  const InFlight& flight = in_flight_[slot];
  gateways_[flight.gateway]->Finish(slot);
  free_slots_.push_back(slot);
  if (failed) {
    result_.failed += flight.counted ? 1 : 0;
  } else if (now_us >= options_.warm_up_us && now_us <= last_arrival_us_) {
    ++result_.finished;
  }
}

absl::StatusOr<FleetResult> FleetSimulator::Run(const RuleMaker& make_rule, std::string_view task, Progress* progress) {
  random_ = SplitMix(options_.seed);
  if (!trace_.requests.empty()) last_arrival_us_ = trace_.requests.back().arrival_us;
  result_.window_us = std::max<int64_t>(0, last_arrival_us_ - options_.warm_up_us);
  if (absl::Status made = MakeGateways(make_rule); !made.ok()) return made;
  size_t next_event = 0;
  int64_t next_report_us = options_.report_us;
  for (uint32_t i = 0; i < trace_.requests.size(); ++i) {
    progress->Update(task, i, trace_.requests.size());
    const int64_t now_us = trace_.requests[i].arrival_us;
    for (; next_event < options_.events.size() && options_.events[next_event].at_us <= now_us; ++next_event) {
      FinishStepsUntil(options_.events[next_event].at_us);
      if (absl::Status changed = Change(options_.events[next_event]); !changed.ok()) return changed;
    }
    for (; options_.report_us != 0 && next_report_us <= now_us; next_report_us += options_.report_us) {
      FinishStepsUntil(next_report_us);
      ReportLoads();
    }
    FinishStepsUntil(now_us);
    if (absl::Status arrived = Arrive(i); !arrived.ok()) return arrived;
  }
  FinishStepsUntil(kNever);
  for (const auto& gateway : gateways_) {
    result_.routing.decisions += gateway->Cost().decisions;
    result_.routing.nanoseconds += gateway->Cost().nanoseconds;
  }
  std::sort(result_.ttft_us.begin(), result_.ttft_us.end());
  return std::move(result_);
}

}  // namespace

int64_t FleetResult::TtftPercentile(double share) const {
  if (ttft_us.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(ttft_us.size()));
  return ttft_us[static_cast<size_t>(std::clamp(rank, 1.0, static_cast<double>(ttft_us.size()))) - 1];
}

double FleetResult::MeanTtftUs() const {
  if (ttft_us.empty()) return 0;
  return std::accumulate(ttft_us.begin(), ttft_us.end(), 0.0) / static_cast<double>(ttft_us.size());
}

absl::StatusOr<FleetResult> SimulateFleet(const Trace& trace, const FleetOptions& options, const RuleMaker& make_rule,
                                          std::string_view task, Progress* progress) {
  return FleetSimulator(trace, options).Run(make_rule, task, progress);
}

uint64_t OneCacheHitTokens(const Trace& trace, int64_t warm_up_us) {
  LruCache cache;
  uint64_t hits = 0;
  for (const TraceRequest& request : trace.requests) {
    const absl::Span<const BlockId> blocks = trace.FullBlocks(request);
    // As in an engine, the last token of a prompt is computed at any rate.
    const size_t usable = request.input_tokens == 0 ? 0 : (request.input_tokens - 1) / trace.block_tokens;
    const size_t found = cache.LeadingHits(blocks.first(std::min(blocks.size(), usable)));
    if (request.arrival_us >= warm_up_us) hits += found;
    cache.Use(blocks);
  }
  return hits * trace.block_tokens;
}

}  // namespace prefixroute::replay
