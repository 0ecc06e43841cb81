// SPDX-License-Identifier: Apache-2.0
//
// A reverse proxy for LLM engines on prefixroute. docs/gateway.md tells how to use it; here is the order of the files:
// config, fleet (router and instances), heads, answers, usage_scanner, engine_load, upstream (connections to
// instances), session (a client's connection), worker (a thread), poller (health and load), metrics.

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "config.h"
#include "fleet.h"
#include "guard.h"
#include "log.h"
#include "metrics.h"
#include "net.h"
#include "poller.h"
#include "worker.h"

namespace gateway {
namespace {

// Each stream takes two.
void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

absl::StatusOr<tcp::endpoint> Resolve(asio::io_context& context, const Address& address) {
  error_code error;
  const auto results = tcp::resolver(context).resolve(address.host, std::to_string(address.port), error);
  if (error) return absl::NotFoundError(absl::StrFormat("%s: %s", address.host, error.message()));
  return results.begin()->endpoint();
}

bool Same(const Address& a, const Address& b) { return a.host == b.host && a.port == b.port; }

bool Covers(const asio::ip::address& a, const asio::ip::address& b) {
  return a == b || (a.is_unspecified() && (a.is_v6() || b.is_v4()));
}

// Workers share ports, so the system doesn't mind.
bool Overlap(const tcp::endpoint& a, const tcp::endpoint& b) {
  return a.port() == b.port() && (Covers(a.address(), b.address()) || Covers(b.address(), a.address()));
}

std::string Text(const tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(endpoint.port());
}

class Gateway {
 public:
  Gateway(CommandLine command_line, const Config& config, std::unique_ptr<Fleet> fleet)
      : command_line_(std::move(command_line)), config_(config), fleet_(std::move(fleet)) {}

  absl::Status Listen() {
    const uint32_t threads = config_.threads != 0 ? config_.threads : std::max(1U, std::thread::hardware_concurrency());
    absl::StatusOr<tcp::endpoint> main = Resolve(context_, config_.listen);
    if (!main.ok()) return main.status();
    for (uint32_t i = 0; i < threads; ++i) {
      workers_.push_back(std::make_unique<Worker>(*fleet_, metrics_));
      if (error_code error = workers_.back()->Listen(*main, false)) return CantListen(*main, error);
      *main = workers_.back()->local_endpoint();  // The others take the port that was free.
    }
    std::string also;
    if (config_.admin) {
      absl::StatusOr<tcp::endpoint> admin = Resolve(context_, *config_.admin);
      if (!admin.ok()) return admin.status();
      if (Overlap(*admin, *main)) return CantListen(*admin, asio::error::address_in_use);
      if (error_code error = workers_[0]->Listen(*admin, true)) return CantListen(*admin, error);
      also = ", for metrics at " + Text(workers_[0]->local_endpoint());
    }
    Log("listens at %s%s", Text(*main), also);
    return absl::OkStatus();
  }

  void Run() {
    std::vector<std::thread> threads;
    for (const auto& worker : workers_) threads.emplace_back([&worker] { worker->Run(); });
    std::thread joiner([&] {
      for (std::thread& thread : threads) thread.join();
      context_.stop();
    });
    poller_.Start();
    AwaitSignal();
    RunOn(context_, LogException);
    joiner.join();
    Log("has ended");
    if (poller_.resolving()) std::_Exit(EXIT_SUCCESS);  // Who waits for a name server would hold us.
  }

 private:
  static absl::Status CantListen(const tcp::endpoint& endpoint, const error_code& error) {
    return absl::UnavailableError(absl::StrFormat("can't listen at %s: %s", Text(endpoint), error.message()));
  }

  void AwaitSignal() {
    signals_.async_wait([this](error_code error, int signal) {
      if (error) return;
      AwaitSignal();  // What follows may throw.
      if (signal == SIGHUP) {
        Reload();
      } else if (ending_) {
        Log("ends at once");
        std::_Exit(EXIT_FAILURE);
      } else {
        SpawnAgain(context_, [this] { return Drain(); });
        ending_ = true;
      }
    });
  }

  void Reload() {
    absl::StatusOr<Config> config = LoadConfig(command_line_);
    bool same = true;
    if (config.ok()) {
      same = Same(config->listen, config_.listen) && config->threads == config_.threads &&
             config->admin.has_value() == config_.admin.has_value() &&
             (!config->admin || Same(*config->admin, *config_.admin));
      config->admin = config_.admin;
    }
    absl::Status status = config.ok() ? fleet_->Apply(*config) : config.status();
    if (!status.ok()) {
      Log("keeps the config that it has; the new one is wrong: %s", std::string(status.message()));
      return;
    }
    poller_.Wake();
    if (!same) Log("listen, admin and threads stay as they were until the next start");
    Log("has a new config: %d instances", config->instances.size());
  }

  Awaitable<void> Drain() {
    const auto limit = fleet_->snapshot()->config.timeouts.shutdown;
    Log("ends when all streams have, in %d s at the latest", limit.count() / 1'000);
    for (const auto& worker : workers_) worker->Drain();
    asio::steady_timer shutdown(context_, limit);
    co_await shutdown.async_wait(asio::use_awaitable);
    Log("ends the streams that are left");
    for (const auto& worker : workers_) worker->Abort();
  }

  const CommandLine command_line_;
  const Config config_;  // As it was at the start.
  const std::unique_ptr<Fleet> fleet_;
  Metrics metrics_;
  std::vector<std::unique_ptr<Worker>> workers_;
  asio::io_context context_{1};  // Of this thread: signals and polls.
  Poller poller_{context_, *fleet_};
  asio::signal_set signals_{context_, SIGHUP, SIGTERM, SIGINT};
  bool ending_ = false;
};

int Main(int argc, char** argv) {
  // Else it rises with each large body that is freed, and what the next ones take stays with the process.
  // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread is there yet.
  (void)::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  absl::StatusOr<CommandLine> command_line = ParseCommandLine(argc, argv);
  if (command_line.ok() && command_line->help) {
    (void)std::fputs(HelpText(), stdout);
    return EXIT_SUCCESS;
  }
  absl::StatusOr<Config> config = command_line.ok() ? LoadConfig(*command_line) : command_line.status();
  if (!config.ok()) {
    Log("%s", std::string(config.status().message()));
    return 2;
  }
  if (command_line->check) return EXIT_SUCCESS;
  RaiseFileLimit();
  (void)std::signal(SIGPIPE, SIG_IGN);  // Whoever reads the log may go.
  absl::StatusOr<std::unique_ptr<Fleet>> fleet = Fleet::Create(*config);
  if (!fleet.ok()) {
    Log("%s", std::string(fleet.status().message()));
    return EXIT_FAILURE;
  }
  Gateway gateway(*std::move(command_line), *config, *std::move(fleet));
  if (absl::Status status = gateway.Listen(); !status.ok()) {
    Log("%s", std::string(status.message()));
    return EXIT_FAILURE;
  }
  gateway.Run();
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace gateway

int main(int argc, char** argv) {
  try {
    return gateway::Main(argc, argv);
  } catch (const std::exception& error) {
    gateway::Log("%s", error.what());
    return EXIT_FAILURE;
  }
}
