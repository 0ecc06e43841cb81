// SPDX-License-Identifier: Apache-2.0
//
// Spreads what threads write over several cache lines: each thread keeps to one stripe, so that up to kStripes threads
// write lines of their own.

#ifndef PREFIXROUTE_SRC_ROUTER_THREAD_STRIPE_H_
#define PREFIXROUTE_SRC_ROUTER_THREAD_STRIPE_H_

#include <cstdint>

namespace prefixroute::internal {

inline constexpr uint32_t kStripes = 64;

// This thread's stripe, below kStripes.
uint32_t ThreadStripe();

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_ROUTER_THREAD_STRIPE_H_
