// SPDX-License-Identifier: Apache-2.0
//
// Makes the view that a strategy chooses from, and shows the library's own strategies more of it.

#ifndef PREFIXROUTE_SRC_STRATEGY_FLEET_VIEW_BUILDER_H_
#define PREFIXROUTE_SRC_STRATEGY_FLEET_VIEW_BUILDER_H_

#include <cstdint>

#include "prefixroute/strategy.h"
#include "src/fleet/fleet.h"
#include "src/state/state.h"

namespace prefixroute::internal {

class FleetViewBuilder {
 public:
  // `excluded` has a bit an instance, or is null. All arguments must outlive the view.
  static FleetView OnLoads(const Fleet& fleet, const Load* loads, const uint64_t* excluded, const PrefixKey& key,
                           uint64_t random) {
    FleetView view = Build(fleet, excluded, key, random);
    view.loads_ = loads;
    return view;
  }
  static FleetView OnState(const Fleet& fleet, const State& state, const uint64_t* excluded, const PrefixKey& key,
                           uint64_t random) {
    FleetView view = Build(fleet, excluded, key, random);
    view.words_ = state.words();
    view.words_stride_ = state.stride();
    view.slots_ = fleet.slots().data();
    return view;
  }

  static const OrderFinder& OrderOf(const FleetView& view) { return *view.order_; }

 private:
  static FleetView Build(const Fleet& fleet, const uint64_t* excluded, const PrefixKey& key, uint64_t random) {
    FleetView view;
    view.nodes_ = fleet.nodes();
    view.order_ = &fleet.order();
    view.ids_ = fleet.ids().data();
    view.max_outstanding_ = fleet.max_outstanding().data();
    view.closed_ = fleet.closed().data();
    view.excluded_ = excluded;
    view.key_ = &key;
    view.random_ = random;
    return view;
  }
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_STRATEGY_FLEET_VIEW_BUILDER_H_
