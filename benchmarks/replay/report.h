// SPDX-License-Identifier: Apache-2.0
//
// The table that a replay ends with.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_REPORT_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/replay/replay.h"
#include "benchmarks/replay/trace.h"
#include "prefixroute/strategy.h"

namespace prefixroute::replay {

struct ReportRow {
  Strategy strategy;
  uint64_t max_prefix_tokens;  // 0 where the strategy doesn't look at prefixes.
  ReplayResult result;
};

// What the trace is, and what it ran against. `source` names it.
std::string DescribeReplay(const std::string& source, const Trace& trace, const ReplayOptions& options);

// A line for each row, under a heading. `one_cache_hit_tokens` is the ceiling that the rows are compared with.
std::string RenderTable(const Trace& trace, uint64_t one_cache_hit_tokens, const std::vector<ReportRow>& rows);

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_REPORT_H_
