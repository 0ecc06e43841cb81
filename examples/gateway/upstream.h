// SPDX-License-Identifier: Apache-2.0
//
// Connections to instances: one request and its answer at a time, and those that wait for the next. For one thread.

#ifndef PREFIXROUTE_EXAMPLES_GATEWAY_UPSTREAM_H_
#define PREFIXROUTE_EXAMPLES_GATEWAY_UPSTREAM_H_

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "fleet.h"
#include "net.h"

namespace gateway {

// Whether a connection failed for want of something here, a file descriptor, a port or memory: it says nothing of the
// instance.
bool IsOurs(const error_code& error);

class Upstream {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  explicit Upstream(asio::io_context& context) : stream_(context) {}

  // All of these wait no longer than to the deadline. Connect() tries each of the backend's addresses, for an equal
  // share of the time. Where all fail, its error is that of the first which isn't ours.
  Awaitable<error_code> Connect(Backend& backend, Deadline deadline);
  // Sends a request, and reads its answer's header. An answer that comes before the whole request was taken counts all
  // the same.
  Awaitable<error_code> Exchange(std::string_view head, std::string_view body, bool is_head, Deadline deadline);
  const http::response_header<>& answer() const { return answer_; }
  std::optional<uint64_t> content_length() const;

  // The next piece of the answer's body, valid until the next call; empty at its end.
  Awaitable<std::string_view> ReadPiece(error_code& error, Deadline deadline);
  // The answer is complete.
  bool done() const { return parser_->is_done(); }

  // Whether anything has come since the request was sent.
  bool answered() const { return answered_; }
  // Whether the connection can carry another request.
  bool reusable() const { return done() && !broken_ && parser_->keep_alive() && buffer_.size() == 0; }
  // Whether it has been closed meanwhile by the other side, or has got what nobody asked for.
  bool IsStale();

  // What waits on it ends with an error.
  void Close() { stream_.close(); }

 private:
  static constexpr size_t kPieceBytes = 16 << 10;

  // Hands the parser what has come. It throws where a field is larger than it can keep.
  error_code Parse();
  Awaitable<size_t> Receive(error_code& error);

  beast::tcp_stream stream_;
  beast::flat_buffer buffer_;
  std::optional<http::response_parser<http::buffer_body>> parser_;
  http::response_header<> answer_;
  std::array<char, kPieceBytes> piece_;
  bool answered_ = false;
  bool broken_ = false;  // Not all of the request was taken.
};

class UpstreamPool {
 public:
  // One that was put back for this backend and still seems to be open, or none.
  std::unique_ptr<Upstream> Take(const Backend& backend);
  void Put(const std::shared_ptr<Backend>& backend, std::unique_ptr<Upstream> upstream);
  // Closes those that have waited too long.
  void Sweep();
  void Clear() { idle_.clear(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Idle {
    std::unique_ptr<Upstream> upstream;
    Clock::time_point since;
  };
  struct Entry {
    std::shared_ptr<Backend> backend;  // So that no other can have its address.
    std::vector<Idle> idle;
  };
  std::map<const Backend*, Entry> idle_;
};

}  // namespace gateway

#endif  // PREFIXROUTE_EXAMPLES_GATEWAY_UPSTREAM_H_
