// SPDX-License-Identifier: Apache-2.0
//
// prefixroute_replay: prints what each strategy is worth on real traffic. Exits with 0, with 1 where a file can't be
// read or the output not written, with 2 on a bad command line.

#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/replay/command_line.h"
#include "benchmarks/replay/progress.h"
#include "benchmarks/replay/replay.h"
#include "benchmarks/replay/report.h"
#include "benchmarks/replay/trace.h"
#include "benchmarks/replay/trace_reader.h"
#include "benchmarks/replay/workload_generator.h"

namespace prefixroute::replay {
namespace {

constexpr int kFailed = 1;
constexpr int kBadCommandLine = 2;

absl::Status Print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return absl::OkStatus();
  }
  return absl::DataLossError("standard output: cannot be written");
}

absl::Status PrintReplay(const std::string& source, const Trace& trace, const CommandLine& line, Progress* progress) {
  std::vector<ReportRow> rows;
  for (const Strategy strategy : line.strategies) {
    const bool by_prefix = strategy == Strategy::kPrefixAware;
    for (const uint64_t max_prefix_tokens : by_prefix ? line.max_prefix_tokens : std::vector<uint64_t>{0}) {
      ReplayOptions options = line.replay;
      options.router.strategy = strategy;
      if (by_prefix) options.router.max_prefix_bytes = max_prefix_tokens * kBytesPerToken;
      absl::StatusOr<ReplayResult> result =
          Replay(trace, options, absl::StrFormat("%s, row %d", source, rows.size() + 1), progress);
      if (!result.ok()) return result.status();
      rows.push_back({strategy, max_prefix_tokens, *std::move(result)});
    }
  }
  const std::string table = RenderTable(trace, OneCacheHitTokens(trace), rows);
  progress->Clear();
  return Print(DescribeReplay(source, trace, line.replay) + table);
}

absl::Status ReplayFile(const std::string& path, const CommandLine& line, Progress* progress) {
  const absl::StatusOr<TraceFile> file = ReadTrace(path, line.read, progress);
  progress->Clear();
  if (!file.ok()) return file.status();
  for (const std::string& reason : file->bad_line_reasons) absl::FPrintF(stderr, "%s\n", reason);
  if (file->bad_lines > file->bad_line_reasons.size()) {
    absl::FPrintF(stderr, "%s: %d more bad lines\n", path, file->bad_lines - file->bad_line_reasons.size());
  }
  std::string source = path;
  if (file->bad_lines > 0) absl::StrAppend(&source, " without its ", file->bad_lines, " bad lines");
  if (file->disordered > 0) absl::StrAppend(&source, ", ", file->disordered, " out of order and sorted by time");
  return PrintReplay(source, file->trace, line, progress);
}

absl::Status ReplayAll(const CommandLine& line) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  Progress progress(terminal        ? Progress::Mode::kRewriteLine
                    : line.progress ? Progress::Mode::kNewLines
                                    : Progress::Mode::kOff);
  if (line.files.empty()) {
    const std::string source = absl::StrFormat("%d generated applications", line.workload.applications);
    return PrintReplay(source, GenerateTrace(line.workload), line, &progress);
  }
  for (size_t i = 0; i < line.files.size(); ++i) {
    if (i > 0) {
      if (absl::Status gap = Print("\n"); !gap.ok()) return gap;
    }
    if (absl::Status replayed = ReplayFile(line.files[i], line, &progress); !replayed.ok()) return replayed;
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  const absl::StatusOr<CommandLine> line = ParseCommandLine(argc, argv);
  if (!line.ok()) {
    absl::FPrintF(stderr, "prefixroute_replay: %s\n", line.status().message());
    return kBadCommandLine;
  }
  const absl::Status done = line->help ? Print(HelpText()) : ReplayAll(*line);
  if (done.ok()) return 0;
  absl::FPrintF(stderr, "prefixroute_replay: %s\n", done.message());
  return kFailed;
}

}  // namespace
}  // namespace prefixroute::replay

int main(int argc, char** argv) { return prefixroute::replay::Main(argc, argv); }
