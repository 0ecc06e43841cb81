// SPDX-License-Identifier: Apache-2.0
//
// A strategy is given its view; one made outside would point nowhere.

#include "prefixroute/strategy.h"

uint32_t Size(const prefixroute::FleetView& given) {
#if defined(GOOD)
  const prefixroute::FleetView& view = given;
#else
  const prefixroute::FleetView view;
  (void)given;
#endif
  return view.size();
}
