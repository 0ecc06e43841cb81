// SPDX-License-Identifier: Apache-2.0

#include "connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "server.h"

namespace engine {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;

namespace {

constexpr uint64_t kMaxBodyBytes = uint64_t{64} << 20;
constexpr const char* kJson = "application/json";
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

std::optional<Api> ApiOf(std::string_view target) {
  if (target == "/v1/completions") return Api::kCompletions;
  if (target == "/v1/chat/completions") return Api::kChatCompletions;
  if (target == "/v1/messages") return Api::kMessages;
  return std::nullopt;
}

}  // namespace

Connection::Connection(Server* server, asio::ip::tcp::socket socket) : server_(server), socket_(std::move(socket)) {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
}

void Connection::ReadHeader() {
  parser_.emplace();
  parser_->body_limit(kMaxBodyBytes);
  http::async_read_header(socket_, buffer_, *parser_, [self = shared_from_this()](error_code error, size_t) {
    if (error) return;
    if (self->parser_->get()[http::field::expect].empty()) return self->ReadBody();
    asio::async_write(self->socket_, asio::buffer(kContinue), [self](error_code failed, size_t) {
      if (!failed) self->ReadBody();
    });
  });
}

void Connection::ReadBody() {
  http::async_read(socket_, buffer_, *parser_, [self = shared_from_this()](error_code error, size_t) {
    if (!error) return self->Handle(self->parser_->get());
    if (error != http::error::body_limit) return;
    self->keep_alive_ = false;
    self->Respond(http::status::payload_too_large, kJson, "{}");
  });
}

void Connection::Handle(const Request& request) {
  http_1_0_ = request.version() < 11;
  keep_alive_ = request.keep_alive() && !http_1_0_;
  const std::string_view target(request.target().data(), request.target().size());
  const std::optional<Api> api = ApiOf(target);
  if (api.has_value()) {
    if (request.method() == http::verb::post) return Generate(*api, request.body());
    return Respond(http::status::method_not_allowed, kJson, "{}");
  }
  if (target == "/health") return Respond(http::status::ok, kJson, "");
  if (target == "/metrics") return Respond(http::status::ok, "text/plain; version=0.0.4", server_->Metrics());
  if (target == "/v1/models") return Respond(http::status::ok, kJson, ModelList(server_->options().model));
  Respond(http::status::not_found, kJson, "{}");
}

void Connection::Respond(http::status status, const char* type, std::string body) {
  response_ = {status, http_1_0_ ? 10U : 11U};
  response_.set(http::field::content_type, type);
  response_.keep_alive(keep_alive_);
  response_.body() = std::move(body);
  response_.prepare_payload();
  http::async_write(socket_, response_, [self = shared_from_this()](error_code error, size_t) {
    if (error || !self->keep_alive_) return self->Close();
    self->ReadHeader();
  });
}

void Connection::Generate(Api api, const std::string& body) {
  absl::StatusOr<Call> call = ParseCall(api, body, server_->NextId());
  if (!call.ok()) return Respond(http::status::bad_request, kJson, ErrorBody(api, call.status()));
  call_ = *std::move(call);
  if (call_.model.empty()) call_.model = server_->options().model;
  std::shared_ptr<Sequence> sequence = server_->MakeSequence(call_.prompt, call_.max_tokens);
  if (!server_->Fits(*sequence)) {
    const absl::Status why = absl::InvalidArgumentError("the prompt and max_tokens exceed the engine's cache");
    return Respond(http::status::bad_request, kJson, ErrorBody(api, why));
  }
  sequence_ = std::move(sequence);
  sequence_->on_progress = [weak = weak_from_this()] {
    if (const std::shared_ptr<Connection> self = weak.lock()) self->OnProgress();
  };
  sent_ = 0;
  server_->Submit(sequence_);
  WatchClient();
  if (call_.stream) StartStream();
}

// Keeps the connection while nothing is written. What can be read now means that the client is gone: one that sends its
// next request before it has this answer is taken for that, too.
void Connection::WatchClient() {
  socket_.async_wait(asio::ip::tcp::socket::wait_read, [self = shared_from_this(), sequence = sequence_](error_code) {
    if (self->sequence_ == sequence) self->Close();
  });
}

// A real engine sends its header as early, which is why it says nothing of the first token.
void Connection::StartStream() {
  stream_header_ = {http::status::ok, http_1_0_ ? 10U : 11U};
  stream_header_.set(http::field::content_type, "text/event-stream");
  stream_header_.set(http::field::cache_control, "no-cache");
  stream_header_.keep_alive(keep_alive_);
  stream_header_.chunked(!http_1_0_);
  stream_serializer_.emplace(stream_header_);
  writing_ = true;
  http::async_write_header(socket_, *stream_serializer_, [self = shared_from_this()](error_code error, size_t) {
    self->writing_ = false;
    error ? self->Close() : self->OnProgress();
  });
}

void Connection::OnProgress() {
  if (sequence_ == nullptr || writing_) return;
  if (call_.stream) {
    if (sent_ < sequence_->answered) WriteEvents();
  } else if (sequence_->done()) {
    std::string answer = Answer(call_, *sequence_);
    sequence_.reset();
    Respond(http::status::ok, kJson, std::move(answer));
  }
}

void Connection::WriteEvents() {
  events_ = Events(call_, *sequence_, sent_);
  sent_ = sequence_->answered;
  const bool last = sequence_->done();
  if (last) sequence_.reset();
  writing_ = true;
  const auto written = [self = shared_from_this(), last](error_code error, size_t) {
    self->writing_ = false;
    if (error || (last && !self->keep_alive_)) return self->Close();
    last ? self->ReadHeader() : self->OnProgress();
  };
  if (http_1_0_) {
    asio::async_write(socket_, asio::buffer(events_), written);
  } else if (!last) {
    asio::async_write(socket_, http::make_chunk(asio::buffer(events_)), written);
  } else {
    events_ = absl::StrFormat("%x\r\n%s\r\n0\r\n\r\n", events_.size(), events_);
    asio::async_write(socket_, asio::buffer(events_), written);
  }
}

void Connection::Close() {
  if (sequence_ != nullptr) server_->Cancel(sequence_.get());
  sequence_.reset();
  error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
}

}  // namespace engine
