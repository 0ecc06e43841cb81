// SPDX-License-Identifier: Apache-2.0

#include "src/router/thread_stripe.h"

#include <atomic>

namespace prefixroute::internal {
namespace {

constexpr uint32_t kNoStripe = UINT32_MAX;

std::atomic<uint64_t> owned{0};  // A bit a stripe.
std::atomic<uint32_t> sharers{0};
thread_local uint32_t thread_stripe = kNoStripe;

uint32_t SharedStripe() { return kOwnStripes + sharers.fetch_add(1, std::memory_order_relaxed) % kOwnStripes; }

// Gives the stripe back when its thread ends. Its next owner sees all that this one has written there.
struct Owner {
  ~Owner() {
    if (stripe >= kOwnStripes) return;
    thread_stripe = SharedStripe();  // For destructors that route yet.
    owned.fetch_and(~(uint64_t{1} << stripe), std::memory_order_release);
  }
  uint32_t stripe = kNoStripe;
};
thread_local Owner owner;

uint32_t Take() {
  static_assert(kOwnStripes == 64, "the bits of `owned`");
  uint64_t taken = owned.load(std::memory_order_relaxed);
  while (taken != UINT64_MAX) {
    const uint64_t first_free = ~taken & (taken + 1);
    if (owned.compare_exchange_weak(taken, taken | first_free, std::memory_order_acquire, std::memory_order_relaxed)) {
      owner.stripe = static_cast<uint32_t>(__builtin_ctzll(first_free));
      return owner.stripe;
    }
  }
  return SharedStripe();
}

}  // namespace

uint32_t ThreadStripe() {
  if (thread_stripe == kNoStripe) thread_stripe = Take();
  return thread_stripe;
}

}  // namespace prefixroute::internal
