// SPDX-License-Identifier: Apache-2.0
//
// One engine behind one port of HTTP/1.1: POST /v1/completions, /v1/chat/completions and /v1/messages, streaming or
// not; GET /v1/models, /health and /metrics. A client that leaves frees its sequence at once.

#ifndef PREFIXROUTE_EXAMPLES_ENGINE_SERVER_H_
#define PREFIXROUTE_EXAMPLES_ENGINE_SERVER_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "scheduler.h"

namespace engine {

struct ServerOptions {
  SchedulerOptions scheduler;
  double speed = 1;  // The engine's time runs so many times as fast as the clock.
  std::string model = "example";
};

// Its scheduler, in real time. One thread, that of the io_context, which must outlive it.
class Server {
 public:
  // Listens there, or throws boost::system::system_error.
  Server(boost::asio::io_context* io, const boost::asio::ip::tcp::endpoint& endpoint, const ServerOptions& options);

  boost::asio::ip::tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

  // For its connections.
  const ServerOptions& options() const { return options_; }
  std::shared_ptr<Sequence> MakeSequence(std::string_view prompt, uint32_t max_tokens) const;
  bool Fits(const Sequence& sequence) const { return scheduler_.Fits(sequence); }
  void Submit(std::shared_ptr<Sequence> sequence);
  void Cancel(const Sequence* sequence) { scheduler_.Cancel(sequence); }
  uint64_t NextId() { return ++last_id_; }
  std::string Metrics() const;

 private:
  using Clock = std::chrono::steady_clock;

  void Accept();
  void Step(Clock::time_point now);

  ServerOptions options_;
  Scheduler scheduler_;
  boost::asio::ip::tcp::acceptor acceptor_;
  boost::asio::steady_timer step_end_;
  bool stepping_ = false;
  uint64_t last_id_ = 0;
};

}  // namespace engine

#endif  // PREFIXROUTE_EXAMPLES_ENGINE_SERVER_H_
