// SPDX-License-Identifier: Apache-2.0
//
// prefixroute_replay: prints what each routing rule is worth on real traffic, by simulation. Exits with 0, with 1 where
// a file can't be read or the output not written, with 2 on a bad command line.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/replay/command_line.h"
#include "benchmarks/replay/fleet_simulator.h"
#include "benchmarks/replay/progress.h"
#include "benchmarks/replay/published_experiment.h"
#include "benchmarks/replay/report.h"
#include "benchmarks/replay/rules/rules.h"
#include "benchmarks/replay/smear.h"
#include "benchmarks/replay/trace.h"
#include "benchmarks/replay/trace_reader.h"
#include "benchmarks/replay/workload_generator.h"

namespace prefixroute::replay {
namespace {

constexpr int kFailed = 1;
constexpr int kBadCommandLine = 2;

bool AnyUserMessage(const Trace& trace) {
  return std::any_of(trace.requests.begin(), trace.requests.end(), HasUserMessage);
}

absl::Status Print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return absl::OkStatus();
  }
  return absl::DataLossError("standard output: cannot be written");
}

absl::Status WriteTo(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? absl::OkStatus() : absl::DataLossError(path + ": cannot be written");
}

// Before a long run, not after it.
absl::Status CheckWritable(const std::string& path) {
  if (path.empty() || std::ofstream(path, std::ios::app)) return absl::OkStatus();
  return absl::PermissionDeniedError(path + ": cannot be written");
}

// Runs every rule on the trace, prints the table and adds the report.
absl::Status Simulate(const std::string& source, const Trace& trace, const CommandLine& line, Progress* progress,
                      std::vector<Report>* reports) {
  Report report = MakeReport(source, trace, line.fleet);
  if (!line.fleet.events.empty() && line.fleet.events.back().at_us > trace.requests.back().arrival_us) {
    return absl::InvalidArgumentError(absl::StrCat("--event: ", ScaleEventText(line.fleet.events.back()),
                                                   ": comes after the last request of ", source));
  }
  if (line.fleet.warm_up_us > trace.requests.back().arrival_us) {
    return absl::InvalidArgumentError(absl::StrFormat("--warm_up=%g: ends after the last request of %s",
                                                      static_cast<double>(line.fleet.warm_up_us) / 1e6, source));
  }
  for (const NamedRule& rule : line.rules) {
    if (rule.name == "bounded_hash_user" && !AnyUserMessage(trace)) continue;
    absl::StatusOr<FleetResult> result =
        SimulateFleet(trace, line.fleet, rule.make, absl::StrCat(source, ", ", rule.name), progress);
    if (!result.ok()) return result.status();
    report.rows.push_back({rule.name, *std::move(result)});
  }
  progress->Clear();
  reports->push_back(std::move(report));
  return Print(absl::StrCat(reports->size() > 1 ? "\n" : "", Describe(reports->back()), RenderTable(reports->back())));
}

absl::Status SimulateFile(const std::string& path, const CommandLine& line, Progress* progress,
                          std::vector<Report>* reports) {
  absl::StatusOr<TraceFile> file = ReadTrace(path, line.read, progress);
  progress->Clear();
  if (!file.ok()) return file.status();
  for (const std::string& reason : file->bad_line_reasons) absl::FPrintF(stderr, "%s\n", reason);
  if (file->bad_lines > file->bad_line_reasons.size()) {
    absl::FPrintF(stderr, "%s: %d more bad lines\n", path, file->bad_lines - file->bad_line_reasons.size());
  }
  std::string source = std::filesystem::path(path).filename().string();
  if (file->bad_lines > 0) absl::StrAppend(&source, " without its ", file->bad_lines, " bad lines");
  if (file->disordered > 0) absl::StrAppend(&source, ", ", file->disordered, " out of order and sorted by time");
  const int64_t quantum_us = line.smear ? SmearQuanta(&file->trace, line.fleet.seed) : 0;
  if (quantum_us > 0) absl::StrAppendFormat(&source, ", smeared over its %g s", static_cast<double>(quantum_us) / 1e6);
  if (line.speed != 1) absl::StrAppendFormat(&source, ", %g times as fast", line.speed);
  file->trace.SpeedUp(line.speed);
  return Simulate(source, file->trace, line, progress, reports);
}

absl::Status SimulateGenerated(const CommandLine& line, Progress* progress, std::vector<Report>* reports) {
  Trace trace =
      line.is_short_context ? GenerateShortContext(line.short_context) : GenerateLongContext(line.long_context);
  if (trace.requests.empty()) return absl::InvalidArgumentError("the workload has no request in its time");
  trace.SpeedUp(line.speed);
  const std::string source =
      line.is_short_context
          ? absl::StrFormat("conversations of %g turns, %g requests a second", line.short_context.mean_turns,
                            line.short_context.rate)
          : absl::StrFormat("%d applications of %d tokens, %g requests a second", line.long_context.applications,
                            line.long_context.prefix_tokens, line.long_context.rate);
  return Simulate("generated " + source, trace, line, progress, reports);
}

absl::Status WriteReports(const CommandLine& line, const std::vector<Report>& reports) {
  if (!line.json.empty()) {
    if (absl::Status written = WriteTo(line.json, RenderJson(reports)); !written.ok()) return written;
  }
  return line.html.empty() ? absl::OkStatus() : WriteTo(line.html, RenderHtml(reports));
}

absl::Status SimulateAll(const CommandLine& line) {
  const bool terminal = isatty(STDERR_FILENO) != 0;
  Progress progress(terminal        ? Progress::Mode::kRewriteLine
                    : line.progress ? Progress::Mode::kNewLines
                                    : Progress::Mode::kOff);
  std::vector<Report> reports;
  for (const std::string& path : {line.json, line.html}) {
    if (absl::Status status = CheckWritable(path); !status.ok()) return status;
  }
  if (line.seeds_table) {
    absl::StatusOr<std::vector<Report>> run = RunPublishedExperiment(line.fleet.seed, line.seconds, &progress);
    progress.Clear();
    if (!run.ok()) return run.status();
    reports = *std::move(run);
    if (absl::Status printed = Print(RenderPublishedExperiment(reports)); !printed.ok()) return printed;
    return WriteReports(line, reports);
  }
  if (line.files.empty()) {
    if (absl::Status done = SimulateGenerated(line, &progress, &reports); !done.ok()) return done;
  }
  for (const std::string& file : line.files) {
    if (absl::Status done = SimulateFile(file, line, &progress, &reports); !done.ok()) return done;
  }
  if (absl::Status printed = Print(TableLegend()); !printed.ok()) return printed;
  return WriteReports(line, reports);
}

int Main(int argc, char** argv) {
  const absl::StatusOr<CommandLine> line = ParseCommandLine(argc, argv);
  if (!line.ok()) {
    absl::FPrintF(stderr, "prefixroute_replay: %s\n", line.status().message());
    return kBadCommandLine;
  }
  const absl::Status done = line->help ? Print(HelpText()) : SimulateAll(*line);
  if (done.ok()) return 0;
  absl::FPrintF(stderr, "prefixroute_replay: %s\n", done.message());
  return kFailed;
}

}  // namespace
}  // namespace prefixroute::replay

int main(int argc, char** argv) { return prefixroute::replay::Main(argc, argv); }
