// SPDX-License-Identifier: Apache-2.0

#include "src/router/random.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

#include "prefixroute/rendezvous.h"

namespace prefixroute::internal {
namespace {

std::atomic<uint32_t> process_generation{0};  // 0: nothing was seeded yet; it rises with every fork.

struct Generator {
  uint64_t state;
  uint32_t process_generation;  // Of the seed.
};
thread_local Generator generator{0, 0};

uint64_t Seed() {
  uint64_t seed = 0;
  if (getentropy(&seed, sizeof(seed)) != 0) {
    // No entropy device: threads and processes still differ, and chance is all that suffers.
    seed = MixBits(reinterpret_cast<uintptr_t>(&generator)) ^ MixBits(static_cast<uint64_t>(getpid()));
  }
  return seed;
}

}  // namespace

uint64_t NextRandom() {
  static const int registered = [] {
    process_generation.store(1);
    return pthread_atfork(nullptr, nullptr, [] { process_generation.fetch_add(1); });
  }();
  (void)registered;
  const uint32_t current = process_generation.load(std::memory_order_relaxed);
  if (generator.process_generation != current) generator = {Seed(), current};
  // SplitMix64 (Steele, Lea, Flood, 2014), with MixBits as its finaliser.
  generator.state += 0x9e3779b97f4a7c15ULL;
  return MixBits(generator.state);
}

}  // namespace prefixroute::internal
