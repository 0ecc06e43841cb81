// SPDX-License-Identifier: Apache-2.0
//
// PREFIX_AWARE: the instance that will be through with the request, and with what waits behind it, for the least work.
//
//   cost = soft(pending) + kOutstandingShare * m * outstanding + (1 + P / m) * uncached        in bytes of prompt
//   soft(x) = x^2 / (x + kFreeBytes)
//
// pending: prompt bytes that the instance has yet to prefill; uncached: those of this request that it is not expected
// to have cached (expected_cache.h); m: what a request finds uncached, lately and on the mean; P: the mean of pending
// over the instances, m and P by those considered (considered.h). What an instance has to do already counts per weight;
// weight is capacity, not speed, so the request's own work is the same everywhere.
//
// soft: an engine prefills what waits in one batch, so a few KiB delay nobody, and diverting for them would only cost
// hits.
//
// 1 + P / m: a miss delays not this request alone, but all that come behind it. In a queue (Little; M/G/1) those are
// 1/(1-rho) requests, which is 1 + the mean number that wait, and P/m is that number, measured. So an idle fleet
// diverts freely, and a busy one guards its caches.
//
// outstanding: decoding takes time too. Each request counts as some of the work that a request brings.

#ifndef PREFIXROUTE_SRC_STRATEGY_PREFIX_AWARE_H_
#define PREFIXROUTE_SRC_STRATEGY_PREFIX_AWARE_H_

#include <cstdint>

#include "prefixroute/strategy.h"
#include "src/fleet/fleet.h"
#include "src/state/state.h"
#include "src/strategy/considered.h"
#include "src/strategy/expected_cache.h"
#include "src/strategy/nested_homes.h"

namespace prefixroute::internal {

// What one request costs where. Of a key that isn't empty.
class PrefixCosts {
 public:
  // `entries` becomes what the memory has of the prefix. All arguments must outlive this.
  PrefixCosts(const FleetView& view, const Fleet& fleet, const State& state, uint32_t gateway_replicas,
              PrefixEntries& entries);

  const NestedHomes& homes() const { return homes_; }
  const ExpectedCache& cache() const { return cache_; }

  // The instance of the least cost of those that are eligible, the first by rendezvous of those that are level;
  // kNoInstance where nobody is eligible.
  uint32_t Cheapest() const;
  // The cost where `expected` bytes of the prefix are cached.
  double Of(uint32_t instance, double expected) const;
  uint64_t UncachedBytes(double expected) const { return static_cast<uint64_t>(bytes_ - expected); }

  // Sets what the chosen instance should have cached.
  void Estimate(Choice& choice) const {
    const ExpectedCache::Part chosen = cache_.Of(choice.instance);
    choice.matched_bytes = chosen.matched;
    choice.uncached_bytes = UncachedBytes(chosen.expected);
  }

 private:
  // Of load per weight.
  double Cost(double pending, double outstanding, double expected) const;

  const FleetView& view_;
  const Fleet& fleet_;
  uint32_t now_;
  NestedHomes homes_;
  ExpectedCache cache_;
  Considered considered_;
  double bytes_;
  double outstanding_cost_;  // Of one request.
  double uncached_cost_;     // Of one byte: 1 + P / m.
};

class PrefixAwareStrategy final : public RoutingStrategy {
 public:
  // Both must outlive the strategy; its FleetViews are of this fleet.
  PrefixAwareStrategy(const Fleet& fleet, State& state, uint32_t gateway_replicas)
      : fleet_(fleet), state_(state), gateway_replicas_(gateway_replicas) {}

  // Mostly one pass over the instances' hashes, two where it goes to none of the prefix's homes; a look at the loads of
  // those considered and of those that hold some of the prefix, and one into the memory for each depth of it.
  Choice Choose(const FleetView& view) const noexcept override;
  // The same, of a prefix that isn't empty. `entries` becomes what was found in the memory, for Learn().
  Choice Choose(const FleetView& view, PrefixEntries& entries) const noexcept;

  // The request was sent as chosen. `reserved`: its instance's count was just written, so that to tell other threads
  // more of the instance costs nothing. `random`: fresh bits. O(depths).
  void Learn(const FleetView& view, const Choice& choice, const PrefixEntries& entries, bool reserved,
             uint64_t random) const noexcept;

  // Of a prefix that isn't empty.
  PrefixCosts CostsOf(const FleetView& view, PrefixEntries& entries) const {
    return {view, fleet_, state_, gateway_replicas_, entries};
  }
  NestedHomes HomesOf(const FleetView& view) const;

 private:
  const Fleet& fleet_;
  State& state_;
  uint32_t gateway_replicas_;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_STRATEGY_PREFIX_AWARE_H_
