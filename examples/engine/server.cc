// SPDX-License-Identifier: Apache-2.0

#include "server.h"

#include <boost/asio/socket_base.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "connection.h"

namespace engine {

namespace asio = boost::asio;
using asio::ip::tcp;

Server::Server(asio::io_context* io, const tcp::endpoint& endpoint, const ServerOptions& options)
    : options_(options), scheduler_(options.scheduler), acceptor_(*io, endpoint), step_end_(*io) {
  Accept();
}

void Server::Accept() {
  acceptor_.async_accept([this](boost::system::error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    // Out of file descriptors, or the client is gone already: to be tried again.
    if (!error) std::make_shared<Connection>(this, std::move(socket))->Start();
    Accept();
  });
}

std::shared_ptr<Sequence> Server::MakeSequence(std::string_view prompt, uint32_t max_tokens) const {
  return scheduler_.MakeSequence(prompt, max_tokens);
}

void Server::Submit(std::shared_ptr<Sequence> sequence) {
  scheduler_.Submit(std::move(sequence));
  if (!stepping_) Step(Clock::now());
}

// A step begins when the last one should have ended, so that a late timer slows down nothing.
void Server::Step(Clock::time_point now) {
  const double us = scheduler_.StartStep();
  stepping_ = us > 0;
  if (!stepping_) return;
  const std::chrono::duration<double, std::micro> duration(us / options_.speed);
  const Clock::time_point end = now + std::chrono::duration_cast<Clock::duration>(duration);
  step_end_.expires_at(end);
  step_end_.async_wait([this, end](boost::system::error_code error) {
    if (error) return;
    const std::vector<std::shared_ptr<Sequence>> progressed = scheduler_.FinishStep();
    Step(end);
    for (const std::shared_ptr<Sequence>& sequence : progressed) {
      if (sequence->on_progress) sequence->on_progress();
    }
  });
}

std::string Server::Metrics() const {
  std::string text;
  const auto add = [&](const char* name, const char* type, auto value) {
    absl::StrAppend(&text, "# TYPE ", name, " ", type, "\n", name, "{model_name=\"", options_.model, "\"} ", value,
                    "\n");
  };
  const Scheduler::Totals& totals = scheduler_.totals();
  // vLLM's names.
  add("vllm:num_requests_running", "gauge", scheduler_.running());
  add("vllm:num_requests_waiting", "gauge", scheduler_.waiting());
  add("vllm:kv_cache_usage_perc", "gauge", scheduler_.cache_usage());
  add("vllm:prefix_cache_queries_total", "counter", totals.prompt_tokens);
  add("vllm:prefix_cache_hits_total", "counter", totals.cached_tokens);
  add("vllm:generation_tokens_total", "counter", totals.answer_tokens);
  add("vllm:request_success_total", "counter", totals.done);
  // Of its own.
  add("engine_requests_cancelled_total", "counter", totals.cancelled);
  add("engine_requests_peak", "gauge", totals.peak);
  return text;
}

}  // namespace engine
