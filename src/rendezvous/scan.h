// SPDX-License-Identifier: Apache-2.0
//
// Passes over all instances' hashes for a key, by the widest vectors that the machine has, whatever it was compiled
// for.
//
// The first step of MixBits (rendezvous.h), x ^ x >> 33, is the same for key and instance apart as for both together:
// step(key ^ hash) = step(key) ^ step(hash). So the instances' half is done once, by whoever makes the array, and an
// array of `steps` here has hash ^ hash >> 33 for each instance, from which MixBits(key ^ hash) is made.

#ifndef PREFIXROUTE_SRC_RENDEZVOUS_SCAN_H_
#define PREFIXROUTE_SRC_RENDEZVOUS_SCAN_H_

#include <stddef.h>
#include <stdint.h>

#include "src/base/runnable.h"

namespace prefixroute::internal {

// A pass reads so many elements beyond the last, whatever they are.
constexpr uint32_t kScanPadding = 31;

struct ScanKernels {
  // The first index in [begin, end) whose MixBits(key ^ hash) has at least the upper 33 bits of `floor`, else `end`:
  // none that reaches `floor` is left out, and one in 2^33 comes up that doesn't. Leaves out MixBits's last step,
  // which doesn't touch those bits.
  uint32_t (*find_at_least)(const uint64_t* steps, uint32_t begin, uint32_t end, uint64_t key, uint64_t floor);
  // For how many of the `size` instances MixBits(key ^ hash) is above `floor`.
  uint32_t (*count_above)(const uint64_t* steps, uint32_t size, uint64_t key, uint64_t floor);
};

Runnable<ScanKernels> RunnableScans();

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_RENDEZVOUS_SCAN_H_
