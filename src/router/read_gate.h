// SPDX-License-Identifier: Apache-2.0
//
// Lets a writer wait until nobody uses a snapshot any more: read-copy-update with counted readers. Readers never wait.
//
// A reader counts itself in, then loads the snapshot. A writer publishes a new snapshot, then waits once for the
// readers of each phase: whoever loaded the old one had counted himself in before, in one phase or the other. New
// readers count in the other phase meanwhile, so that the writer's wait ends however many they are.

#ifndef PREFIXROUTE_SRC_ROUTER_READ_GATE_H_
#define PREFIXROUTE_SRC_ROUTER_READ_GATE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

#include "src/router/thread_stripe.h"

namespace prefixroute::internal {

class ReadGate {
 public:
  // Keeps the snapshots that are loaded during its life.
  class Reader {
   public:
    explicit Reader(ReadGate& gate)
        : stripe_(ThreadStripe()), inside_(gate.stripes_[stripe_].inside[gate.phase_.load()]) {
      AddOnStripe(stripe_, inside_, uint32_t{1}, std::memory_order_seq_cst);
    }
    ~Reader() { AddOnStripe(stripe_, inside_, UINT32_MAX, std::memory_order_release); }  // Minus one.
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    // Of the thread that reads.
    uint32_t stripe() const { return stripe_; }

   private:
    const uint32_t stripe_;
    std::atomic<uint32_t>& inside_;
  };

  // Returns when all readers that may have loaded what was published before are gone. One writer at a time.
  void WaitForReaders() {
    for (int i = 0; i < 2; ++i) {
      const uint32_t old_phase = phase_.load();
      phase_.store(1 - old_phase);
      for (const Stripe& stripe : stripes_) {
        while (stripe.inside[old_phase].load() != 0) std::this_thread::yield();
      }
    }
  }

 private:
  struct alignas(64) Stripe {
    std::array<std::atomic<uint32_t>, 2> inside{};
  };

  std::array<Stripe, kStripes> stripes_{};
  std::atomic<uint32_t> phase_{0};
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_ROUTER_READ_GATE_H_
