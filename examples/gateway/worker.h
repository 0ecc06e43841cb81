// SPDX-License-Identifier: Apache-2.0
//
// A thread of the gateway, with all that it needs to itself: listening sockets, sessions, connections to instances.

#ifndef PREFIXROUTE_EXAMPLES_GATEWAY_WORKER_H_
#define PREFIXROUTE_EXAMPLES_GATEWAY_WORKER_H_

#include <exception>
#include <memory>
#include <optional>
#include <unordered_set>

#include "fleet.h"
#include "metrics.h"
#include "net.h"
#include "prefixroute/payload.h"
#include "upstream.h"

namespace gateway {

class Session;

class Worker {
 public:
  Worker(Fleet& fleet, Metrics& metrics) : fleet_(fleet), metrics_(metrics), sweeping_(context_) {}

  // Before Run(). Workers share a port: the system deals connections out among them.
  error_code Listen(const tcp::endpoint& endpoint, bool admin);
  tcp::endpoint local_endpoint() const { return listeners_.back()->acceptor.local_endpoint(); }

  void Run();  // Until Drain(), and until the last session has ended.

  // From any thread. Drain: no new connections, and none is kept for another request. Abort: ends what is under way.
  void Drain();
  void Abort();

  // For sessions.
  asio::io_context& context() { return context_; }
  Fleet& fleet() { return fleet_; }
  Metrics& metrics() { return metrics_; }
  UpstreamPool& pool() { return pool_; }
  prefixroute::PayloadReader& reader(uint64_t key_bytes);
  bool draining() const { return draining_; }
  void Caught(const std::exception_ptr& exception);  // Logs and counts it.
  void Add(Session* session) { sessions_.insert(session); }
  void Remove(Session* session) { sessions_.erase(session); }

 private:
  struct Listener {
    tcp::acceptor acceptor;
    bool admin;
  };

  Awaitable<void> Accept(Listener& listener);
  Awaitable<void> Sweep();
  void Start(tcp::socket socket, bool admin);

  Fleet& fleet_;
  Metrics& metrics_;
  asio::io_context context_{1};
  asio::steady_timer sweeping_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  UpstreamPool pool_;
  uint64_t key_bytes_ = prefixroute::kDefaultMaxPrefixBytes;
  prefixroute::PayloadReader reader_;
  std::unordered_set<Session*> sessions_;
  bool draining_ = false;
};

}  // namespace gateway

#endif  // PREFIXROUTE_EXAMPLES_GATEWAY_WORKER_H_
