// SPDX-License-Identifier: Apache-2.0
//
// Counts decisions and refusals, each thread on lines of its own.

#ifndef PREFIXROUTE_SRC_ROUTER_TALLY_H_
#define PREFIXROUTE_SRC_ROUTER_TALLY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "prefixroute/router.h"
#include "src/router/thread_stripe.h"

namespace prefixroute::internal {

class Tally {
 public:
  void AddDecision(Reason reason) { Add(static_cast<size_t>(reason)); }
  void AddUnavailable() { Add(kUnavailable); }
  void AddExhausted() { Add(kExhausted); }

  void SumInto(RouterStats& stats) const {
    for (const Stripe& stripe : stripes_) {
      for (size_t reason = 0; reason < kReasonCount; ++reason) stats.decisions[reason] += Read(stripe, reason);
      stats.unavailable += Read(stripe, kUnavailable);
      stats.exhausted += Read(stripe, kExhausted);
    }
  }

 private:
  static constexpr size_t kUnavailable = kReasonCount;
  static constexpr size_t kExhausted = kReasonCount + 1;
  struct alignas(64) Stripe {
    std::array<std::atomic<uint64_t>, kReasonCount + 2> counts{};
  };

  void Add(size_t what) { stripes_[ThreadStripe()].counts[what].fetch_add(1, std::memory_order_relaxed); }
  static uint64_t Read(const Stripe& stripe, size_t what) {
    return stripe.counts[what].load(std::memory_order_relaxed);
  }

  std::array<Stripe, kStripes> stripes_{};
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_ROUTER_TALLY_H_
