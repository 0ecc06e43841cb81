// SPDX-License-Identifier: Apache-2.0

#ifndef PREFIXROUTE_BENCHMARKS_MICRO_ALLOCATIONS_H_
#define PREFIXROUTE_BENCHMARKS_MICRO_ALLOCATIONS_H_

#include <cstdint>

namespace prefixroute {

// How often the calling thread has called operator new.
uint64_t Allocations();

}  // namespace prefixroute

#endif  // PREFIXROUTE_BENCHMARKS_MICRO_ALLOCATIONS_H_
