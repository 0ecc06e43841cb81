// SPDX-License-Identifier: Apache-2.0
//
// Published traces have timestamps in quanta, of seconds even: replayed as they are, all requests of a quantum come at
// one instant, and tails of latency show the quantum.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_SMEAR_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_SMEAR_H_

#include <cstdint>

#include "benchmarks/replay/trace.h"

namespace prefixroute::replay {

// Where most requests share their timestamp with others: spreads those of one timestamp over the time until the next
// one, at random, in their order. Those of the last timestamp get as long as the median. Returns that, the quantum, in
// microseconds; 0 where nothing was done. The trace must be sorted.
int64_t SmearQuanta(Trace* trace, uint64_t seed);

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_SMEAR_H_
