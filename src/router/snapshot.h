// SPDX-License-Identifier: Apache-2.0
//
// All that one decision goes by, published as a whole: fleet, options, strategies.

#ifndef PREFIXROUTE_SRC_ROUTER_SNAPSHOT_H_
#define PREFIXROUTE_SRC_ROUTER_SNAPSHOT_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "prefixroute/router.h"
#include "src/fleet/fleet.h"
#include "src/hash/hash.h"
#include "src/strategy/least_outstanding.h"
#include "src/strategy/prefix_aware.h"
#include "src/strategy/random.h"
#include "src/strategy/strict.h"

namespace prefixroute::internal {

class Snapshot {
 public:
  Snapshot(std::shared_ptr<const Fleet> fleet, RouterOptions options, State& state)
      : fleet_(std::move(fleet)),
        options_(std::move(options)),
        prefix_aware_(*fleet_, state, options_.gateway_replicas),
        strict_(options_.relative_bound) {}

  const Fleet& fleet() const { return *fleet_; }
  const std::shared_ptr<const Fleet>& shared_fleet() const { return fleet_; }
  const RouterOptions& options() const { return options_; }

  const RoutingStrategy& StrategyFor(const Request& request) const {
    if (request.strategy.has_value()) return BuiltIn(*request.strategy);
    return options_.custom_strategy != nullptr ? *options_.custom_strategy : BuiltIn(options_.strategy);
  }

  // The request's key, or the empty one for a strategy that doesn't look at it: hashing a prompt is most of the cost.
  // `room` is where it is made.
  const PrefixKey& KeyFor(const RoutingStrategy& strategy, const Request& request, PrefixKey& room) const {
    if (&strategy == &random_ || &strategy == &least_outstanding_) return room;
    return KeyOf(request, room);
  }
  const PrefixKey& KeyOf(const Request& request, PrefixKey& room) const {
    if (request.key != nullptr) return *request.key;
    FillPrefixKey(request.prefix, request.scope, options_.key_bytes(), room);
    return room;
  }

  // The strategy, if it is the one that learns from what was decided; else null.
  const PrefixAwareStrategy* Learner(const RoutingStrategy& strategy) const {
    return &strategy == &prefix_aware_ ? &prefix_aware_ : nullptr;
  }

 private:
  const RoutingStrategy& BuiltIn(Strategy strategy) const {
    switch (strategy) {
      case Strategy::kRandom:
        return random_;
      case Strategy::kLeastOutstandingRequests:
        return least_outstanding_;
      case Strategy::kPrefixAware:
        break;
    }
    if (options_.strict_prefix_bytes != 0) return strict_;
    return prefix_aware_;
  }

  std::shared_ptr<const Fleet> fleet_;
  RouterOptions options_;
  RandomStrategy random_;
  LeastOutstandingStrategy least_outstanding_;
  PrefixAwareStrategy prefix_aware_;
  StrictStrategy strict_;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_ROUTER_SNAPSHOT_H_
