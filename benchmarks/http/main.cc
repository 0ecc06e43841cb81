// SPDX-License-Identifier: Apache-2.0
//
// prefixroute_http_load: replays a trace, or a generated one, against an OpenAI-compatible server, and prints what it
// saw. Exits with 0, with 1 where a file or the server can't be reached, with 2 on a bad command line.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/http/engine_metrics.h"
#include "benchmarks/http/load.h"
#include "benchmarks/replay/progress.h"
#include "benchmarks/replay/smear.h"
#include "benchmarks/replay/trace.h"
#include "benchmarks/replay/trace_reader.h"
#include "benchmarks/replay/workload_generator.h"
#include "nlohmann/json.hpp"

ABSL_FLAG(std::string, target, "127.0.0.1:8080", "host:port to send to");
ABSL_FLAG(std::vector<std::string>, engines, {}, "host:port of each engine behind it, whose /metrics give the balance");
ABSL_FLAG(uint64_t, limit, 0, "requests; 0: all of the trace");
ABSL_FLAG(double, speed, 1, "requests arrive so many times as fast as the trace says");
ABSL_FLAG(double, engine_speed, 1, "the engines' own --speed: arrivals keep to it, and times are printed in it");
ABSL_FLAG(uint32_t, concurrency, 0,
          "a closed loop of so many requests at a time, in place of the trace's times; 0: no");
ABSL_FLAG(double, timeout, 300, "seconds without a byte after which a request has failed");
ABSL_FLAG(std::string, json, "", "file to write all figures to, as JSON");
ABSL_FLAG(uint32_t, applications, 450, "without a trace: applications, each with a long prompt of its own");
ABSL_FLAG(uint32_t, prefix_tokens, 8000, "without a trace: tokens of such a prompt");
ABSL_FLAG(uint32_t, question_tokens, 1344, "without a trace: new tokens behind it, mean");
ABSL_FLAG(uint32_t, output_tokens, 200, "without a trace: tokens of an answer, mean");
ABSL_FLAG(double, rate, 10, "without a trace: requests a second");

namespace prefixroute::http_load {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFailed = 1;
constexpr int kBadCommandLine = 2;
constexpr uint64_t kDefaultGenerated = 1000;

std::pair<std::string, std::string> HostAndPort(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return {address, "80"};
  return {address.substr(0, colon), address.substr(colon + 1)};
}

absl::StatusOr<replay::Trace> TheTrace(const std::vector<char*>& arguments) {
  const uint64_t limit = absl::GetFlag(FLAGS_limit);
  replay::Trace trace;
  if (arguments.size() < 2) {
    replay::LongContext workload;
    workload.applications = absl::GetFlag(FLAGS_applications);
    workload.prefix_tokens = absl::GetFlag(FLAGS_prefix_tokens);
    workload.mean_question_tokens = absl::GetFlag(FLAGS_question_tokens);
    workload.mean_output_tokens = absl::GetFlag(FLAGS_output_tokens);
    workload.rate = absl::GetFlag(FLAGS_rate);
    workload.max_requests = limit == 0 ? kDefaultGenerated : limit;
    trace = replay::GenerateLongContext(workload);
  } else {
    replay::Progress progress(replay::Progress::Mode::kOff);
    replay::ReadOptions options;
    options.limit = limit;
    absl::StatusOr<replay::TraceFile> file = replay::ReadTrace(arguments[1], options, &progress);
    if (!file.ok()) return file.status();
    for (const std::string& reason : file->bad_line_reasons) absl::FPrintF(stderr, "%s\n", reason);
    trace = std::move(file->trace);
    replay::SmearQuanta(&trace, 1);
  }
  trace.SpeedUp(absl::GetFlag(FLAGS_speed));
  return trace;
}

absl::StatusOr<std::vector<EngineMetrics>> AllEngineMetrics() {
  std::vector<EngineMetrics> all;
  for (const std::string& address : absl::GetFlag(FLAGS_engines)) {
    const auto [host, port] = HostAndPort(address);
    absl::StatusOr<EngineMetrics> metrics = FetchEngineMetrics(host, port);
    if (!metrics.ok()) return metrics.status();
    all.push_back(*metrics);
  }
  return all;
}

// By nearest rank, in seconds.
double Percentile(const std::vector<int64_t>& sorted_us, double share) {
  if (sorted_us.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(sorted_us.size()));
  return static_cast<double>(sorted_us[static_cast<size_t>(std::max(1.0, rank)) - 1]) / 1e6;
}

double Ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

Json Report(const LoadResult& load, const std::vector<EngineMetrics>& before, const std::vector<EngineMetrics>& after) {
  std::vector<int64_t> ttft_us;
  std::map<std::string, uint64_t> errors;
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;
  for (const Outcome& outcome : load.outcomes) {
    if (!outcome.error.empty()) {
      ++errors[outcome.error];
      continue;
    }
    ttft_us.push_back(outcome.ttft_us);
    prompt_tokens += outcome.prompt_tokens;
    cached_tokens += outcome.cached_tokens;
  }
  std::sort(ttft_us.begin(), ttft_us.end());
  const double sum_us = std::accumulate(ttft_us.begin(), ttft_us.end(), 0.0);
  Json engines = Json::array();
  for (size_t i = 0; i < after.size(); ++i) {
    const double tokens = after[i].prompt_tokens - before[i].prompt_tokens;
    engines.push_back({{"requests", after[i].requests - before[i].requests},
                       {"prompt_tokens", tokens},
                       {"hit_rate", Ratio(after[i].cached_tokens - before[i].cached_tokens, tokens)}});
  }
  return {{"requests", load.outcomes.size()},
          {"failed", load.outcomes.size() - ttft_us.size()},
          {"errors", errors},
          {"seconds", static_cast<double>(load.duration_us) / 1e6},
          {"ttft_seconds",
           {{"mean", Ratio(sum_us / 1e6, static_cast<double>(ttft_us.size()))},
            {"p50", Percentile(ttft_us, 0.5)},
            {"p90", Percentile(ttft_us, 0.9)},
            {"p99", Percentile(ttft_us, 0.99)}}},
          {"prompt_tokens", prompt_tokens},
          {"hit_rate", Ratio(static_cast<double>(cached_tokens), static_cast<double>(prompt_tokens))},
          {"engines", engines}};
}

// Adds "busiest" and "idlest": requests of the engine that had the most, and the least, over the mean.
void AddBalance(Json* report) {
  double most = 0;
  double least = HUGE_VAL;
  double sum = 0;
  for (const Json& engine : (*report)["engines"]) {
    const double requests = engine["requests"].get<double>();
    most = std::max(most, requests);
    least = std::min(least, requests);
    sum += requests;
  }
  if (sum == 0) return;
  const double mean = sum / static_cast<double>((*report)["engines"].size());
  (*report)["busiest"] = most / mean;
  (*report)["idlest"] = least / mean;
}

void Print(const Json& report) {
  const Json& ttft = report["ttft_seconds"];
  absl::PrintF("%d requests, %d failed, in %.1f s\n", report["requests"].get<uint64_t>(),
               report["failed"].get<uint64_t>(), report["seconds"].get<double>());
  for (const auto& [error, count] : report["errors"].items()) absl::PrintF("  %d: %s\n", count.get<uint64_t>(), error);
  absl::PrintF("TTFT mean %.3f P50 %.3f P90 %.3f P99 %.3f s\n", ttft["mean"].get<double>(), ttft["p50"].get<double>(),
               ttft["p90"].get<double>(), ttft["p99"].get<double>());
  absl::PrintF("hit rate %.3f of %d tokens\n", report["hit_rate"].get<double>(),
               report["prompt_tokens"].get<uint64_t>());
  if (report.contains("busiest")) {
    absl::PrintF("busiest engine %.2f, idlest %.2f of the mean\n", report["busiest"].get<double>(),
                 report["idlest"].get<double>());
  }
}

absl::Status Run(const std::vector<char*>& arguments) {
  const absl::StatusOr<replay::Trace> trace = TheTrace(arguments);
  if (!trace.ok()) return trace.status();
  LoadOptions options;
  std::tie(options.host, options.port) = HostAndPort(absl::GetFlag(FLAGS_target));
  options.concurrency = absl::GetFlag(FLAGS_concurrency);
  options.engine_speed = absl::GetFlag(FLAGS_engine_speed);
  options.timeout_seconds = absl::GetFlag(FLAGS_timeout);
  const absl::StatusOr<std::vector<EngineMetrics>> before = AllEngineMetrics();
  if (!before.ok()) return before.status();
  const absl::StatusOr<LoadResult> load = RunLoad(*trace, options);
  if (!load.ok()) return load.status();
  const absl::StatusOr<std::vector<EngineMetrics>> after = AllEngineMetrics();
  if (!after.ok()) return after.status();
  Json report = Report(*load, *before, *after);
  AddBalance(&report);
  Print(report);
  const std::string path = absl::GetFlag(FLAGS_json);
  if (path.empty()) return absl::OkStatus();
  std::ofstream file(path);
  file << report.dump(1) << "\n";
  file.close();
  return file ? absl::OkStatus() : absl::DataLossError(absl::StrCat("--json=", path, ": cannot be written"));
}

// What is wrong with the command line; "" where nothing is.
std::string BadCommandLine(const std::vector<char*>& arguments) {
  if (arguments.size() > 2) return absl::StrCat(arguments[2], ": one trace only");
  for (const auto& [name, value] :
       {std::pair("speed", absl::GetFlag(FLAGS_speed)), std::pair("engine_speed", absl::GetFlag(FLAGS_engine_speed)),
        std::pair("timeout", absl::GetFlag(FLAGS_timeout)), std::pair("rate", absl::GetFlag(FLAGS_rate))}) {
    if (!(value > 0 && value <= 1e6)) return absl::StrFormat("--%s=%g: not above 0, to a million", name, value);
  }
  if (absl::GetFlag(FLAGS_applications) == 0) return "--applications=0: not above 0";
  return "";
}

int Main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "prefixroute_http_load [--flag=value ...] [trace]\n"
      "Sends a trace, as prefixroute_replay reads it, to an OpenAI-compatible server. Without one: a generated one.");
  const std::vector<char*> arguments = absl::ParseCommandLine(argc, argv);
  if (const std::string bad = BadCommandLine(arguments); !bad.empty()) {
    absl::FPrintF(stderr, "prefixroute_http_load: %s\n", bad);
    return kBadCommandLine;
  }
  const absl::Status done = Run(arguments);
  if (done.ok()) return 0;
  absl::FPrintF(stderr, "prefixroute_http_load: %s\n", std::string(done.message()));
  return kFailed;
}

}  // namespace
}  // namespace prefixroute::http_load

int main(int argc, char** argv) {
  try {
    return prefixroute::http_load::Main(argc, argv);
  } catch (const std::exception& error) {
    absl::FPrintF(stderr, "prefixroute_http_load: %s\n", error.what());
    return prefixroute::http_load::kFailed;
  }
}
