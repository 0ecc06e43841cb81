// SPDX-License-Identifier: Apache-2.0

#include "worker.h"

#include <utility>

#include "guard.h"
#include "session.h"

namespace gateway {
namespace {

// Clients that have just sent a request, or are about to, get their answer when the gateway drains.
constexpr std::chrono::milliseconds kGrace{100};
constexpr std::chrono::seconds kSweepInterval{1};
// Nothing can be accepted: no file descriptor is left, say.
constexpr std::chrono::milliseconds kAcceptAgain{50};

using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

}  // namespace

error_code Worker::Listen(const tcp::endpoint& endpoint, bool admin) {
  auto listener = std::make_unique<Listener>(Listener{tcp::acceptor(context_), admin});
  tcp::acceptor& acceptor = listener->acceptor;
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.set_option(ReusePort(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(4'096, error);
  if (!error) acceptor.non_blocking(true, error);
  // Else accept() waits for another client when one has gone.
  if (!error) acceptor.set_option(tcp::acceptor::enable_connection_aborted(true), error);
  if (!error) listeners_.push_back(std::move(listener));
  return error;
}

void Worker::Run() {
  for (const auto& listener : listeners_) {
    SpawnAgain(context_, [this, &listener = *listener] { return Accept(listener); });
  }
  SpawnAgain(context_, [this] { return Sweep(); });
  RunOn(context_, [this](const std::exception_ptr& exception) { Caught(exception); });
  pool_.Clear();
}

Awaitable<void> Worker::Accept(Listener& listener) {
  while (listener.acceptor.is_open()) {
    error_code error;
    tcp::socket socket(context_);
    // Not by async_accept(): where that fails for want of memory, this coroutine goes with it.
    co_await listener.acceptor.async_wait(tcp::acceptor::wait_read, Into(error));
    if (!error) listener.acceptor.accept(socket, error);
    if (!error) {
      Start(std::move(socket), listener.admin);
    } else if (listener.acceptor.is_open() && error != asio::error::would_block &&
               error != asio::error::connection_aborted) {
      asio::steady_timer wait(context_, kAcceptAgain);
      co_await wait.async_wait(Into(error));
    }
  }
}

void Worker::Caught(const std::exception_ptr& exception) {
  LogException(exception);
  metrics_.exceptions.Increment();
}

void Worker::Start(tcp::socket socket, bool admin) {
  std::make_shared<Session>(*this, std::move(socket), admin)->Start();
}

Awaitable<void> Worker::Sweep() {
  while (!draining_) {
    pool_.Sweep();
    sweeping_.expires_after(kSweepInterval);
    error_code error;
    co_await sweeping_.async_wait(Into(error));
  }
}

void Worker::Drain() {
  asio::post(context_, [this] {
    draining_ = true;
    for (const auto& listener : listeners_) {
      // What the system has accepted for us already would be reset.
      error_code error;
      while (!error) {
        tcp::socket socket(context_);
        listener->acceptor.accept(socket, error);
        if (!error) Start(std::move(socket), listener->admin);
      }
      listener->acceptor.close(error);
    }
    sweeping_.expires_after(kGrace);
    sweeping_.async_wait([this](error_code) {
      // Sessions that end by this take themselves out.
      const std::unordered_set<Session*> sessions = sessions_;
      for (Session* session : sessions) session->CloseIfIdle();
    });
  });
}

void Worker::Abort() {
  asio::post(context_, [this] {
    // Drain() closes them, unless something was thrown there.
    error_code ignored;
    for (const auto& listener : listeners_) listener->acceptor.close(ignored);
    const std::unordered_set<Session*> sessions = sessions_;
    for (Session* session : sessions) session->Abort();
  });
}

prefixroute::PayloadReader& Worker::reader(uint64_t key_bytes) {
  if (key_bytes != key_bytes_) {
    reader_ = prefixroute::PayloadReader(key_bytes);
    key_bytes_ = key_bytes;
  }
  return reader_;
}

}  // namespace gateway
