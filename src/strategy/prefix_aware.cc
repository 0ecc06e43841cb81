// SPDX-License-Identifier: Apache-2.0
//
// Compiled without contraction of floating point (CMakeLists.txt), so that a cost is the same on every machine.

#include "src/strategy/prefix_aware.h"

#include <algorithm>

#include "src/strategy/constants.h"
#include "src/strategy/least_outstanding.h"

namespace prefixroute::internal {
namespace {

PrefixEntries LookUp(const PrefixKey& key, const PrefixMemory& memory) {
  PrefixEntries entries;
  for (size_t i = 0; i < key.depth_count(); ++i) memory.Prefetch(key.fingerprint(i));
  for (size_t i = 0; i < key.depth_count(); ++i) entries[i] = memory.Find(key.fingerprint(i));
  return entries;
}

NestedHomes FindHomes(const FleetView& view, const PrefixEntries& entries, uint32_t now) {
  const double instances = view.size();
  const double all = static_cast<double>(DecayedCount::OfAll(now)) +
                     kUnseenRequests * instances * static_cast<double>(DecayedCount::kUnit);
  return NestedHomes(view.nodes(), view.key(), [&](size_t depth_index) {
    if (entries[depth_index] == nullptr) return size_t{1};
    const double share = static_cast<double>(entries[depth_index]->SeenAt(now)) / all;
    return 1 + static_cast<size_t>(share * instances * kHomesPerShare);
  });
}

double OtherReplicas(uint32_t gateway_replicas) {
  return kHomeAlone + (kHomeAmongMany - kHomeAlone) * (1 - 1.0 / gateway_replicas);
}

double Soft(double bytes) { return bytes == 0 ? 0 : bytes * bytes / (bytes + kFreeBytes); }

}  // namespace

PrefixCosts::PrefixCosts(const FleetView& view, const Fleet& fleet, const State& state, uint32_t gateway_replicas)
    : view_(view),
      fleet_(fleet),
      now_(state.requests()),
      entries_(LookUp(view.key(), state.memory())),
      homes_(FindHomes(view, entries_, now_)),
      cache_(view.key(), entries_, fleet, state, homes_, now_, OtherReplicas(gateway_replicas)),
      bytes_(static_cast<double>(view.key().bytes())) {
  Uint128 pending = 0;
  uint64_t work = 0;
  uint32_t workers = 0;
  uint32_t eligible = 0;
  for (uint32_t i = 0; i < view.size(); ++i) {
    if (!view.eligible(i)) continue;
    ++eligible;
    pending += view.pending_bytes(i);
    const uint64_t mean = state.MeanWork(fleet.slots()[i]);
    work += mean;
    workers += mean != 0 ? 1 : 0;
  }
  mean_work_ = workers == 0 ? bytes_ : std::max(1.0, static_cast<double>(work) / workers);
  waiting_ = eligible == 0 ? 0 : static_cast<double>(pending) / eligible / mean_work_;
}

double PrefixCosts::Of(uint32_t instance, double expected) const {
  const double factor = fleet_.load_factors()[instance];
  return Soft(factor * static_cast<double>(view_.pending_bytes(instance))) +
         kOutstandingShare * mean_work_ * factor * view_.outstanding(instance) + (1 + waiting_) * (bytes_ - expected);
}

Choice PrefixAwareStrategy::Choose(const FleetView& view) const noexcept {
  if (view.key().empty()) return ChooseLeastOutstanding(view, /*bounded=*/true, Reason::kNoPrefix);

  const PrefixCosts costs = CostsOf(view);
  Choice choice;
  double least = 0;
  const auto consider = [&](uint32_t i, double expected) {
    const double cost = costs.Of(i, expected);
    if (choice.instance != kNoInstance) {
      if (cost > least) return;
      const uint64_t order = costs.homes().order();
      if (cost == least && !Precedes(ScoreOf(view.nodes(), order, i), ScoreOf(view.nodes(), order, choice.instance))) {
        return;
      }
    }
    if (!view.eligible(i)) return;
    choice.instance = i;
    least = cost;
  };
  // As if nobody had more than all have, then those that do: more in the cache is never dearer.
  for (uint32_t i = 0; i < view.size(); ++i) consider(i, costs.cache().everywhere());
  for (const ExpectedCache::Part& part : costs.cache()) consider(part.instance, part.expected);

  choice.home = costs.homes().home();
  if (choice.instance == kNoInstance) return choice;
  choice.rank = costs.homes().RankOf(choice.instance);
  costs.Estimate(choice);
  if (choice.instance == choice.home) {
    choice.reason = Reason::kHome;
  } else if (!view.available(choice.home)) {
    choice.reason = Reason::kDivertedUnavailable;
  } else if (costs.cache().Of(choice.instance).expected > costs.cache().Of(choice.home).expected) {
    choice.reason = Reason::kHolder;
  } else {
    choice.reason = Reason::kDivertedByLoad;
  }
  return choice;
}

NestedHomes PrefixAwareStrategy::HomesOf(const FleetView& view) const {
  return FindHomes(view, LookUp(view.key(), state_.memory()), state_.requests());
}

void PrefixAwareStrategy::Learn(const FleetView& view, const Choice& choice) const noexcept {
  const uint32_t slot = fleet_.slots()[choice.instance];
  const Holder holder = {slot, state_.CacheGeneration(slot), state_.requests()};
  PrefixMemory memory = state_.memory();
  for (size_t i = 0; i < view.key().depth_count(); ++i) memory.Note(view.key().fingerprint(i), holder);
  state_.NoteWork(slot, choice.uncached_bytes);
}

}  // namespace prefixroute::internal
