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
  // By the thread whose stripe it is.
  void AddDecision(uint32_t stripe, Reason reason) { Add(stripe, static_cast<size_t>(reason)); }
  void AddUnavailable(uint32_t stripe) { Add(stripe, kUnavailable); }
  void AddExhausted(uint32_t stripe) { Add(stripe, kExhausted); }
  // Counts one that was learnt from, and returns its number.
  uint64_t AddLearned(uint32_t stripe) { return Add(stripe, kLearned); }
  // How many to tell when that number was counted, of this and those not told before; mostly 0.
  static uint32_t ToTell(uint64_t learned) { return (learned + 1) % kBatch == 0 ? kBatch : 0; }

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
  static constexpr uint32_t kBatch = 32;
  struct alignas(64) Stripe {
    std::array<std::atomic<uint64_t>, kReasonCount + 3> counts{};
  };

  // The count before.
  uint64_t Add(uint32_t stripe, size_t what) {
    return AddOnStripe(stripe, stripes_[stripe].counts[what], uint64_t{1}, std::memory_order_relaxed);
  }
  static uint64_t Read(const Stripe& stripe, size_t what) {
    return stripe.counts[what].load(std::memory_order_relaxed);
  }

  std::array<Stripe, kStripes> stripes_{};
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_ROUTER_TALLY_H_
