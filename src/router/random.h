// SPDX-License-Identifier: Apache-2.0
//
// Random bits for RANDOM and for ties: not cryptographic, a generator a thread.

#ifndef PREFIXROUTE_SRC_ROUTER_RANDOM_H_
#define PREFIXROUTE_SRC_ROUTER_RANDOM_H_

#include <cstdint>

namespace prefixroute::internal {

// Seeded from the operating system at a thread's first call, and again after a fork: workers forked from one process
// would otherwise all draw the same.
uint64_t NextRandom();

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_ROUTER_RANDOM_H_
