// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/http/load.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace prefixroute::http_load {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Endpoints = asio::ip::tcp::resolver::results_type;
using Json = nlohmann::ordered_json;

// One request, on a connection of its own.
class Call : public std::enable_shared_from_this<Call> {
 public:
  Call(asio::io_context* io, const LoadOptions& options, Clock::time_point due, Outcome* outcome,
       std::function<void()> done)
      : options_(options), due_(due), outcome_(outcome), done_(std::move(done)), stream_(*io) {
    parser_.body_limit(uint64_t{1} << 30);
  }

  void Start(const Endpoints& endpoints, std::string body) {
    request_ = {http::verb::post, "/v1/completions", 11};
    request_.set(http::field::host, options_.host);
    request_.set(http::field::content_type, "application/json");
    request_.keep_alive(false);
    request_.body() = std::move(body);
    request_.prepare_payload();
    ExpectProgress();
    stream_.async_connect(endpoints, [self = shared_from_this()](error_code error, const auto&) {
      if (error) return self->Fail("connect", error);
      self->stream_.socket().set_option(asio::ip::tcp::no_delay(true), error);
      self->Send();
    });
  }

 private:
  void ExpectProgress() {
    stream_.expires_after(
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.timeout_seconds)));
  }

  void Send() {
    http::async_write(stream_, request_, [self = shared_from_this()](error_code error, size_t) {
      if (error) return self->Fail("send", error);
      self->Receive();
    });
  }

  void Receive() {
    ExpectProgress();
    http::async_read_some(stream_, buffer_, parser_, [self = shared_from_this()](error_code error, size_t) {
      if (error) return self->Fail("receive", error);
      const auto& response = self->parser_.get();
      if (!self->begun_ && response.body().find("data: ") != std::string::npos) {
        self->begun_ = true;
        const std::chrono::duration<double, std::micro> ttft = Clock::now() - self->due_;
        self->outcome_->ttft_us = static_cast<int64_t>(ttft.count() * self->options_.engine_speed);
      }
      self->parser_.is_done() ? self->End() : self->Receive();
    });
  }

  void Fail(std::string_view doing, error_code error) {
    Finish(absl::StrCat(std::string(doing), ": ", error.message()));
  }

  void End() {
    const auto& response = parser_.get();
    if (response.result() != http::status::ok) return Finish(absl::StrCat("status ", response.result_int()));
    std::string_view body = response.body();
    if (body.find("data: [DONE]") == std::string_view::npos) return Finish("the stream has no end");
    // The usage is in one of the last events.
    for (size_t at = body.rfind("data: {"); at != std::string_view::npos; at = body.rfind("data: {")) {
      const Json event = Json::parse(body.substr(at + 6, body.find('\n', at) - at - 6), nullptr, false);
      body = body.substr(0, at);
      if (!event.is_object() || !event.contains("usage") || !event["usage"].is_object()) continue;
      const Json& usage = event["usage"];
      outcome_->prompt_tokens = usage.value("prompt_tokens", uint64_t{0});
      const auto details = usage.find("prompt_tokens_details");
      if (details != usage.end() && details->is_object()) {
        outcome_->cached_tokens = details->value("cached_tokens", uint64_t{0});
      }
      return Finish("");
    }
    Finish("no usage in the stream");
  }

  void Finish(std::string error) {
    outcome_->error = std::move(error);
    stream_.close();
    done_();
  }

  const LoadOptions& options_;
  Clock::time_point due_;
  Outcome* outcome_;
  std::function<void()> done_;
  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  http::request<http::string_body> request_;
  http::response_parser<http::string_body> parser_;
  bool begun_ = false;
};

class Load {
 public:
  Load(const replay::Trace& trace, const LoadOptions& options, asio::io_context* io, Endpoints endpoints)
      : trace_(trace), options_(options), io_(io), endpoints_(std::move(endpoints)), next_due_(*io) {
    outcomes_.resize(trace.requests.size());
  }

  LoadResult Run() {
    start_ = Clock::now();
    if (options_.concurrency == 0) {
      SendDue();
    } else {
      for (uint32_t i = 0; i < options_.concurrency; ++i) SendNext(Clock::now());
    }
    io_->run();
    const std::chrono::duration<double, std::micro> took = Clock::now() - start_;
    return {std::move(outcomes_), static_cast<int64_t>(took.count() * options_.engine_speed)};
  }

 private:
  Clock::time_point Due(const replay::TraceRequest& request) const {
    const std::chrono::duration<double, std::micro> after(static_cast<double>(request.arrival_us) /
                                                          options_.engine_speed);
    return start_ + std::chrono::duration_cast<Clock::duration>(after);
  }

  void SendDue() {
    for (; next_ < trace_.requests.size(); SendNext(Due(trace_.requests[next_]))) {
      const Clock::time_point due = Due(trace_.requests[next_]);
      if (due <= Clock::now()) continue;
      next_due_.expires_at(due);
      next_due_.async_wait([this](error_code) { SendDue(); });
      return;
    }
  }

  void SendNext(Clock::time_point due) {
    if (next_ == trace_.requests.size()) return;
    const size_t index = next_++;
    const auto done = [this] {
      if (options_.concurrency != 0) SendNext(Clock::now());
    };
    std::make_shared<Call>(io_, options_, due, &outcomes_[index], done)
        ->Start(endpoints_, RequestBody(trace_, trace_.requests[index]));
  }

  const replay::Trace& trace_;
  const LoadOptions& options_;
  asio::io_context* io_;
  Endpoints endpoints_;
  asio::steady_timer next_due_;
  Clock::time_point start_;
  size_t next_ = 0;
  std::vector<Outcome> outcomes_;
};

}  // namespace

std::string RequestBody(const replay::Trace& trace, const replay::TraceRequest& request) {
  std::string prompt = request.text;
  if (prompt.empty()) {
    std::string buffer;
    prompt = trace.Prefix(request, UINT64_MAX, &buffer);
    for (char& byte : prompt) byte = static_cast<char>('a' + (static_cast<unsigned char>(byte) & 15));
  }
  return Json({{"prompt", prompt},
               {"max_tokens", std::max(1U, request.output_tokens)},
               {"stream", true},
               {"stream_options", {{"include_usage", true}}}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<LoadResult> RunLoad(const replay::Trace& trace, const LoadOptions& options) {
  asio::io_context io(1);
  error_code error;
  const Endpoints endpoints = asio::ip::tcp::resolver(io).resolve(options.host, options.port, error);
  if (error) return absl::NotFoundError(absl::StrCat(options.host, ":", options.port, ": ", error.message()));
  return Load(trace, options, &io, endpoints).Run();
}

}  // namespace prefixroute::http_load
