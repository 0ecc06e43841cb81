// SPDX-License-Identifier: Apache-2.0

#include "upstream.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

#include "heads.h"

namespace gateway {
namespace {

constexpr uint32_t kMaxAnswerHeaderBytes = 256 << 10;  // Also of a chunk's extensions, and of trailers.
// uvicorn, in front of most engines, closes a connection that is idle for 5 s.
constexpr std::chrono::seconds kMaxIdle{4};
constexpr size_t kMaxIdleConnections = 256;  // To one instance.

}  // namespace

bool IsOurs(const error_code& error) {
  namespace errc = boost::system::errc;
  return error == errc::too_many_files_open || error == errc::too_many_files_open_in_system ||
         error == errc::address_not_available || error == errc::no_buffer_space || error == errc::not_enough_memory;
}

// Asio's own way through a list of addresses hides why a socket could not be opened.
Awaitable<error_code> Upstream::Connect(Backend& backend, Deadline deadline) {
  const std::vector<tcp::endpoint> endpoints = backend.endpoints();
  error_code result;
  for (size_t i = 0; i < endpoints.size(); ++i) {
    const auto now = Deadline::clock::now();
    error_code error;
    stream_.expires_at(now + (deadline - now) / static_cast<int>(endpoints.size() - i));
    co_await stream_.async_connect(endpoints[i], Into(error));
    if (!error) {
      Prepare(stream_.socket(), kMaxSilence);
      if (i > 0) backend.PutFirst(endpoints[i]);
      co_return error;
    }
    if (error == asio::error::operation_aborted) co_return error;  // By Close().
    if (!result || IsOurs(result)) result = error;
    stream_.close();
  }
  co_return result ? result : error_code(asio::error::host_not_found);
}

error_code Upstream::Parse() {
  error_code error;
  try {
    buffer_.consume(parser_->put(buffer_.data(), error));
  } catch (const std::length_error&) {
    return http::error::header_limit;
  }
  // These only ask for more.
  return error == http::error::need_more || error == http::error::need_buffer ? error_code() : error;
}

Awaitable<size_t> Upstream::Receive(error_code& error) {
  if (buffer_.size() > kMaxAnswerHeaderBytes) {
    error = http::error::header_limit;
    co_return 0;
  }
  const size_t bytes = co_await stream_.async_read_some(buffer_.prepare(kPieceBytes), Into(error));
  buffer_.commit(bytes);
  if (bytes > 0) answered_ = true;
  co_return bytes;
}

Awaitable<error_code> Upstream::Exchange(std::string_view head, std::string_view body, bool is_head,
                                         Deadline deadline) {
  answered_ = broken_ = false;
  stream_.expires_at(deadline);
  error_code error;
  const std::array<asio::const_buffer, 2> request{asio::buffer(head), asio::buffer(body)};
  co_await asio::async_write(stream_, request, Into(error));
  if (error == beast::error::timeout || error == asio::error::operation_aborted) co_return error;
  // It may have refused the request before it had all of it, and said why.
  broken_ = static_cast<bool>(error);

  do {  // An answer of 1xx is followed by another.
    parser_.emplace();
    parser_->header_limit(kMaxAnswerHeaderBytes);
    parser_->body_limit(std::numeric_limits<uint64_t>::max());
    parser_->skip(is_head);
    while (!parser_->is_header_done()) {
      if (buffer_.size() > 0) {
        if (error = Parse(); error) co_return error;
        if (parser_->is_header_done()) break;
      }
      error = {};
      (void)co_await Receive(error);
      if (error == asio::error::eof) co_return http::error::partial_message;
      if (error) co_return error;
    }
    // Nobody asked for an upgrade.
    if (parser_->get().result_int() < 100 || parser_->get().result_int() == 101) co_return http::error::bad_status;
  } while (parser_->get().result_int() < 200);
  // Trailers would come among its fields.
  answer_ = std::move(parser_->get().base());
  if (!TransferEncodingIsChunkedOrNone(answer_)) co_return http::error::bad_transfer_encoding;
  parser_->eager(true);
  co_return error_code();
}

std::optional<uint64_t> Upstream::content_length() const {
  const auto length = parser_->content_length();
  return length ? std::optional<uint64_t>(*length) : std::nullopt;
}

Awaitable<std::string_view> Upstream::ReadPiece(error_code& error, Deadline deadline) {
  stream_.expires_at(deadline);
  error = {};
  while (!parser_->is_done()) {
    if (buffer_.size() > 0) {
      auto& body = parser_->get().body();
      body.data = piece_.data();
      body.size = piece_.size();
      body.more = true;
      if (error = Parse(); error) co_return std::string_view();
      const size_t bytes = piece_.size() - body.size;
      if (bytes > 0) co_return std::string_view(piece_.data(), bytes);
      if (parser_->is_done()) break;
    }
    (void)co_await Receive(error);
    if (error == asio::error::eof) {
      error = {};
      parser_->put_eof(error);
    }
    if (error) co_return std::string_view();
  }
  co_return std::string_view();
}

bool Upstream::IsStale() {
  char byte;
  const auto got = ::recv(stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got >= 0 || errno != EAGAIN;
}

std::unique_ptr<Upstream> UpstreamPool::Take(const Backend& backend) {
  const auto found = idle_.find(&backend);
  if (found == idle_.end()) return nullptr;
  std::vector<Idle>& idle = found->second.idle;
  while (!idle.empty()) {
    std::unique_ptr<Upstream> upstream = std::move(idle.back().upstream);
    idle.pop_back();
    if (!upstream->IsStale()) return upstream;
  }
  return nullptr;
}

void UpstreamPool::Put(const std::shared_ptr<Backend>& backend, std::unique_ptr<Upstream> upstream) {
  Entry& entry = idle_[backend.get()];
  entry.backend = backend;
  if (entry.idle.size() < kMaxIdleConnections) entry.idle.push_back({std::move(upstream), Clock::now()});
}

void UpstreamPool::Sweep() {
  const Clock::time_point oldest = Clock::now() - kMaxIdle;
  for (auto entry = idle_.begin(); entry != idle_.end();) {
    std::vector<Idle>& idle = entry->second.idle;
    const auto keep = std::find_if(idle.begin(), idle.end(), [&](const Idle& each) { return each.since > oldest; });
    idle.erase(idle.begin(), keep);
    entry = idle.empty() ? idle_.erase(entry) : std::next(entry);
  }
}

}  // namespace gateway
