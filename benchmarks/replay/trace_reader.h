// SPDX-License-Identifier: Apache-2.0
//
// Reads a trace: JSON lines, plain or gzip, in one of two forms, which the first good line decides.
//
//   {"timestamp": ms, "input_length": tokens, "output_length": tokens, "hash_ids": [...]}
//     as published with Mooncake: an id for each block of 512 tokens, the last of which may be partial.
//   {"timestamp": ms, "prompt": "...", "output_bytes": bytes}
//     with the text itself. 4 bytes count as a token.
//
// Further fields are ignored.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_TRACE_READER_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_TRACE_READER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "benchmarks/replay/progress.h"
#include "benchmarks/replay/trace.h"

namespace prefixroute::replay {

// As many bad lines are described; the others are counted.
inline constexpr size_t kBadLinesDescribed = 10;

struct TraceFile {
  Trace trace;
  uint64_t bad_lines = 0;
  std::vector<std::string> bad_line_reasons;  // "file:line: why", of the first kBadLinesDescribed.
  uint64_t disordered = 0;                    // Requests that had to be sorted: see Trace::SortByArrival.
};

struct ReadOptions {
  uint64_t limit = 0;                             // Reads so many requests; 0 for all.
  uint32_t text_block_tokens = kTextBlockTokens;  // How text is cut into blocks.
};

// Bad lines are left out and counted. An error where the file can't be read, or has no request at all.
absl::StatusOr<TraceFile> ReadTrace(const std::string& path, const ReadOptions& options, Progress* progress);

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_TRACE_READER_H_
