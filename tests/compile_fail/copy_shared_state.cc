// SPDX-License-Identifier: Apache-2.0
//
// Two owners of one column would give it back twice.

#include <utility>

#include "prefixroute/shared_state.h"

prefixroute::SharedState Second(prefixroute::SharedState& state) {
#if defined(GOOD)
  return std::move(state);
#else
  return state;
#endif
}
