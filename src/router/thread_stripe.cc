// SPDX-License-Identifier: Apache-2.0

#include "src/router/thread_stripe.h"

#include <atomic>

namespace prefixroute::internal {
namespace {

constexpr uint32_t kNoStripe = UINT32_MAX;

std::atomic<uint32_t> next_stripe{0};
thread_local uint32_t thread_stripe = kNoStripe;

}  // namespace

uint32_t ThreadStripe() {
  if (thread_stripe == kNoStripe) thread_stripe = next_stripe.fetch_add(1, std::memory_order_relaxed) % kStripes;
  return thread_stripe;
}

}  // namespace prefixroute::internal
