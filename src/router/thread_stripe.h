// SPDX-License-Identifier: Apache-2.0
//
// Spreads what threads write over several cache lines. A thread owns one stripe as long as it lives, so that it may
// write there without atomic read-modify-write instructions; where there are more threads than that, the rest share.

#ifndef PREFIXROUTE_SRC_ROUTER_THREAD_STRIPE_H_
#define PREFIXROUTE_SRC_ROUTER_THREAD_STRIPE_H_

#include <cstdint>

namespace prefixroute::internal {

inline constexpr uint32_t kOwnStripes = 64;
inline constexpr uint32_t kStripes = 2 * kOwnStripes;

// This thread's stripe, below kStripes; below kOwnStripes it is no other living thread's.
uint32_t ThreadStripe();

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_ROUTER_THREAD_STRIPE_H_
