// SPDX-License-Identifier: Apache-2.0
//
// Counts decisions and refusals, each thread on lines of its own.
//
// Also the clock of the memory of prefixes: a thread's decisions are told to the state by the batch, so that no line is
// written by all threads at every decision.

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
  // Counts one that was learnt from. Returns how many to tell, of this and those not told before; mostly 0.
  uint32_t AddLearned() { return (Add(kLearned) + 1) % kBatch == 0 ? kBatch : 0; }
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
  static constexpr size_t kLearned = kReasonCount + 2;
  static constexpr uint32_t kBatch = 8;
  struct alignas(64) Stripe {
    std::array<std::atomic<uint64_t>, kReasonCount + 3> counts{};
  };

  uint64_t Add(size_t what) { return stripes_[ThreadStripe()].counts[what].fetch_add(1, std::memory_order_relaxed); }
  static uint64_t Read(const Stripe& stripe, size_t what) {
    return stripe.counts[what].load(std::memory_order_relaxed);
  }

  std::array<Stripe, kStripes> stripes_{};
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_ROUTER_TALLY_H_
