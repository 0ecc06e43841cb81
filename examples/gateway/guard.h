// SPDX-License-Identifier: Apache-2.0
//
// What becomes of exceptions: memory that runs out, say. One costs a connection at most. The log has its type and not
// its text, in which there may be what a client sent.

#ifndef PREFIXROUTE_EXAMPLES_GATEWAY_GUARD_H_
#define PREFIXROUTE_EXAMPLES_GATEWAY_GUARD_H_

#include <chrono>
#include <exception>
#include <typeinfo>

#include "log.h"
#include "net.h"

namespace gateway {

inline void LogException(const std::exception_ptr& exception) noexcept {
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception& error) {
    Log("goes on after an exception: %s", typeid(error).name());
  } catch (...) {
    Log("goes on after an exception");
  }
}

// Until nothing is left to do, whatever handlers throw.
template <typename Caught>
void RunOn(asio::io_context& context, const Caught& caught) {
  for (;;) {
    try {
      context.run();
      return;
    } catch (...) {
      caught(std::current_exception());
    }
  }
}

constexpr std::chrono::milliseconds kAgainAfter{50};

// Runs the coroutine that `make` makes, and another one, after a while, whenever that fails. This one stays: to start
// one takes memory.
template <typename Make>
Awaitable<void> Again(asio::io_context& context, Make make) {
  for (bool failed = false;; failed = true) {
    try {
      if (failed) {
        asio::steady_timer wait(context, kAgainAfter);
        co_await wait.async_wait(asio::use_awaitable);
      }
      co_await make();
      co_return;
    } catch (...) {
      LogException(std::current_exception());
    }
  }
}

template <typename Make>
void SpawnAgain(asio::io_context& context, Make make) {
  asio::co_spawn(context, Again(context, make), asio::detached);
}

}  // namespace gateway

#endif  // PREFIXROUTE_EXAMPLES_GATEWAY_GUARD_H_
