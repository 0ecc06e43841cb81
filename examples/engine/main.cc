// SPDX-License-Identifier: Apache-2.0
//
// example_engine: small inference engines that compute nothing, but take their time and remember prefixes like real
// ones. README.md says more. Exits with 0 when told to end, with 1 where a port is taken, with 2 on a bad flag.

#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server.h"

ABSL_FLAG(uint32_t, engines, 1, "how many");
ABSL_FLAG(uint16_t, port, 0, "of the first; the others have the next ones. 0: any that are free");
ABSL_FLAG(std::string, address, "127.0.0.1", "where to listen");
ABSL_FLAG(std::string, model, "example", "what they call their model");
ABSL_FLAG(double, speed, 1, "the engines' time runs so many times as fast as the clock");
ABSL_FLAG(uint32_t, block_tokens, engine::SchedulerOptions().block_tokens, "tokens of 4 bytes in a block of the cache");
ABSL_FLAG(uint64_t, cache_tokens, engine::SchedulerOptions().cache_tokens, "tokens that the cache has room for");
ABSL_FLAG(uint32_t, step_tokens, engine::SchedulerOptions().step_tokens, "token budget of a step");
ABSL_FLAG(uint32_t, max_sequences, engine::SchedulerOptions().max_sequences, "requests that run at a time");
ABSL_FLAG(double, step_us, engine::SchedulerOptions().step_us, "what a step takes at least, in microseconds");
ABSL_FLAG(double, prefill_us_per_token, engine::SchedulerOptions().prefill_us_per_token,
          "what each computed token of a prompt adds to a step, in microseconds");
ABSL_FLAG(double, sequence_us, engine::SchedulerOptions().sequence_us,
          "what each running request adds to a step, in microseconds");

namespace engine {
namespace {

constexpr int kFailed = 1;
constexpr int kBadFlag = 2;
constexpr uint32_t kMaxEngines = 1000;
constexpr double kMaxUs = 1e9;

ServerOptions OptionsOfFlags() {
  ServerOptions options;
  options.speed = absl::GetFlag(FLAGS_speed);
  options.model = absl::GetFlag(FLAGS_model);
  options.scheduler.block_tokens = absl::GetFlag(FLAGS_block_tokens);
  options.scheduler.cache_tokens = absl::GetFlag(FLAGS_cache_tokens);
  options.scheduler.step_tokens = absl::GetFlag(FLAGS_step_tokens);
  options.scheduler.max_sequences = absl::GetFlag(FLAGS_max_sequences);
  options.scheduler.step_us = absl::GetFlag(FLAGS_step_us);
  options.scheduler.prefill_us_per_token = absl::GetFlag(FLAGS_prefill_us_per_token);
  options.scheduler.sequence_us = absl::GetFlag(FLAGS_sequence_us);
  return options;
}

// What is wrong with a flag; "" where nothing is.
std::string BadFlag(const ServerOptions& options) {
  const SchedulerOptions& scheduler = options.scheduler;
  const uint32_t engines = absl::GetFlag(FLAGS_engines);
  const uint16_t port = absl::GetFlag(FLAGS_port);
  if (engines < 1 || engines > kMaxEngines) return absl::StrFormat("--engines=%d: not 1 to %d", engines, kMaxEngines);
  if (port != 0 && port + engines - 1 > UINT16_MAX) {
    return absl::StrFormat("--port=%d: leaves no room for %d engines below %d", port, engines, UINT16_MAX);
  }
  if (!(options.speed > 0)) return absl::StrFormat("--speed=%g: not above 0", options.speed);
  if (options.model.find_first_of("\"\\\n") != std::string::npos) return "--model: has a quote, backslash or newline";
  if (scheduler.block_tokens < 1) return "--block_tokens=0: not above 0";
  if (scheduler.cache_tokens < scheduler.block_tokens) {
    return absl::StrFormat("--cache_tokens=%d: below --block_tokens=%d", scheduler.cache_tokens,
                           scheduler.block_tokens);
  }
  if (scheduler.max_sequences < 1) return "--max_sequences=0: not above 0";
  if (scheduler.step_tokens < scheduler.max_sequences) {
    return absl::StrFormat("--step_tokens=%d: below --max_sequences=%d", scheduler.step_tokens,
                           scheduler.max_sequences);
  }
  for (const auto& [name, us] :
       {std::pair("step_us", scheduler.step_us), std::pair("prefill_us_per_token", scheduler.prefill_us_per_token),
        std::pair("sequence_us", scheduler.sequence_us)}) {
    if (!(us >= 0 && us <= kMaxUs)) return absl::StrFormat("--%s=%g: not 0 to %g", name, us, kMaxUs);
  }
  return "";
}

// Each stream is a file descriptor, and 1,024 of them is what a process gets by default.
void AllowManyStreams() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int Run(const ServerOptions& options) {
  AllowManyStreams();
  boost::asio::io_context io(1);
  std::vector<std::unique_ptr<Server>> servers;
  std::string addresses;
  uint16_t port = absl::GetFlag(FLAGS_port);
  try {
    const auto address = boost::asio::ip::make_address(absl::GetFlag(FLAGS_address));
    for (uint32_t i = 0; i < absl::GetFlag(FLAGS_engines); ++i) {
      servers.push_back(std::make_unique<Server>(&io, boost::asio::ip::tcp::endpoint(address, port), options));
      absl::StrAppend(&addresses, i == 0 ? "" : ", ", "\"", absl::GetFlag(FLAGS_address), ":",
                      servers.back()->endpoint().port(), "\"");
      if (port != 0) ++port;
    }
  } catch (const boost::system::system_error& error) {
    absl::FPrintF(stderr, "example_engine: --address=%s --port=%d: %s\n", absl::GetFlag(FLAGS_address), port,
                  error.what());
    return kFailed;
  }
  absl::PrintF("{\"engines\": [%s]}\n", addresses);
  std::fflush(stdout);
  boost::asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&io](boost::system::error_code, int) { io.stop(); });
  io.run();
  return 0;
}

int Main(int argc, char** argv) {
  absl::SetProgramUsageMessage(
      "inference engines that compute nothing.\n"
      "Prints {\"engines\": [\"127.0.0.1:40001\", ...]} once they listen, and runs until SIGINT or SIGTERM.");
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  const ServerOptions options = OptionsOfFlags();
  std::string bad = BadFlag(options);
  if (rest.size() > 1) bad = absl::StrCat(rest[1], ": not a flag");
  if (bad.empty()) return Run(options);
  absl::FPrintF(stderr, "example_engine: %s\n", bad);
  return kBadFlag;
}

}  // namespace
}  // namespace engine

int main(int argc, char** argv) {
  try {
    return engine::Main(argc, argv);
  } catch (const std::exception& error) {
    absl::FPrintF(stderr, "example_engine: %s\n", error.what());
    return engine::kFailed;
  }
}
