// SPDX-License-Identifier: Apache-2.0
//
// One line on standard error for each thing that happens to the gateway. Nothing that a client sent is ever in it.

#ifndef PREFIXROUTE_EXAMPLES_GATEWAY_LOG_H_
#define PREFIXROUTE_EXAMPLES_GATEWAY_LOG_H_

#include <cstdio>
#include <ctime>
#include <string>

#include "absl/strings/str_format.h"

namespace gateway {

template <typename... Args>
void Log(const absl::FormatSpec<Args...>& format, const Args&... args) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char time[sizeof "2026-01-01T00:00:00Z"];
  (void)std::strftime(time, sizeof time, "%FT%TZ", &utc);
  const std::string line = absl::StrFormat("%s prefixroute_gateway: ", time) + absl::StrFormat(format, args...) + "\n";
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace gateway

#endif  // PREFIXROUTE_EXAMPLES_GATEWAY_LOG_H_
