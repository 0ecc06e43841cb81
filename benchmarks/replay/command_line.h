// SPDX-License-Identifier: Apache-2.0
//
// The flags of prefixroute_replay, checked.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_COMMAND_LINE_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_COMMAND_LINE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "benchmarks/replay/fleet_simulator.h"
#include "benchmarks/replay/rules/rules.h"
#include "benchmarks/replay/trace_reader.h"
#include "benchmarks/replay/workload_generator.h"

namespace prefixroute::replay {

struct CommandLine {
  bool help = false;
  bool progress = false;
  std::vector<NamedRule> rules;
  FleetOptions fleet;
  double speed = 1;
  bool smear = true;
  ReadOptions read;  // Of each file.
  std::vector<std::string> files;
  // Where there is no file, one of these.
  bool is_short_context = false;
  LongContext long_context;
  ShortContext short_context;
  // In place of all of these: RunPublishedExperiment(), of so many seconds; 0 for as long as it is.
  bool seeds_table = false;
  double seconds = 0;
  std::string json;  // Where to write it; empty for nowhere.
  std::string html;
};

// InvalidArgument names the flag and its value.
absl::StatusOr<CommandLine> ParseCommandLine(int argc, char** argv);

// What --help prints.
std::string HelpText();

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_COMMAND_LINE_H_
