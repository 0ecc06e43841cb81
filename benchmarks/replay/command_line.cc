// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/command_line.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "prefixroute/instance.h"
#include "prefixroute/prefix_key.h"

ABSL_FLAG(bool, help, false, "print this and exit");
ABSL_FLAG(bool, progress, false, "show progress even where stderr is no terminal");
ABSL_FLAG(uint64_t, seed, 1, "of all that is random; the same seed gives the same table");
ABSL_FLAG(uint64_t, limit, 0, "requests to replay of each file, or to generate; 0: all of the file, or 2000");
ABSL_FLAG(uint32_t, instances, 8, "simulated instances");
ABSL_FLAG(std::vector<std::string>, strategies,
          std::vector<std::string>({"RANDOM", "LEAST_OUTSTANDING_REQUESTS", "PREFIX_AWARE"}), "what to compare");
ABSL_FLAG(std::vector<std::string>, max_prefix_tokens,
          std::vector<std::string>({"128", "512", "1024", "4096", "16384"}),
          "how much of a prompt PREFIX_AWARE looks at, in tokens of 4 bytes; a row for each");
ABSL_FLAG(uint32_t, relative_bound_factor_percent, prefixroute::RelativeBound().factor_percent,
          "PREFIX_AWARE's relative bound, in percent of the mean load; 0: none");
ABSL_FLAG(uint32_t, relative_bound_margin, prefixroute::RelativeBound().margin,
          "requests above the mean that the relative bound always allows");
ABSL_FLAG(uint32_t, relative_bound_floor, prefixroute::RelativeBound().floor,
          "requests that the relative bound always allows");
ABSL_FLAG(uint32_t, max_outstanding, 0, "the hard bound of requests outstanding on an instance; 0: none");
ABSL_FLAG(uint64_t, cache_tokens, 0,
          "each instance's cache, in tokens; 0: no limit. An 8-billion-parameter model on an 80 GB GPU has room for "
          "about 400000");
ABSL_FLAG(uint32_t, block_tokens, prefixroute::replay::ReadOptions().text_block_tokens,
          "traces of text: how many tokens the engine's cache has in a block");
ABSL_FLAG(double, speed, 1, "requests arrive so many times as fast as the trace says");
ABSL_FLAG(uint32_t, prefill_us_per_token, prefixroute::replay::ReplayOptions().prefill_us_per_token,
          "how long a request stays outstanding for each input token that is not cached, in microseconds");
ABSL_FLAG(uint32_t, decode_us_per_token, prefixroute::replay::ReplayOptions().decode_us_per_token,
          "how long a request stays outstanding for each output token, in microseconds");
ABSL_FLAG(uint32_t, applications, prefixroute::replay::Workload().applications,
          "generated workload: applications, each with an 8000-token prompt of its own");
ABSL_FLAG(double, rate, prefixroute::replay::Workload().rate, "generated workload: requests a second");

namespace prefixroute::replay {
namespace {

constexpr uint32_t kMaxUsPerToken = 1'000'000;
constexpr uint32_t kMaxApplications = 1'000'000;
constexpr uint64_t kMaxGeneratedRequests = 1'000'000;
constexpr double kMinSpeed = 0.01;
constexpr double kMaxSpeed = 1e6;
constexpr double kMinRate = 0.001;
constexpr double kMaxRate = 1e6;

constexpr std::string_view kUsage =
    "usage: prefixroute_replay [--flag=value ...] [trace ...]\n"
    "\n"
    "Replays each trace through the router against simulated prefix caches, and prints what every strategy is worth.\n"
    "A trace has JSON lines, plain or gzip, of either form:\n"
    "  {\"timestamp\": ms, \"input_length\": tokens, \"output_length\": tokens, \"hash_ids\": [one for 512 tokens, "
    "...]}\n"
    "  {\"timestamp\": ms, \"prompt\": \"...\", \"output_bytes\": bytes}\n"
    "Without one, a workload is generated: applications that each send a long prompt and a new question.\n"
    "\n";

absl::Status Bad(const std::string& why) { return absl::InvalidArgumentError(why); }

// --a=b, --a b, --switch, --noswitch; what doesn't begin with "--", or comes behind a "--" alone, is a file.
absl::Status SetFlags(int argc, char** argv, std::vector<std::string>* files) {
  bool only_files = false;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (only_files || argument.size() < 2 || argument[0] != '-') {
      files->push_back(argument);
      continue;
    }
    if (argument == "--") {
      only_files = true;
      continue;
    }
    const size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    name.erase(0, std::min<size_t>(name.find_first_not_of('-'), 2));
    std::optional<std::string> value;
    if (equals != std::string::npos) value = argument.substr(equals + 1);
    absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
    if (flag == nullptr) return Bad(absl::StrCat(argument, ": there is no such flag; --help lists them"));
    if (!value.has_value() && flag->IsOfType<bool>()) value = "true";
    if (!value.has_value() && i + 1 < argc) value = argv[++i];
    if (!value.has_value()) return Bad(absl::StrCat("--", name, ": has no value"));
    std::string error;
    if (!flag->ParseFrom(*value, &error)) return Bad(absl::StrFormat("--%s=%s: not a valid value", name, *value));
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status CheckRange(const absl::Flag<T>& flag, T min, T max) {
  const T value = absl::GetFlag(flag);
  if (value >= min && value <= max) return absl::OkStatus();
  return Bad(
      absl::StrCat("--", absl::GetFlagReflectionHandle(flag).Name(), "=", value, ": must be from ", min, " to ", max));
}

absl::Status CheckRanges() {
  const bool relative_bound = absl::GetFlag(FLAGS_relative_bound_factor_percent) != 0;
  for (const absl::Status& status : {
           CheckRange<uint32_t>(FLAGS_instances, 1, kMaxInstances),
           CheckRange<uint32_t>(FLAGS_relative_bound_factor_percent, relative_bound ? 100 : 0, 100'000),
           CheckRange<uint32_t>(FLAGS_relative_bound_margin, 0, kMaxOutstanding),
           CheckRange<uint32_t>(FLAGS_relative_bound_floor, 0, kMaxOutstanding),
           CheckRange<uint32_t>(FLAGS_max_outstanding, 0, kMaxOutstanding),
           CheckRange<uint32_t>(FLAGS_block_tokens, 1, kMaxTokens),
           CheckRange<double>(FLAGS_speed, kMinSpeed, kMaxSpeed),
           CheckRange<uint32_t>(FLAGS_prefill_us_per_token, 0, kMaxUsPerToken),
           CheckRange<uint32_t>(FLAGS_decode_us_per_token, 0, kMaxUsPerToken),
           CheckRange<uint32_t>(FLAGS_applications, 1, kMaxApplications),
           CheckRange<double>(FLAGS_rate, kMinRate, kMaxRate),
       }) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(int argc, char** argv) {
  CommandLine line;
  if (absl::Status set = SetFlags(argc, argv, &line.files); !set.ok()) return set;
  if (absl::Status ranges = CheckRanges(); !ranges.ok()) return ranges;

  for (const std::string& name : absl::GetFlag(FLAGS_strategies)) {
    const absl::StatusOr<Strategy> strategy = ParseStrategy(name);
    if (!strategy.ok()) {
      return Bad(
          absl::StrFormat("--strategies: \"%s\" is none of RANDOM, LEAST_OUTSTANDING_REQUESTS, PREFIX_AWARE", name));
    }
    line.strategies.push_back(*strategy);
  }
  if (line.strategies.empty()) return Bad("--strategies: names none");
  constexpr uint64_t kMaxPrefixTokens = kMaxMaxPrefixBytes / kBytesPerToken;
  for (const std::string& text : absl::GetFlag(FLAGS_max_prefix_tokens)) {
    uint64_t tokens = 0;
    if (!absl::SimpleAtoi(text, &tokens) || tokens < 1 || tokens > kMaxPrefixTokens) {
      return Bad(absl::StrFormat("--max_prefix_tokens: \"%s\" is not an integer from 1 to %d", text, kMaxPrefixTokens));
    }
    line.max_prefix_tokens.push_back(tokens);
  }
  const bool prefix_aware =
      std::find(line.strategies.begin(), line.strategies.end(), Strategy::kPrefixAware) != line.strategies.end();
  if (prefix_aware && line.max_prefix_tokens.empty()) return Bad("--max_prefix_tokens: names none");

  line.help = absl::GetFlag(FLAGS_help);
  line.progress = absl::GetFlag(FLAGS_progress);
  line.read.limit = absl::GetFlag(FLAGS_limit);
  line.read.text_block_tokens = absl::GetFlag(FLAGS_block_tokens);
  line.replay.instances = absl::GetFlag(FLAGS_instances);
  line.replay.router.relative_bound.factor_percent = absl::GetFlag(FLAGS_relative_bound_factor_percent);
  line.replay.router.relative_bound.margin = absl::GetFlag(FLAGS_relative_bound_margin);
  line.replay.router.relative_bound.floor = absl::GetFlag(FLAGS_relative_bound_floor);
  line.replay.max_outstanding = absl::GetFlag(FLAGS_max_outstanding);
  line.replay.cache_tokens = absl::GetFlag(FLAGS_cache_tokens);
  line.replay.speed = absl::GetFlag(FLAGS_speed);
  line.replay.prefill_us_per_token = absl::GetFlag(FLAGS_prefill_us_per_token);
  line.replay.decode_us_per_token = absl::GetFlag(FLAGS_decode_us_per_token);
  line.replay.seed = absl::GetFlag(FLAGS_seed);
  line.workload.seed = absl::GetFlag(FLAGS_seed);
  line.workload.applications = absl::GetFlag(FLAGS_applications);
  line.workload.rate = absl::GetFlag(FLAGS_rate);
  if (line.read.limit > 0) line.workload.requests = line.read.limit;
  if (line.files.empty() && line.read.limit > kMaxGeneratedRequests) {
    return Bad(
        absl::StrFormat("--limit=%d: at most %d requests are generated", line.read.limit, kMaxGeneratedRequests));
  }
  return line;
}

std::string HelpText() {
  std::string text(kUsage);
  std::vector<std::string> lines;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    if (flag->Filename().find("benchmarks/replay") == absl::string_view::npos) continue;
    lines.push_back(absl::StrCat("  --", name, "=", flag->DefaultValue(), "\n      ", flag->Help(), "\n"));
  }
  std::sort(lines.begin(), lines.end());
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace prefixroute::replay
