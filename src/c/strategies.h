// SPDX-License-Identifier: Apache-2.0
//
// C's numbers of strategies, which have one more: the default.

#ifndef PREFIXROUTE_SRC_C_STRATEGIES_H_
#define PREFIXROUTE_SRC_C_STRATEGIES_H_

#include <cstdint>

#include "prefixroute/c.h"
#include "prefixroute/strategy.h"

namespace prefixroute::c {

inline bool IsStrategy(uint32_t number) { return number <= PREFIXROUTE_STRATEGY_PREFIX_AWARE; }
// Of one that is not DEFAULT.
inline Strategy StrategyOf(uint32_t number) { return static_cast<Strategy>(number - 1); }
inline uint32_t NumberOf(Strategy strategy) { return static_cast<uint32_t>(strategy) + 1; }

static_assert(static_cast<int>(Strategy::kRandom) + 1 == PREFIXROUTE_STRATEGY_RANDOM &&
              static_cast<int>(Strategy::kLeastOutstandingRequests) + 1 ==
                  PREFIXROUTE_STRATEGY_LEAST_OUTSTANDING_REQUESTS &&
              static_cast<int>(Strategy::kPrefixAware) + 1 == PREFIXROUTE_STRATEGY_PREFIX_AWARE);

}  // namespace prefixroute::c

#endif  // PREFIXROUTE_SRC_C_STRATEGIES_H_
