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

namespace {

constexpr prefixroute::replay::EngineOptions kEngine;
constexpr prefixroute::replay::LongContext kLongContext;
constexpr prefixroute::RelativeBound kRelativeBound;

// A function, since its vector can't be a constant.
prefixroute::replay::FleetOptions Fleet() { return {}; }

}  // namespace

ABSL_FLAG(bool, help, false, "print this and exit");
ABSL_FLAG(bool, progress, false, "show progress even where stderr is no terminal");
ABSL_FLAG(uint64_t, seed, Fleet().seed, "of all that is random; the same seed gives the same figures");
ABSL_FLAG(uint64_t, limit, 0, "requests of each file, or of the generated workload, that are replayed; 0: all");
ABSL_FLAG(std::vector<std::string>, rules,
          std::vector<std::string>({"random", "least_outstanding", "strict", "prefix_aware"}),
          "what is simulated, a row each; see below");
ABSL_FLAG(bool, compare, false, "all rules that the trace has what it takes for");
ABSL_FLAG(std::vector<std::string>, max_prefix_tokens,
          std::vector<std::string>({"128", "512", "1024", "4096", "16384"}),
          "how much of a prompt strict PREFIX_AWARE looks at, in tokens of 4 bytes; a row for each");
ABSL_FLAG(uint32_t, relative_bound_factor_percent, kRelativeBound.factor_percent,
          "strict PREFIX_AWARE's relative bound, in percent of the mean load; 0: none");
ABSL_FLAG(uint32_t, relative_bound_margin, kRelativeBound.margin,
          "requests above the mean that the relative bound always allows");
ABSL_FLAG(uint32_t, relative_bound_floor, kRelativeBound.floor, "requests that the relative bound always allows");
ABSL_FLAG(uint32_t, max_outstanding, Fleet().max_outstanding,
          "the hard bound of requests that a gateway has outstanding on an instance; 0: none");
ABSL_FLAG(uint32_t, instances, Fleet().instances, "engines");
ABSL_FLAG(uint32_t, gateways, Fleet().gateways,
          "replicas of the gateway, each with a router of its own that sees only its own requests");
ABSL_FLAG(double, report, 0, "seconds after which engines tell every gateway their load, again and again; 0: never");
ABSL_FLAG(std::vector<std::string>, event, {},
          "changes of the fleet: TIME:add, TIME:remove:INSTANCE, TIME:restart:INSTANCE; a time is 300s, 5m");
ABSL_FLAG(uint32_t, step_tokens, kEngine.step_tokens, "engine: token budget of a step");
ABSL_FLAG(uint32_t, max_sequences, kEngine.max_sequences, "engine: sequences that run at a time");
ABSL_FLAG(double, step_us, kEngine.step_us, "engine: what a step takes at least, in microseconds");
ABSL_FLAG(double, prefill_us_per_token, kEngine.prefill_us_per_token,
          "engine: what each prompt token adds to a step, in microseconds");
ABSL_FLAG(double, sequence_us, kEngine.sequence_us,
          "engine: what each running sequence adds to a step, in microseconds");
ABSL_FLAG(uint64_t, cache_tokens, kEngine.cache_tokens, "engine: its KV memory, in tokens; 0: no limit");
ABSL_FLAG(uint32_t, block_tokens, prefixroute::replay::ReadOptions().text_block_tokens,
          "traces of text: how many tokens the engine's memory has in a page");
ABSL_FLAG(double, speed, 1, "requests arrive so many times as fast as the trace says");
ABSL_FLAG(bool, smear, true, "spread requests of one timestamp till the next, where most share theirs with others");
ABSL_FLAG(double, warm_up, 0, "seconds at the start whose requests are not counted");
ABSL_FLAG(double, ttft_limit, static_cast<double>(Fleet().ttft_limit_us) / 1e6,
          "seconds to the first token within which a request is goodput");
ABSL_FLAG(double, bucket, static_cast<double>(Fleet().bucket_us) / 1e6, "seconds a point of the time series");
ABSL_FLAG(bool, seeds_table, false,
          "in place of all else: the experiment that was published with PREFIX_AWARE, beside its figures");
ABSL_FLAG(std::string, json, "", "file to write all figures to, as JSON");
ABSL_FLAG(std::string, html, "", "file to write a page with charts to");
ABSL_FLAG(std::string, workload, "long_context",
          "without a file: long_context (applications, each with an 8000-token prompt of its own) or short_context "
          "(conversations of several turns)");
ABSL_FLAG(uint32_t, applications, kLongContext.applications, "long_context: applications");
ABSL_FLAG(uint32_t, question_tokens, kLongContext.mean_question_tokens,
          "long_context: new tokens behind the shared prompt, mean");
ABSL_FLAG(double, turns, prefixroute::replay::ShortContext().mean_turns, "short_context: turns a conversation, mean");
ABSL_FLAG(double, rate, 0, "generated workload: requests a second; 0: 10 of long_context, 20 of short_context");
ABSL_FLAG(double, seconds, 0,
          "generated workload: how long; 0: an hour of long_context, half an hour of short_context");

namespace prefixroute::replay {
namespace {

constexpr double kMaxUs = 1e9;
constexpr uint32_t kMaxApplications = 1'000'000;
constexpr uint32_t kMaxGateways = 1024;
constexpr uint32_t kMaxStepTokens = 1 << 24;
constexpr uint64_t kMaxGeneratedRequests = 2'000'000;
constexpr double kMinSpeed = 0.01;
constexpr double kMaxSpeed = 1e6;
constexpr double kMaxRate = 1e6;
constexpr double kMaxSeconds = 1e6;

constexpr std::string_view kUsage =
    "usage: prefixroute_replay [--flag=value ...] [trace ...]\n"
    "\n"
    "Sends each trace through routing rules to a simulated fleet of engines, and prints what each rule is worth.\n"
    "A trace has JSON lines, plain or gzip, of either form:\n"
    "  {\"timestamp\": ms, \"input_length\": tokens, \"output_length\": tokens, \"hash_ids\": [one for 512 tokens, "
    "...]}\n"
    "  {\"timestamp\": ms, \"prompt\": \"...\", \"output_bytes\": bytes}\n"
    "Without one, a workload is generated.\n"
    "\n";

absl::Status Bad(const std::string& why) { return absl::InvalidArgumentError(why); }

// --a=b, --a b, --switch; what doesn't begin with "--", or comes behind a "--" alone, is a file.
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
           CheckRange<uint32_t>(FLAGS_gateways, 1, kMaxGateways),
           CheckRange<double>(FLAGS_report, 0, kMaxSeconds),
           CheckRange<uint32_t>(FLAGS_relative_bound_factor_percent, relative_bound ? 100 : 0, 100'000),
           CheckRange<uint32_t>(FLAGS_relative_bound_margin, 0, kMaxOutstanding),
           CheckRange<uint32_t>(FLAGS_relative_bound_floor, 0, kMaxOutstanding),
           CheckRange<uint32_t>(FLAGS_max_outstanding, 0, kMaxOutstanding),
           CheckRange<uint32_t>(FLAGS_step_tokens, 1, kMaxStepTokens),
           CheckRange<uint32_t>(FLAGS_max_sequences, 1, absl::GetFlag(FLAGS_step_tokens)),
           CheckRange<double>(FLAGS_step_us, 1, kMaxUs),
           CheckRange<double>(FLAGS_prefill_us_per_token, 0, kMaxUs),
           CheckRange<double>(FLAGS_sequence_us, 0, kMaxUs),
           CheckRange<uint32_t>(FLAGS_block_tokens, 1, kMaxTokens),
           CheckRange<double>(FLAGS_speed, kMinSpeed, kMaxSpeed),
           CheckRange<double>(FLAGS_warm_up, 0, kMaxSeconds),
           CheckRange<double>(FLAGS_ttft_limit, 0, kMaxSeconds),
           CheckRange<double>(FLAGS_bucket, 0.001, kMaxSeconds),
           CheckRange<uint32_t>(FLAGS_applications, 1, kMaxApplications),
           CheckRange<uint32_t>(FLAGS_question_tokens, 1, kMaxTokens / 4),
           CheckRange<double>(FLAGS_turns, 1, 1000),
           CheckRange<double>(FLAGS_rate, 0, kMaxRate),
           CheckRange<double>(FLAGS_seconds, 0, kMaxSeconds),
       }) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

int64_t Us(double seconds) { return static_cast<int64_t>(seconds * 1e6); }

absl::Status SetEvents(CommandLine* line) {
  for (const std::string& text : absl::GetFlag(FLAGS_event)) {
    const absl::StatusOr<ScaleEvent> event = ParseScaleEvent(text);
    if (!event.ok()) return Bad(absl::StrCat("--event: ", event.status().message()));
    line->fleet.events.push_back(*event);
  }
  std::stable_sort(line->fleet.events.begin(), line->fleet.events.end(),
                   [](const ScaleEvent& a, const ScaleEvent& b) { return a.at_us < b.at_us; });
  const absl::Status checked = CheckScaleEvents(line->fleet.events, line->fleet.instances);
  return checked.ok() ? checked : Bad(absl::StrCat("--event: ", checked.message()));
}

absl::Status SetRules(CommandLine* line) {
  constexpr uint64_t kMaxPrefixTokens = kMaxMaxPrefixBytes / kBytesPerToken;
  std::vector<uint64_t> strict_tokens;
  for (const std::string& text : absl::GetFlag(FLAGS_max_prefix_tokens)) {
    uint64_t tokens = 0;
    if (!absl::SimpleAtoi(text, &tokens) || tokens < 1 || tokens > kMaxPrefixTokens) {
      return Bad(absl::StrFormat("--max_prefix_tokens: \"%s\" is not an integer from 1 to %d", text, kMaxPrefixTokens));
    }
    strict_tokens.push_back(tokens);
  }
  RouterOptions router;
  router.relative_bound.factor_percent = absl::GetFlag(FLAGS_relative_bound_factor_percent);
  router.relative_bound.margin = absl::GetFlag(FLAGS_relative_bound_margin);
  router.relative_bound.floor = absl::GetFlag(FLAGS_relative_bound_floor);
  std::vector<std::string> names = absl::GetFlag(FLAGS_rules);
  if (absl::GetFlag(FLAGS_compare)) {
    names.clear();
    for (const RuleDescription& rule : AllRules()) names.emplace_back(rule.name);
  }
  for (const std::string& name : names) {
    absl::StatusOr<std::vector<NamedRule>> rules = FindRules(name, router, strict_tokens);
    if (!rules.ok()) return Bad(absl::StrCat("--rules: ", rules.status().message()));
    line->rules.insert(line->rules.end(), rules->begin(), rules->end());
  }
  return line->rules.empty() ? Bad("--rules: names none") : absl::OkStatus();
}

absl::Status SetWorkload(CommandLine* line) {
  const std::string workload = absl::GetFlag(FLAGS_workload);
  line->is_short_context = workload == "short_context";
  if (!line->is_short_context && workload != "long_context") {
    return Bad(absl::StrFormat("--workload=%s: must be long_context or short_context", workload));
  }
  LongContext& long_context = line->long_context;
  ShortContext& short_context = line->short_context;
  long_context.applications = absl::GetFlag(FLAGS_applications);
  long_context.mean_question_tokens = absl::GetFlag(FLAGS_question_tokens);
  short_context.mean_turns = absl::GetFlag(FLAGS_turns);
  if (absl::GetFlag(FLAGS_rate) > 0) long_context.rate = short_context.rate = absl::GetFlag(FLAGS_rate);
  long_context.seed = short_context.seed = absl::GetFlag(FLAGS_seed);
  if (absl::GetFlag(FLAGS_seconds) > 0) long_context.seconds = short_context.seconds = absl::GetFlag(FLAGS_seconds);
  if (line->read.limit > 0) long_context.max_requests = short_context.max_requests = line->read.limit;
  const double rate = line->is_short_context ? short_context.rate : long_context.rate;
  const double requests = rate * (line->is_short_context ? short_context.seconds : long_context.seconds);
  if (line->files.empty() &&
      std::min(requests, static_cast<double>(long_context.max_requests)) > kMaxGeneratedRequests) {
    return Bad(
        absl::StrFormat("--rate=%g: makes %.0f requests, more than the %d that are generated at most; set --seconds or "
                        "--limit",
                        rate, requests, kMaxGeneratedRequests));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CommandLine> ParseCommandLine(int argc, char** argv) {
  CommandLine line;
  if (absl::Status set = SetFlags(argc, argv, &line.files); !set.ok()) return set;
  if (absl::Status ranges = CheckRanges(); !ranges.ok()) return ranges;
  line.help = absl::GetFlag(FLAGS_help);
  line.progress = absl::GetFlag(FLAGS_progress);
  line.read.limit = absl::GetFlag(FLAGS_limit);
  line.read.text_block_tokens = absl::GetFlag(FLAGS_block_tokens);
  line.speed = absl::GetFlag(FLAGS_speed);
  line.smear = absl::GetFlag(FLAGS_smear);
  line.json = absl::GetFlag(FLAGS_json);
  line.html = absl::GetFlag(FLAGS_html);
  line.seeds_table = absl::GetFlag(FLAGS_seeds_table);
  line.seconds = absl::GetFlag(FLAGS_seconds);
  FleetOptions& fleet = line.fleet;
  fleet.instances = absl::GetFlag(FLAGS_instances);
  fleet.gateways = absl::GetFlag(FLAGS_gateways);
  fleet.report_us = Us(absl::GetFlag(FLAGS_report));
  fleet.max_outstanding = absl::GetFlag(FLAGS_max_outstanding);
  fleet.engine.step_tokens = absl::GetFlag(FLAGS_step_tokens);
  fleet.engine.max_sequences = absl::GetFlag(FLAGS_max_sequences);
  fleet.engine.step_us = absl::GetFlag(FLAGS_step_us);
  fleet.engine.prefill_us_per_token = absl::GetFlag(FLAGS_prefill_us_per_token);
  fleet.engine.sequence_us = absl::GetFlag(FLAGS_sequence_us);
  fleet.engine.cache_tokens = absl::GetFlag(FLAGS_cache_tokens);
  fleet.warm_up_us = Us(absl::GetFlag(FLAGS_warm_up));
  fleet.ttft_limit_us = Us(absl::GetFlag(FLAGS_ttft_limit));
  fleet.bucket_us = Us(absl::GetFlag(FLAGS_bucket));
  fleet.seed = absl::GetFlag(FLAGS_seed);
  if (line.seeds_table && !line.files.empty()) {
    return Bad(absl::StrFormat("--seeds_table: takes no trace, but there is %s", line.files.front()));
  }
  if (absl::Status events = SetEvents(&line); !events.ok()) return events;
  if (absl::Status rules = SetRules(&line); !rules.ok()) return rules;
  if (absl::Status workload = SetWorkload(&line); !workload.ok()) return workload;
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
  text += "\nRules:\n";
  for (const RuleDescription& rule : AllRules()) absl::StrAppendFormat(&text, "  %-18s %s\n", rule.name, rule.what);
  return text;
}

}  // namespace prefixroute::replay
