// SPDX-License-Identifier: Apache-2.0

#include "prefixroute/router.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "src/base/absl_compat.h"
#include "src/router/exclusions.h"
#include "src/router/random.h"
#include "src/router/read_gate.h"
#include "src/router/snapshot.h"
#include "src/router/tally.h"
#include "src/router/validate.h"
#include "src/state/state.h"
#include "src/strategy/fleet_view_builder.h"
#include "src/strategy/least_outstanding.h"

namespace prefixroute {

using internal::Exclusions;
using internal::Fleet;
using internal::FleetViewBuilder;
using internal::ReadGate;
using internal::Snapshot;
using internal::State;

namespace {

// A lost race means that another thread won; after so many only the hard bound counts, so that no strategy can keep a
// caller in the loop.
constexpr int kMaxLostRaces = 1000;

// Made once: a refusal under overload must not allocate either.
const absl::Status& Unavailable() {
  static const auto* status = new absl::Status(absl::StatusCode::kUnavailable,
                                               "no instance is available: none there, or all draining, excluded or of "
                                               "weight 0");
  return *status;
}
const absl::Status& Exhausted() {
  static const auto* status =
      new absl::Status(absl::StatusCode::kResourceExhausted, "every available instance is at its bound");
  return *status;
}

bool AnyAvailable(const FleetView& fleet) {
  for (uint32_t i = 0; i < fleet.size(); ++i) {
    if (fleet.available(i)) return true;
  }
  return false;
}

absl::Status BadChoice(uint32_t instance) {
  return absl::InternalError(absl::StrCat("the strategy chose instance ", instance, ", which may not be chosen"));
}

absl::Status BadReason(Reason reason) {
  return absl::InternalError(absl::StrCat("the strategy gave reason ", static_cast<int>(reason), ", which is none"));
}

uint64_t RandomOf(const Request& request) { return request.random != 0 ? request.random : internal::NextRandom(); }

absl::Status CheckRequest(const Request& request, const Fleet& fleet, Exclusions& exclusions) {
  if (request.strategy.has_value()) {
    if (absl::Status status = internal::CheckStrategy(*request.strategy); !status.ok()) return status;
  }
  return exclusions.Mark(fleet, request);
}

absl::Status CheckLoads(absl::Span<const Load> loads, const Fleet& fleet) {
  if (loads.size() == fleet.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("loads has ", loads.size(), " elements, but there are ", fleet.size(), " instances"));
}

absl::Status NoInstance(std::string_view id) {
  return absl::NotFoundError(
      absl::StrCat("id is \"", absl::CHexEscape(internal::ToAbsl(id)), "\", which is no instance"));
}

// Keeps the counts that open leases will still give back to, and lets those go whose leases have ended. Shared memory
// may be gone by then: what is kept of it is just a handle, for good.
void Keep(std::unique_ptr<State> state) {
  static auto* mutex = new std::mutex;
  static auto* kept = new std::vector<std::unique_ptr<State>>;
  std::lock_guard<std::mutex> lock(*mutex);
  if (state != nullptr) kept->push_back(std::move(state));
  const auto ended = [](const std::unique_ptr<State>& other) {
    return other->on_heap() && other->OwnOutstanding() == 0;
  };
  kept->erase(std::remove_if(kept->begin(), kept->end(), ended), kept->end());
}

}  // namespace

struct Router::Impl {
  Impl(SharedState owner, bool is_shared, RouterOptions options)
      : shared_state(std::move(owner)),
        shared(is_shared),
        state(*shared_state.state_),
        snapshot(new Snapshot(std::make_shared<const Fleet>(absl::Span<const Instance>(), std::vector<uint8_t>(),
                                                            std::vector<uint32_t>()),
                              std::move(options), state)) {}

  ~Impl() {
    delete snapshot.load();
    Keep(state.OwnOutstanding() != 0 ? std::move(shared_state.state_) : nullptr);
  }

  // Writers hold `mutex`. Returns the old snapshot when nobody decides by it any more. It must outlive the lock: with
  // it may go a user's strategy, whose destructor may call the router.
  std::unique_ptr<const Snapshot> Publish(std::shared_ptr<const Fleet> fleet, RouterOptions options) {
    const Snapshot* old = snapshot.exchange(new Snapshot(std::move(fleet), std::move(options), state));
    gate.WaitForReaders();
    return std::unique_ptr<const Snapshot>(old);
  }

  // Calls `change` with the slot of the instance of that id, which no change of membership takes away meanwhile.
  template <typename Change>
  absl::Status WithSlot(std::string_view id, Change change) {
    ReadGate::Reader reader(gate);
    const Fleet& fleet = snapshot.load()->fleet();
    const uint32_t index = fleet.Find(id);
    if (index == kNoInstance) return NoInstance(id);
    change(fleet.slots()[index]);
    return absl::OkStatus();
  }

  absl::Status Refuse(const FleetView& fleet, uint32_t stripe) {
    if (AnyAvailable(fleet)) {
      tally.AddExhausted(stripe);
      return Exhausted();
    }
    tally.AddUnavailable(stripe);
    return Unavailable();
  }

  // Decides, and makes sure by reserve(instance, hard_bound, limit): true once it is done. `limit` is Choice's;
  // UINT32_MAX is none, of both. `reserves`: it writes a count that other threads write too, so that a race may be
  // lost.
  template <typename Reserve>
  absl::StatusOr<Decision> Decide(const Snapshot& current, const RoutingStrategy& strategy, const FleetView& fleet,
                                  uint32_t stripe, bool reserves, Reserve reserve) {
    const internal::PrefixAwareStrategy* learner = fleet.key().empty() ? nullptr : current.Learner(strategy);
    internal::PrefixEntries entries;
    const auto decided = [&](const Choice& choice) {
      tally.AddDecision(stripe, choice.reason);
      if (learner != nullptr) {
        const uint64_t learned = tally.AddLearned(stripe);
        learner->Learn(fleet, choice, entries, reserves, MixBits(learned * internal::kStripes + stripe + 1));
        if (const uint32_t count = internal::Tally::ToTell(learned); count != 0) state.CountRequests(count);
      }
      Decision decision{choice.instance, choice.home, choice.rank, choice.reason};
      decision.prefix_bytes = learner != nullptr ? fleet.key().bytes() : 0;
      decision.matched_bytes = choice.matched_bytes;
      decision.uncached_bytes = choice.uncached_bytes;
      return decision;
    };
    for (int lost_races = 0;; ++lost_races) {
      const bool last_try = lost_races == (reserves ? kMaxLostRaces : 0);
      const Choice choice = learner != nullptr ? learner->Choose(fleet, entries) : strategy.Choose(fleet);
      if (choice.instance != kNoInstance) {
        if (choice.instance >= fleet.size() || !fleet.available(choice.instance)) return BadChoice(choice.instance);
        if (static_cast<size_t>(choice.reason) >= kReasonCount) return BadReason(choice.reason);
        const uint32_t hard_bound = fleet.max_outstanding(choice.instance);
        if (reserve(choice.instance, hard_bound, last_try ? UINT32_MAX : choice.limit)) return decided(choice);
        if (!last_try) continue;
      }
      if (!current.options().fail_open) return Refuse(fleet, stripe);
      Choice open = internal::ChooseLeastOutstanding(fleet, /*bounded=*/false, Reason::kFailOpen);
      if (open.instance == kNoInstance) return Refuse(fleet, stripe);
      if (learner != nullptr) learner->CostsOf(fleet, entries).Estimate(open);
      if (reserve(open.instance, UINT32_MAX, last_try ? UINT32_MAX : open.limit)) return decided(open);
      if (last_try) return Refuse(fleet, stripe);
    }
  }

  SharedState shared_state;
  const bool shared;
  State& state;
  internal::Tally tally;
  mutable ReadGate gate;
  std::atomic<const Snapshot*> snapshot;
  mutable std::mutex mutex;  // Among writers.
};

absl::StatusOr<std::unique_ptr<Router>> Router::Create(RouterOptions options, absl::Span<const Instance> instances) {
  if (absl::Status status = internal::CheckOptions(options); !status.ok()) return status;
  SharedState owner(State::OnHeap(options.max_instances, options.prefix_entries));
  return Make(std::move(options), instances, std::move(owner), /*shared=*/false);
}

absl::StatusOr<std::unique_ptr<Router>> Router::Create(RouterOptions options, absl::Span<const Instance> instances,
                                                       SharedState shared_state) {
  if (absl::Status status = internal::CheckOptions(options); !status.ok()) return status;
  if (shared_state.state_ == nullptr) return absl::InvalidArgumentError("shared_state is empty: it was moved from");
  return Make(std::move(options), instances, std::move(shared_state), /*shared=*/true);
}

absl::StatusOr<std::unique_ptr<Router>> Router::Make(RouterOptions options, absl::Span<const Instance> instances,
                                                     SharedState owner, bool shared) {
  std::unique_ptr<Router> router(new Router(std::make_unique<Impl>(std::move(owner), shared, std::move(options))));
  if (absl::Status status = router->SetInstances(instances); !status.ok()) return status;
  return router;
}

Router::Router(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Router::~Router() = default;

absl::StatusOr<Decision> Router::Route(const Request& request, absl::Span<const Load> loads) {
  ReadGate::Reader reader(impl_->gate);
  const Snapshot& current = *impl_->snapshot.load();
  const Fleet& fleet = current.fleet();
  if (absl::Status status = CheckLoads(loads, fleet); !status.ok()) return status;
  Exclusions exclusions;
  if (absl::Status status = CheckRequest(request, fleet, exclusions); !status.ok()) return status;
  const RoutingStrategy& strategy = current.StrategyFor(request);
  PrefixKey key_room;
  const FleetView view = FleetViewBuilder::OnLoads(fleet, loads.data(), exclusions.bits(),
                                                   current.KeyFor(strategy, request, key_room), RandomOf(request));
  // Nobody else changes the caller's loads: there is no race to lose.
  const auto reserve = [&](uint32_t instance, uint32_t hard_bound, uint32_t limit) {
    const uint32_t least = std::min(hard_bound, limit);
    return least == UINT32_MAX || loads[instance].outstanding < least;
  };
  return impl_->Decide(current, strategy, view, reader.stripe(), /*reserves=*/false, reserve);
}

absl::StatusOr<Lease> Router::Acquire(const Request& request) {
  ReadGate::Reader reader(impl_->gate);
  const Snapshot& current = *impl_->snapshot.load();
  const Fleet& fleet = current.fleet();
  Exclusions exclusions;
  if (absl::Status status = CheckRequest(request, fleet, exclusions); !status.ok()) return status;
  const RoutingStrategy& strategy = current.StrategyFor(request);
  PrefixKey key_room;
  const FleetView view = FleetViewBuilder::OnState(fleet, impl_->state, exclusions.bits(),
                                                   current.KeyFor(strategy, request, key_room), RandomOf(request));
  const auto reserve = [&](uint32_t instance, uint32_t hard_bound, uint32_t limit) {
    const uint32_t slot = fleet.slots()[instance];
    // A strategy counts others' requests too, which the state's own count doesn't have.
    if (limit != UINT32_MAX) limit -= std::min(limit, impl_->state.Others(slot));
    return impl_->state.Reserve(slot, std::min({hard_bound, limit, kMaxOutstanding}));
  };
  const absl::StatusOr<Decision> decision =
      impl_->Decide(current, strategy, view, reader.stripe(), /*reserves=*/true, reserve);
  if (!decision.ok()) return decision.status();
  const Decision& made = *decision;
  const uint32_t slot = fleet.slots()[made.instance];
  if (made.uncached_bytes != 0) impl_->state.AddPending(slot, made.uncached_bytes);
  return Lease(&impl_->state, slot, made);
}

absl::StatusOr<uint32_t> Router::ReserveAt(std::string_view id) {
  uint32_t slot = 0;
  bool reserved = false;
  const absl::Status found = impl_->WithSlot(id, [&](uint32_t its_slot) {
    slot = its_slot;
    reserved = impl_->state.Reserve(slot, kMaxOutstanding);
  });
  if (!found.ok()) return found;
  if (!reserved) {
    return absl::ResourceExhaustedError(
        absl::StrCat("id is \"", absl::CHexEscape(internal::ToAbsl(id)), "\", which can count no more requests"));
  }
  return slot;
}

absl::Status Router::Transfer(Lease& lease, std::string_view id) {
  if (!lease.active()) return absl::FailedPreconditionError("lease owns nothing");
  if (lease.state_ != &impl_->state) return absl::InvalidArgumentError("lease is another router's");
  const absl::StatusOr<uint32_t> reserved = ReserveAt(id);
  if (!reserved.ok()) return reserved.status();
  const uint32_t slot = *reserved;
  State& state = impl_->state;
  state.AddPending(slot, lease.pending_bytes_);
  state.RemovePending(lease.slot_, lease.pending_bytes_);
  state.Release(std::exchange(lease.slot_, slot));
  return absl::OkStatus();
}

State& Router::state() { return impl_->state; }

absl::StatusOr<size_t> Router::Rank(const Request& request, absl::Span<uint32_t> out) const {
  ReadGate::Reader reader(impl_->gate);
  const Snapshot& current = *impl_->snapshot.load();
  const Fleet& fleet = current.fleet();
  Exclusions exclusions;
  if (absl::Status status = CheckRequest(request, fleet, exclusions); !status.ok()) return status;
  PrefixKey key_room;
  const PrefixKey& key = current.KeyOf(request, key_room);
  const FleetView view = FleetViewBuilder::OnState(fleet, impl_->state, exclusions.bits(), key, 0);
  const auto available = [&](uint32_t i) { return view.available(i); };
  const internal::PrefixAwareStrategy* strategy = current.Learner(current.StrategyFor(request));
  if (strategy != nullptr && !key.empty()) {
    return strategy->HomesOf(view).Order(available, out.data(), out.size());
  }
  return fleet.order().Order(key.empty() ? RandomOf(request) : key.value(), available, out.data(), out.size());
}

absl::Status Router::SetInstances(absl::Span<const Instance> instances) {
  if (absl::Status status = internal::CheckInstances(instances, impl_->state.max_instances()); !status.ok()) {
    return status;
  }
  std::unique_ptr<const Snapshot> old;
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const Snapshot& current = *impl_->snapshot.load();
  const Fleet& old_fleet = current.fleet();

  std::vector<uint32_t> slots(instances.size());
  std::vector<uint8_t> draining(instances.size(), 0);
  std::vector<uint8_t> kept(old_fleet.size(), 0);
  std::vector<size_t> added;
  std::vector<std::string_view> added_ids;
  for (size_t i = 0; i < instances.size(); ++i) {
    const uint32_t old_index = old_fleet.Find(instances[i].id);
    if (old_index == kNoInstance) {
      added.push_back(i);
      added_ids.push_back(instances[i].id);
    } else {
      slots[i] = old_fleet.slots()[old_index];
      draining[i] = old_fleet.draining()[old_index];
      kept[old_index] = 1;
    }
  }
  std::vector<uint32_t> added_slots(added.size());
  if (absl::Status status = impl_->state.Join(added_ids, absl::MakeSpan(added_slots)); !status.ok()) return status;
  // Gives up what was joined, where memory runs out before it is published.
  struct Leaver {
    ~Leaver() { state.Leave(slots); }
    State& state;
    absl::Span<const uint32_t> slots;
  } leaver{impl_->state, added_slots};
  for (size_t i = 0; i < added.size(); ++i) slots[added[i]] = added_slots[i];
  std::vector<uint32_t> removed_slots;
  for (uint32_t i = 0; i < old_fleet.size(); ++i) {
    if (!kept[i]) removed_slots.push_back(old_fleet.slots()[i]);
  }

  old = impl_->Publish(std::make_shared<const Fleet>(instances, std::move(draining), std::move(slots)),
                       current.options());
  leaver.slots = {};
  // Only now can nobody reserve there any more.
  impl_->state.Leave(removed_slots);
  return absl::OkStatus();
}

absl::Status Router::SetDraining(std::string_view id, bool draining) {
  std::unique_ptr<const Snapshot> old;
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const Snapshot& current = *impl_->snapshot.load();
  const Fleet& fleet = current.fleet();
  const uint32_t index = fleet.Find(id);
  if (index == kNoInstance) return NoInstance(id);
  std::vector<uint8_t> all_draining = fleet.draining();
  all_draining[index] = draining ? 1 : 0;
  old = impl_->Publish(std::make_shared<const Fleet>(fleet.instances(), std::move(all_draining), fleet.slots()),
                       current.options());
  return absl::OkStatus();
}

absl::Status Router::ReportLoad(std::string_view id, const EngineLoad& load) {
  return impl_->WithSlot(id, [&](uint32_t slot) { impl_->state.ReportLoad(slot, load); });
}

absl::Status Router::ForgetCache(std::string_view id) {
  return impl_->WithSlot(id, [&](uint32_t slot) { impl_->state.ForgetCache(slot); });
}

absl::StatusOr<std::vector<InstanceCost>> Router::Explain(const Request& request, absl::Span<const Load> loads) const {
  ReadGate::Reader reader(impl_->gate);
  const Snapshot& current = *impl_->snapshot.load();
  const Fleet& fleet = current.fleet();
  if (!loads.empty()) {
    if (absl::Status status = CheckLoads(loads, fleet); !status.ok()) return status;
  }
  Exclusions exclusions;
  if (absl::Status status = CheckRequest(request, fleet, exclusions); !status.ok()) return status;
  const internal::PrefixAwareStrategy* strategy = current.Learner(current.StrategyFor(request));
  if (strategy == nullptr) {
    return absl::FailedPreconditionError("strategy of the request is not PREFIX_AWARE, or in strict mode: no costs");
  }
  PrefixKey key_room;
  const PrefixKey& key = current.KeyOf(request, key_room);
  if (key.empty()) return absl::FailedPreconditionError("prefix is empty: no costs, the least outstanding is chosen");
  const FleetView view = loads.empty() ? FleetViewBuilder::OnState(fleet, impl_->state, exclusions.bits(), key, 0)
                                       : FleetViewBuilder::OnLoads(fleet, loads.data(), exclusions.bits(), key, 0);
  internal::PrefixEntries entries;
  const internal::PrefixCosts costs = strategy->CostsOf(view, entries);
  std::vector<uint32_t> order(fleet.size());
  order.resize(costs.homes().Order([](uint32_t) { return true; }, order.data(), order.size()));
  std::vector<InstanceCost> explained(fleet.size());
  for (size_t place = 0; place < order.size(); ++place) explained[order[place]].rank = static_cast<uint32_t>(place + 1);
  for (uint32_t i = 0; i < fleet.size(); ++i) {
    const internal::ExpectedCache::Part part = costs.cache().Of(i);
    explained[i] = {i,
                    explained[i].rank,
                    view.eligible(i),
                    costs.Of(i, part.expected),
                    part.matched,
                    costs.UncachedBytes(part.expected),
                    view.pending_bytes(i),
                    view.outstanding(i)};
  }
  return explained;
}

absl::Status Router::SetOptions(RouterOptions options) {
  if (absl::Status status = internal::CheckOptions(options); !status.ok()) return status;
  std::unique_ptr<const Snapshot> old;
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const Snapshot& current = *impl_->snapshot.load();
  if (options.max_instances != current.options().max_instances) {
    return absl::InvalidArgumentError(absl::StrCat("max_instances is ", options.max_instances, ", but was fixed at ",
                                                   current.options().max_instances, " when the router was created"));
  }
  if (options.prefix_entries != current.options().prefix_entries) {
    return absl::InvalidArgumentError(absl::StrCat("prefix_entries is ", options.prefix_entries, ", but was fixed at ",
                                                   current.options().prefix_entries, " when the router was created"));
  }
  old = impl_->Publish(current.shared_fleet(), std::move(options));
  return absl::OkStatus();
}

absl::Status Router::SetStrategy(Strategy strategy) {
  if (absl::Status status = internal::CheckStrategy(strategy); !status.ok()) return status;
  std::unique_ptr<const Snapshot> old;
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const Snapshot& current = *impl_->snapshot.load();
  RouterOptions options = current.options();
  options.strategy = strategy;
  options.custom_strategy = nullptr;
  old = impl_->Publish(current.shared_fleet(), std::move(options));
  return absl::OkStatus();
}

RouterOptions Router::options() const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->snapshot.load()->options();
}

RouterStats Router::Stats() const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  const Fleet& fleet = impl_->snapshot.load()->fleet();
  RouterStats stats;
  for (uint32_t i = 0; i < fleet.size(); ++i) {
    const Instance& instance = fleet.instances()[i];
    const uint32_t slot = fleet.slots()[i];
    const internal::SlotRecord& report = impl_->state.RecordOf(slot);
    stats.instances.push_back({instance.id, instance.weight, instance.max_outstanding, impl_->state.Outstanding(slot),
                               impl_->state.Pending(slot), fleet.draining()[i] != 0, report.prompt.load(),
                               report.cached.load(), report.expected.load()});
  }
  stats.outstanding = impl_->state.TotalOutstanding();
  impl_->tally.SumInto(stats);
  return stats;
}

uint64_t Router::MembershipFingerprint() const {
  std::lock_guard<std::mutex> lock(impl_->mutex);
  return impl_->snapshot.load()->fleet().Fingerprint();
}

const SharedState* Router::shared_state() const { return impl_->shared ? &impl_->shared_state : nullptr; }

}  // namespace prefixroute
