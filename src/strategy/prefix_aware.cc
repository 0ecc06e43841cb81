// SPDX-License-Identifier: Apache-2.0
//
// Compiled without contraction of floating point (CMakeLists.txt), so that a cost is the same on every machine.

#include "src/strategy/prefix_aware.h"

#include <algorithm>
#include <array>

#include "src/strategy/constants.h"
#include "src/strategy/least_outstanding.h"

namespace prefixroute::internal {
namespace {

const PrefixEntries& LookUp(const PrefixKey& key, const PrefixMemory& memory, PrefixEntries& entries) {
  for (size_t i = 0; i < key.depth_count(); ++i) memory.Prefetch(key.fingerprint(i));
  for (size_t i = 0; i < key.depth_count(); ++i) entries[i] = memory.Find(key.fingerprint(i));
  return entries;
}

// Of a constant that differs for a lone router and for one of very many.
double ByReplicas(double alone, double among_many, uint32_t gateway_replicas) {
  return alone + (among_many - alone) * (1 - 1.0 / gateway_replicas);
}

NestedHomes FindHomes(const Fleet& fleet, const PrefixKey& key, const PrefixEntries& entries, uint32_t now,
                      uint32_t gateway_replicas) {
  const double instances = fleet.size();
  const double all = static_cast<double>(DecayedCount::OfAll(now)) +
                     kUnseenRequests * instances * static_cast<double>(DecayedCount::kUnit);
  const double homes_per_seen = ByReplicas(kHomesAlone, kHomesAmongMany, gateway_replicas) * instances / all;
  return NestedHomes(fleet, key, [&](size_t depth_index) {
    if (entries[depth_index] == nullptr) return size_t{1};
    return 1 + static_cast<size_t>(homes_per_seen * static_cast<double>(entries[depth_index]->SeenAt(now)));
  });
}

// Where a request isn't reserved, one in so many tells the mean work.
constexpr uint64_t kWorkTold = 8;

double Soft(double bytes) { return bytes * bytes / (bytes + kFreeBytes); }

}  // namespace

PrefixCosts::PrefixCosts(const FleetView& view, const Fleet& fleet, const State& state, uint32_t gateway_replicas,
                         PrefixEntries& entries)
    : view_(view),
      fleet_(fleet),
      now_(state.requests()),
      homes_(FindHomes(fleet, view.key(), LookUp(view.key(), state.memory(), entries), now_, gateway_replicas)),
      cache_(view.key(), entries, fleet, state, homes_, now_,
             ByReplicas(kTrustAlone, kTrustAmongMany, gateway_replicas)),
      considered_(view, fleet, state, MixBits(homes_.order() + now_)),
      bytes_(static_cast<double>(view.key().bytes())) {
  const double mean_work = considered_.MeanWork(bytes_);
  outstanding_cost_ = kOutstandingShare * mean_work;
  uncached_cost_ = 1 + considered_.MeanPending() / mean_work;
}

double PrefixCosts::Of(uint32_t instance, double expected) const {
  const double factor = fleet_.load_factors()[instance];
  const uint64_t pending = std::min(view_.pending_bytes(instance), Considered::kMostPendingBytes);
  return Cost(factor * static_cast<double>(pending), factor * view_.outstanding(instance), expected);
}

double PrefixCosts::Cost(double pending, double outstanding, double expected) const {
  return Soft(pending) + outstanding_cost_ * outstanding + uncached_cost_ * (bytes_ - expected);
}

uint32_t PrefixCosts::Cheapest() const {
  uint32_t cheapest = kNoInstance;
  double least = 0;
  const auto take_if_cheaper = [&](uint32_t i, double cost) {
    if (cheapest != kNoInstance) {
      if (cost > least) return;
      if (cost == least &&
          !Precedes(ScoreOf(view_.nodes(), homes_.order(), i), ScoreOf(view_.nodes(), homes_.order(), cheapest))) {
        return;
      }
    }
    if (!view_.eligible(i)) return;
    cheapest = i;
    least = cost;
  };
  // Those that have more than all have, and those that have just that.
  for (const ExpectedCache::Part& part : cache_) take_if_cheaper(part.instance, Of(part.instance, part.expected));
  const double everywhere = cache_.everywhere();
  std::array<double, Considered::kMax> costs;
  for (uint32_t n = 0; n < considered_.size(); ++n) {
    costs[n] = Cost(considered_.pending(n), considered_.outstanding(n), everywhere);
  }
  for (uint32_t n = 0; n < considered_.size(); ++n) take_if_cheaper(considered_.index(n), costs[n]);
  return cheapest;
}

Choice PrefixAwareStrategy::Choose(const FleetView& view) const noexcept {
  if (view.key().empty()) return ChooseLeastOutstanding(view, /*bounded=*/true, Reason::kNoPrefix);
  PrefixEntries entries;
  return Choose(view, entries);
}

Choice PrefixAwareStrategy::Choose(const FleetView& view, PrefixEntries& entries) const noexcept {
  const PrefixCosts costs = CostsOf(view, entries);
  Choice choice;
  choice.home = costs.homes().home();
  choice.instance = costs.Cheapest();
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
  PrefixEntries entries;
  return FindHomes(fleet_, view.key(), LookUp(view.key(), state_.memory(), entries), state_.requests(),
                   gateway_replicas_);
}

void PrefixAwareStrategy::Learn(const FleetView& view, const Choice& choice, const PrefixEntries& entries,
                                bool reserved, uint64_t random) const noexcept {
  const uint32_t slot = fleet_.slots()[choice.instance];
  const Holder holder = {slot, state_.CacheGeneration(slot), state_.requests()};
  PrefixMemory memory = state_.memory();
  for (size_t i = 0; i < view.key().depth_count(); ++i) {
    memory.Note(view.key().fingerprint(i), entries[i], holder, random);
  }
  // Other bits than those that the entries go by.
  state_.NoteWork(slot, choice.uncached_bytes, reserved || (random >> 32) % kWorkTold == 0);
}

}  // namespace prefixroute::internal
