// SPDX-License-Identifier: Apache-2.0

#include "session.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "engine_load.h"
#include "heads.h"
#include "usage_scanner.h"
#include "worker.h"

namespace gateway {
namespace {

// After a refusal, for the client to read it before its connection is reset.
constexpr std::chrono::seconds kLinger{2};

constexpr size_t kHeaderPieceBytes = 4'096;

double SecondsSince(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

// Whether the instance has not begun to work on the request, and another may.
bool IsForOthers(http::status status) {
  return status == http::status::bad_gateway || status == http::status::service_unavailable;
}

bool IsIdempotent(http::verb method) {
  switch (method) {
    case http::verb::get:
    case http::verb::head:
    case http::verb::options:
    case http::verb::put:
    case http::verb::delete_:
      return true;
    default:
      return false;
  }
}

// Some clients send them after a body.
void ConsumeEmptyLines(beast::flat_buffer& buffer) {
  const std::string_view text(static_cast<const char*>(buffer.data().data()), buffer.size());
  buffer.consume(std::min(text.find_first_not_of("\r\n"), text.size()));
}

bool WasClosed(const error_code& error) {
  return error == http::error::partial_message || error == asio::error::connection_reset ||
         error == asio::error::broken_pipe;
}

// Whether the other side sees a reset when the socket is closed, or the process ends. Asio takes back what it knows of.
void SetReset(tcp::socket& socket, bool on) {
  const linger value{on ? 1 : 0, 0};
  (void)::setsockopt(socket.native_handle(), SOL_SOCKET, SO_LINGER, &value, sizeof value);
}

bool HasNoBody(const Manner& manner, http::status status) {
  return manner.head || status == http::status::no_content || status == http::status::not_modified;
}

}  // namespace

Session::Session(Worker& worker, tcp::socket socket, bool admin)
    : worker_(worker), stream_(std::move(socket)), admin_(admin) {
  worker_.Add(this);
  // One that takes nothing has all of `write`.
  const std::chrono::milliseconds write = worker.fleet().snapshot()->config.timeouts.write;
  Prepare(stream_.socket(), std::max<std::chrono::milliseconds>(write, kMaxSilence));
  error_code ignored;
  address_ = stream_.socket().remote_endpoint(ignored).address().to_string();
}

Session::~Session() { worker_.Remove(this); }

void Session::Start() {
  asio::co_spawn(
      stream_.get_executor(), [self = shared_from_this()] { return self->Run(); },
      [self = shared_from_this()](const std::exception_ptr& exception) {
        if (exception == nullptr) return;
        self->worker_.Caught(exception);
        self->Abort();
      });
}

void Session::CloseIfIdle() {
  if (idle_) stream_.close();
}

void Session::Abort() {
  stream_.close();
  if (upstream_ != nullptr) upstream_->Close();
  lost_ = true;
}

Awaitable<void> Session::Run() {
  do {
    Parser parser;
    manner_ = Manner();
    if (!co_await ReadRequest(parser)) co_return;
    Request request = parser.release();
    // A large request leaves a large buffer behind, and a stream may be long.
    if (buffer_.size() == 0) buffer_.shrink_to_fit();
    co_await Answer(request);
  } while (manner_.keep_alive && !worker_.draining());
}

Awaitable<bool> Session::ReadRequest(Parser& parser) {
  error_code error;
  stream_.expires_after(worker_.fleet().snapshot()->config.timeouts.keep_alive);
  ConsumeEmptyLines(buffer_);
  while (buffer_.size() == 0) {
    idle_ = true;
    const size_t bytes = co_await stream_.async_read_some(buffer_.prepare(kHeaderPieceBytes), Into(error));
    buffer_.commit(bytes);
    idle_ = false;
    if (error) co_return false;
    ConsumeEmptyLines(buffer_);
  }
  snapshot_ = worker_.fleet().snapshot();
  const Config& config = snapshot_->config;
  parser.header_limit(config.limits.header_bytes);
  parser.body_limit(config.limits.body_bytes);
  stream_.expires_after(config.timeouts.header);
  error = co_await Read(parser, false);
  manner_ = MannerOf(parser.get());
  if (error == http::error::header_limit && parser.get().target().empty()) {
    // The parser has kept nothing of it.
    const std::string_view begin(static_cast<const char*>(buffer_.data().data()), buffer_.size());
    const std::string_view line = begin.substr(0, begin.find('\r'));
    manner_.head = line.starts_with("HEAD ");
    manner_.anthropic = line.find(kAnthropicPath) != std::string_view::npos;
  }
  if (!error) {
    if (const auto objection = CheckRequest(parser.get())) {
      co_await Refuse(objection->status, objection->message);
      co_return false;
    }
    stream_.expires_after(config.timeouts.body);
    if (!parser.is_done() && buffer_.size() == 0 && !parser.get()[http::field::expect].empty() && !manner_.http_1_0) {
      constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      co_await asio::async_write(stream_, asio::buffer(kContinue), Into(error));
    }
    if (!error) {
      // Trailers are to be among the header's fields neither here nor at the instance.
      http::request_header<> header = std::move(parser.get().base());
      error = co_await Read(parser, true);
      parser.get().base() = std::move(header);
    }
  }
  if (error == http::error::header_limit) {
    co_await Refuse(http::status::request_header_fields_too_large, "the header is too large");
  } else if (error == http::error::body_limit) {
    co_await Refuse(http::status::payload_too_large, "the body is too large");
  } else if (error && error.category() == http::make_error_code(http::error::bad_method).category()) {
    co_await Refuse(http::status::bad_request, "not HTTP");
  }
  if (error) co_return false;
  manner_.keep_alive = parser.keep_alive() && !worker_.draining();
  co_return true;
}

Awaitable<error_code> Session::Read(Parser& parser, bool whole) {
  parser.eager(whole);
  for (;;) {
    error_code error;
    if (buffer_.size() > 0) buffer_.consume(parser.put(buffer_.data(), error));
    if (error && error != http::error::need_more) co_return error;
    if (whole ? parser.is_done() : parser.is_header_done()) co_return error_code();
    const size_t room = buffer_.max_size() - buffer_.size();
    if (room == 0) co_return http::error::header_limit;
    const auto space = buffer_.prepare(whole ? room : std::min(room, kHeaderPieceBytes));
    buffer_.commit(co_await stream_.async_read_some(space, Into(error)));
    if (error) co_return error;
  }
}

Awaitable<void> Session::Refuse(http::status status, std::string_view message) {
  manner_.keep_alive = false;
  const std::string answer = ErrorAnswer(manner_, status, message);
  if (!co_await Write(asio::buffer(answer))) co_return;
  error_code error;
  stream_.socket().shutdown(tcp::socket::shutdown_send, error);
  stream_.expires_after(kLinger);
  buffer_.consume(buffer_.size());
  while (!error) {
    (void)co_await stream_.async_read_some(buffer_.prepare(kHeaderPieceBytes), Into(error));
  }
}

template <typename Buffers>
Awaitable<bool> Session::Write(const Buffers& buffers) {
  error_code error;
  stream_.expires_after(snapshot_->config.timeouts.write);
  co_await asio::async_write(stream_, buffers, Into(error));
  co_return !error;
}

Awaitable<void> Session::Answer(Request& request) {
  const std::string_view target = PathOf(View(request.target()));
  std::string answer = LocalAnswer(target.substr(0, target.find('?')));
  if (answer.empty()) {
    co_await Forward(request);
  } else if (!co_await Write(asio::buffer(answer))) {
    manner_.keep_alive = false;
  }
}

std::string Session::LocalAnswer(std::string_view path) {
  if (!admin_ && path != "/metrics" && path != "/healthz") return "";
  if (!admin_ && snapshot_->config.admin) return ErrorAnswer(manner_, http::status::not_found, "not here");
  if (path == "/metrics") {
    return PlainAnswer(manner_, http::status::ok, "text/plain; version=0.0.4",
                       MetricsText(worker_.metrics(), worker_.fleet()));
  }
  if (path == "/healthz") {
    bool well = false;
    for (const auto& each : worker_.fleet().router().Stats().instances) well |= !each.draining && each.weight > 0;
    if (worker_.draining() || !well) {
      return PlainAnswer(manner_, http::status::service_unavailable, "text/plain",
                         well ? "ending\n" : "no instance is well\n");
    }
    return PlainAnswer(manner_, http::status::ok, "text/plain", "ok\n");
  }
  return ErrorAnswer(manner_, http::status::not_found, "only /metrics and /healthz are here");
}

Awaitable<void> Session::Forward(Request& request) {
  Metrics& metrics = worker_.metrics();
  metrics.requests.Increment();
  Passage passage{request, Clock::now(), snapshot_, IsIdempotent(request.method()), {}, nullptr, {}};
  // What is read is good until another session on this thread reads.
  std::optional<prefixroute::PrefixKey> key;
  if (!request.body().empty()) {
    const prefixroute::Payload& payload = worker_.reader(snapshot_->config.router.key_bytes()).Read(request.body());
    metrics.bodies[static_cast<size_t>(payload.form)].Increment();
    key = payload.key;
    passage.repeatable |= payload.form != prefixroute::PayloadForm::kRaw;
  }

  Watch();
  std::vector<std::shared_ptr<Backend>> tried;
  std::vector<std::string_view> exclude;
  http::status status = http::status::service_unavailable;
  const char* message = "no instance could serve the request";
  for (uint32_t tries = 0; tries < snapshot_->config.limits.tries; ++tries) {
    prefixroute::Request route;
    if (key) route.key = &*key;
    route.exclude = exclude;
    absl::StatusOr<prefixroute::Lease> lease = worker_.fleet().router().Acquire(route);
    if (!lease.ok()) {
      if (absl::IsResourceExhausted(lease.status())) {
        status = http::status::too_many_requests;
        message = "every instance is at its limit";
      }
      break;
    }
    passage.lease = *std::move(lease);
    const auto snapshot = worker_.fleet().snapshot();
    const auto found = snapshot->by_id.find(passage.lease.id());
    if (found == snapshot->by_id.end()) continue;  // Gone by two reloads within this moment.
    passage.backend = found->second;
    if (tried.empty()) {
      metrics.routing.Observe(SecondsSince(passage.complete));
    } else {
      metrics.retries.Increment();
    }

    const Outcome outcome = co_await Try(passage);
    passage.lease.Finish();
    upstream_.reset();
    if (outcome == Outcome::kFailed) {
      tried.push_back(passage.backend);
      exclude.push_back(passage.backend->id());
      continue;
    }
    if (outcome == Outcome::kFailedForGood) {
      status = http::status::bad_gateway;
      message = "the instance failed, and may have done what was asked";
      break;
    }
    if (outcome == Outcome::kTimedOut) {
      metrics.timeouts.Increment();
      status = http::status::gateway_timeout;
      message = "the instance did not answer in time";
      break;
    }
    if (outcome == Outcome::kClientLost) metrics.client_losses.Increment();
    if (outcome == Outcome::kBroken) metrics.broken_answers.Increment();
    if (outcome != Outcome::kAnswered) manner_.keep_alive = false;
    Unwatch();
    co_return;
  }
  Unwatch();
  if (status == http::status::service_unavailable || status == http::status::bad_gateway) {
    metrics.unserved.Increment();
  }
  const std::string answer = ErrorAnswer(manner_, status, message);
  if (!co_await Write(asio::buffer(answer))) manner_.keep_alive = false;
}

Awaitable<Session::Outcome> Session::Try(Passage& passage) {
  Fleet& fleet = worker_.fleet();
  const Config& config = passage.snapshot->config;
  const std::string head = RequestHead(
      passage.request,
      {passage.backend->authority(), address_, passage.request.body().size(), config.load.source == LoadSource::kOrca});
  const auto deadline = Clock::now() + config.timeouts.first_byte;
  // A connection that was kept may be closed just as we send.
  for (bool pooled = passage.repeatable;; pooled = false) {
    upstream_ = pooled ? worker_.pool().Take(*passage.backend) : nullptr;
    const bool reused = upstream_ != nullptr;
    error_code error;
    if (!reused) {
      upstream_ = std::make_unique<Upstream>(worker_.context());
      error = co_await upstream_->Connect(*passage.backend, Clock::now() + config.timeouts.connect);
      if (error && !lost_) {
        if (!IsOurs(error)) {
          passage.backend->failures.Increment();
          fleet.RequestFailed(*passage.backend, error == asio::error::connection_refused);
        }
        co_return Outcome::kFailed;
      }
    }
    // Nothing is passed on before the body begins: till then another instance may serve.
    std::string_view piece;
    if (!lost_) {
      error = co_await upstream_->Exchange(head, passage.request.body(), manner_.head, deadline);
    }
    if (!lost_ && !error) {
      piece = co_await upstream_->ReadPiece(error, deadline);
    }
    if (lost_) co_return Outcome::kClientLost;
    if (reused && !upstream_->answered() && WasClosed(error)) continue;
    if (error || IsForOthers(upstream_->answer().result())) {
      passage.backend->failures.Increment();
      passage.suspects.push_back(passage.backend);
      if (error == beast::error::timeout) co_return Outcome::kTimedOut;
      co_return error && !passage.repeatable ? Outcome::kFailedForGood : Outcome::kFailed;
    }
    fleet.RequestSucceeded(*passage.backend);
    for (const std::shared_ptr<Backend>& suspect : passage.suspects) fleet.RequestFailed(*suspect, false);
    co_return co_await Relay(passage, piece);
  }
}

std::string Session::AnswerHeadFor(const Passage& passage, bool chunked) const {
  const Config& config = passage.snapshot->config;
  const http::status status = upstream_->answer().result();
  std::string head = AnswerHead(upstream_->answer(), config.load.source == LoadSource::kOrca);
  if (config.decision_headers) {
    absl::StrAppendFormat(&head, "X-Prefixroute-Instance: %s\r\nX-Prefixroute-Reason: %s\r\n", passage.backend->id(),
                          prefixroute::ReasonName(passage.lease.decision().reason));
  }
  if (chunked) {
    head += "Transfer-Encoding: chunked\r\n";
  } else if (const auto length = upstream_->content_length(); length && status != http::status::no_content) {
    absl::StrAppendFormat(&head, "Content-Length: %d\r\n", *length);
  }
  if (!manner_.keep_alive) {
    head += "Connection: close\r\n";
  } else if (manner_.http_1_0) {
    head += "Connection: keep-alive\r\n";
  }
  return head + "\r\n";
}

Awaitable<Session::Outcome> Session::Relay(Passage& passage, std::string_view piece) {
  const Config& config = passage.snapshot->config;
  const http::response_header<>& answer = upstream_->answer();
  if (config.load.source == LoadSource::kOrca) {
    if (const auto load = ParseOrca(View(answer["endpoint-load-metrics"]))) {
      worker_.fleet().ReportLoad(*passage.backend, LoadSource::kOrca, *load);
    }
  }
  const std::string_view type = View(answer[http::field::content_type]);
  const bool events = type.find("text/event-stream") != std::string_view::npos;
  const bool scanned = events || type.find("json") != std::string_view::npos;
  const bool counted = passage.request.method() == http::verb::post && answer.result_int() < 300;
  const bool no_body = HasNoBody(manner_, answer.result());
  const bool chunked = !no_body && !upstream_->content_length() && !manner_.http_1_0;
  // Where neither tells its length, the body ends with the connection.
  const bool until_close = !no_body && !upstream_->content_length() && !chunked;
  manner_.keep_alive = manner_.keep_alive && !until_close && !worker_.draining();
  // By a reset the client knows that it was not the body's end.
  if (until_close) SetReset(stream_.socket(), true);
  std::string head = AnswerHeadFor(passage, chunked);
  passage.request.body() = std::string();  // Nobody needs it again; a stream may be long.

  UsageScanner scanner;
  bool begun = false;
  for (;;) {
    const bool last = upstream_->done();
    if (scanned) scanner.Scan(piece);
    // Engines may keep a stream alive by comments before the first event.
    if (!begun && !piece.empty() && (!events || piece.find("data:") != std::string_view::npos)) {
      begun = true;
      passage.lease.FirstToken();
      if (counted) passage.backend->first_token.Observe(SecondsSince(passage.complete));
    }
    if (last) {
      if (const auto usage = scanner.usage()) {
        passage.lease.ReportCachedTokens(usage->cached_tokens, usage->prompt_tokens);
      }
      passage.lease.Finish();
    }

    std::array<char, 20> size;
    std::string_view chunk_begin;
    std::string_view chunk_end;
    if (chunked && !piece.empty()) {
      chunk_begin = {size.data(),
                     static_cast<size_t>(absl::SNPrintF(size.data(), size.size(), "%x\r\n", piece.size()))};
      chunk_end = last ? "\r\n0\r\n\r\n" : "\r\n";
    } else if (chunked && last) {
      chunk_end = "0\r\n\r\n";
    }
    const std::array<asio::const_buffer, 4> buffers{asio::buffer(head), asio::buffer(chunk_begin), asio::buffer(piece),
                                                    asio::buffer(chunk_end)};
    const bool taken = co_await Write(buffers);
    head.clear();
    if (last && upstream_->reusable()) worker_.pool().Put(passage.backend, std::move(upstream_));
    if (!taken) co_return Outcome::kClientLost;
    if (last) {
      if (until_close) SetReset(stream_.socket(), false);
      co_return Outcome::kAnswered;
    }

    error_code error;
    piece = co_await upstream_->ReadPiece(error, Clock::now() + config.timeouts.stall);
    if (lost_) co_return Outcome::kClientLost;
    if (error) {
      passage.backend->failures.Increment();
      co_return Outcome::kBroken;
    }
  }
}

void Session::Watch() {
  stream_.socket().async_wait(tcp::socket::wait_read, [self = shared_from_this(),
                                                       watch = ++watches_](error_code error) {
    if (error || watch != self->watches_) return;
    // The next request may come: its end, or the client's, is behind it.
    beast::flat_buffer& buffer = self->buffer_;
    const size_t room = std::min(buffer.max_size() - buffer.size(), kHeaderPieceBytes);
    if (room == 0) return;  // Whether the client goes, we hear in writing.
    const auto got = ::recv(self->stream_.socket().native_handle(), buffer.prepare(room).data(), room, MSG_DONTWAIT);
    if (got > 0) buffer.commit(static_cast<size_t>(got));
    if (got > 0 || (got < 0 && errno == EAGAIN)) return self->Watch();
    self->ClientLost();
  });
}

void Session::Unwatch() {
  ++watches_;
  error_code ignored;
  stream_.socket().cancel(ignored);
}

void Session::ClientLost() {
  lost_ = true;
  if (upstream_ != nullptr) upstream_->Close();
}

}  // namespace gateway
