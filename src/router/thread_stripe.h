// SPDX-License-Identifier: Apache-2.0
//
// Spreads what threads write over several cache lines. A thread owns one stripe as long as it lives, so that it may
// write there without atomic read-modify-write instructions; where there are more threads than that, the rest share.

#ifndef PREFIXROUTE_SRC_ROUTER_THREAD_STRIPE_H_
#define PREFIXROUTE_SRC_ROUTER_THREAD_STRIPE_H_

#include <atomic>
#include <cstdint>

namespace prefixroute::internal {

inline constexpr uint32_t kOwnStripes = 64;
inline constexpr uint32_t kStripes = 2 * kOwnStripes;

// This thread's stripe, below kStripes; below kOwnStripes it is no other living thread's.
uint32_t ThreadStripe();

// Adds to a counter on this thread's stripe, and returns what it was: who owns the stripe is alone in writing there.
template <typename Number>
Number AddOnStripe(uint32_t stripe, std::atomic<Number>& counter, Number value, std::memory_order order) {
  if (stripe >= kOwnStripes) return counter.fetch_add(value, order);
  const Number before = counter.load(std::memory_order_relaxed);
  counter.store(before + value, order);
  return before;
}

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_ROUTER_THREAD_STRIPE_H_
