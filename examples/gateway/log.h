// SPDX-License-Identifier: Apache-2.0
//
// One line on standard error for each thing that happens to the gateway. Nothing that a client sent is ever in it. It
// neither waits for who reads it, unless others write there too, nor needs memory: a line that can't be written at once
// is dropped, a long one is cut.

#ifndef PREFIXROUTE_EXAMPLES_GATEWAY_LOG_H_
#define PREFIXROUTE_EXAMPLES_GATEWAY_LOG_H_

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>
#include <mutex>

#include "absl/strings/str_format.h"

namespace gateway {

// No more than PIPE_BUF bytes: so many a pipe takes at once when it says that it takes any.
inline void WriteToLog(const char* line, size_t size) noexcept {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  pollfd standard_error{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&standard_error, 1, 0) == 1) (void)!::write(STDERR_FILENO, line, size);
}

template <typename... Args>
void Log(const absl::FormatSpec<Args...>& format, const Args&... args) noexcept {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char line[PIPE_BUF];
  const size_t begin = std::strftime(line, sizeof line, "%FT%TZ prefixroute_gateway: ", &utc);
  const int more = absl::SNPrintF(line + begin, sizeof line - begin, format, args...);
  const size_t end = std::min(begin + static_cast<size_t>(std::max(more, 0)), sizeof line - 1);
  line[end] = '\n';
  WriteToLog(line, end + 1);
}

}  // namespace gateway

#endif  // PREFIXROUTE_EXAMPLES_GATEWAY_LOG_H_
