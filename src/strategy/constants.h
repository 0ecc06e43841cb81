// SPDX-License-Identifier: Apache-2.0
//
// The constants of PREFIX_AWARE, and why they are so. benchmarks/replay/tables/sweep.py tries others on simulated
// fleets; docs/prefix_aware.md has what it found: the ground is flat, half or double changes TTFT by a percent or two.

#ifndef PREFIXROUTE_SRC_STRATEGY_CONSTANTS_H_
#define PREFIXROUTE_SRC_STRATEGY_CONSTANTS_H_

namespace prefixroute::internal {

// Pending bytes that hardly delay anybody: some 1,000 tokens, an eighth of what an engine prefills in one step.
inline constexpr double kFreeBytes = 4096;

// What a request outstanding counts, of the work that a request brings. Where prompts are cached nearly whole, only
// decoding is left to wait for, and this is what spreads them; much more gives up hits for evenness.
inline constexpr double kOutstandingShare = 0.2;

// Homes that a part of a prefix has, for each instance's worth of traffic that carries it. More than one, so that load
// has a choice; not many more, for each is a cache that must hold the part, and where caches are small it drives
// another part out. For a lone router, and for one of very many: those don't see each other pile up on one home.
inline constexpr double kHomesAlone = 2;
inline constexpr double kHomesAmongMany = 4.2;

// A part's share is taken of the requests seen lately and of so many more an instance, so that the first requests that
// a router sees are not taken for all there is.
inline constexpr double kUnseenRequests = 2;

// How often a part is seen lately, for each of its homes, before they are all taken to have it. Without this, a prompt
// that all send stays on the two or three instances that had it first, however busy.
inline constexpr double kSeenPerHome = 4;

// The chance that the home of a prefix has it cached though this router did not send it there. For a lone router just
// enough that the home is the first choice for what was never seen; for one of very many, more than half, and no more:
// where replicas trust the home too much, they pile up there without seeing each other.
inline constexpr double kTrustAlone = 0.02;
inline constexpr double kTrustAmongMany = 0.7;

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_STRATEGY_CONSTANTS_H_
