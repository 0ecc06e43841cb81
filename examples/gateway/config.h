// SPDX-License-Identifier: Apache-2.0
//
// What the gateway is told: a JSON file, and flags that replace single values of it.

#ifndef PREFIXROUTE_EXAMPLES_GATEWAY_CONFIG_H_
#define PREFIXROUTE_EXAMPLES_GATEWAY_CONFIG_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "prefixroute/instance.h"
#include "prefixroute/router.h"

namespace gateway {

struct Address {
  std::string host;
  uint16_t port = 0;  // 0, where we listen: any free one.
};

struct InstanceConfig {
  prefixroute::Instance instance;
  Address address;
  bool draining = false;
};

// Of a request. No field that Beast would not keep is in so many.
constexpr uint32_t kMaxHeaderBytes = 64 << 10;

enum class LoadSource { kNone, kMetrics, kOrca };

struct Config {
  using Milliseconds = std::chrono::milliseconds;

  Address listen{"127.0.0.1", 8080};
  std::optional<Address> admin;  // Where /metrics and /healthz are; where there is none, at `listen`.
  uint32_t threads = 0;          // 0: one a processor.
  bool decision_headers = false;
  prefixroute::RouterOptions router;
  std::vector<InstanceConfig> instances;

  struct {
    std::string path = "/health";  // Empty: an instance that takes a connection is well.
    Milliseconds interval{2'000};
    Milliseconds timeout{2'000};
    uint32_t failures = 3;  // So many in a row, of checks or of requests, and the instance drains.
  } health;

  struct {
    LoadSource source = LoadSource::kMetrics;
    std::string path = "/metrics";
    Milliseconds interval{1'000};
  } load;

  struct {
    uint32_t header_bytes = kMaxHeaderBytes;
    uint32_t body_bytes = 32 << 20;
    uint32_t tries = 3;
  } limits;

  struct {
    Milliseconds keep_alive{75'000};   // Between a client's requests.
    Milliseconds header{10'000};       // From a request's first byte to the end of its header.
    Milliseconds body{60'000};         // From there to the end of its body.
    Milliseconds write{30'000};        // Until a client has taken a piece of its answer.
    Milliseconds connect{2'000};       // To an instance.
    Milliseconds first_byte{600'000};  // From there to the first byte of the answer's body.
    Milliseconds stall{120'000};       // Between pieces of the answer's body.
    Milliseconds shutdown{60'000};     // For streams to end after SIGTERM.
  } timeouts;
};

// InvalidArgument names the field and its value.
absl::StatusOr<Config> ParseConfig(std::string_view json);

struct CommandLine {
  bool help = false;
  bool check = false;  // Only say whether the config is right.
  std::string file;    // Empty: none.
  // The flags that stand for values of the config, as a JSON object.
  std::string overrides;
};

const char* HelpText();

absl::StatusOr<CommandLine> ParseCommandLine(int argc, const char* const* argv);

// Reads the file, if any, and puts the flags' values over it.
absl::StatusOr<Config> LoadConfig(const CommandLine& command_line);

}  // namespace gateway

#endif  // PREFIXROUTE_EXAMPLES_GATEWAY_CONFIG_H_
