// SPDX-License-Identifier: Apache-2.0
//
// What becomes of exceptions: memory that runs out, say. One costs a connection at most. The log has its type and not
// its text, in which there may be what a client sent.

#ifndef PREFIXROUTE_EXAMPLES_GATEWAY_GUARD_H_
#define PREFIXROUTE_EXAMPLES_GATEWAY_GUARD_H_

#include <exception>
#include <typeinfo>
#include <utility>

#include "log.h"
#include "net.h"

namespace gateway {

inline void LogException(const std::exception_ptr& exception) {
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

// Runs the coroutine that `make` makes, and another one whenever it throws.
template <typename Make>
void SpawnAgain(asio::io_context& context, Make make) {
  asio::co_spawn(context, make(), [&context, make](const std::exception_ptr& exception) {
    if (exception == nullptr) return;
    LogException(exception);
    SpawnAgain(context, make);
  });
}

}  // namespace gateway

#endif  // PREFIXROUTE_EXAMPLES_GATEWAY_GUARD_H_
