// SPDX-License-Identifier: Apache-2.0
//
// The flags of prefixroute_replay, checked.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_COMMAND_LINE_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_COMMAND_LINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "benchmarks/replay/replay.h"
#include "benchmarks/replay/trace_reader.h"
#include "benchmarks/replay/workload_generator.h"
#include "prefixroute/strategy.h"

namespace prefixroute::replay {

struct CommandLine {
  bool help = false;
  bool progress = false;
  std::vector<Strategy> strategies;
  std::vector<uint64_t> max_prefix_tokens;  // A row of PREFIX_AWARE for each.
  ReplayOptions replay;
  Workload workload;  // Replayed where there is no file.
  ReadOptions read;   // Of each file.
  std::vector<std::string> files;
};

// InvalidArgument names the flag and its value.
absl::StatusOr<CommandLine> ParseCommandLine(int argc, char** argv);

// What --help prints.
std::string HelpText();

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_COMMAND_LINE_H_
