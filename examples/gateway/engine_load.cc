// SPDX-License-Identifier: Apache-2.0

#include "engine_load.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

namespace gateway {
namespace {

constexpr std::string_view kRunning[] = {"vllm:num_requests_running", "sglang:num_running_reqs",
                                         "llamacpp:requests_processing"};
constexpr std::string_view kWaiting[] = {"vllm:num_requests_waiting", "sglang:num_queue_reqs",
                                         "llamacpp:requests_deferred"};
constexpr std::string_view kProcessStart[] = {"process_start_time_seconds"};

std::optional<double> ParseNumber(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  return value;
}

// The value of a line of Prometheus text that begins with one of the names.
template <size_t kCount>
std::optional<double> ValueOf(std::string_view line, const std::string_view (&names)[kCount]) {
  for (const std::string_view name : names) {
    if (line.substr(0, name.size()) != name) continue;
    line.remove_prefix(name.size());
    if (line.empty() || (line.front() != '{' && line.front() != ' ')) return std::nullopt;
    if (line.front() == '{') line.remove_prefix(std::min(line.rfind('}'), line.size() - 1) + 1);
    return ParseNumber(line);
  }
  return std::nullopt;
}

uint32_t Count(double value) { return static_cast<uint32_t>(std::min<double>(value, prefixroute::kMaxOutstanding)); }

// The number after the name, within "name=1" or "\"name\": 1".
std::optional<double> NumberAfter(std::string_view text, std::string_view name) {
  const size_t begin = text.find(name);
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin + name.size());
  const size_t number = text.find_first_not_of("\"=: ");
  return number == std::string_view::npos ? std::nullopt : ParseNumber(text.substr(number));
}

}  // namespace

EngineMetrics ParseEngineMetrics(std::string_view text) {
  EngineMetrics metrics;
  double running = 0;
  double waiting = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (const auto some_running = ValueOf(line, kRunning)) {
      running += *some_running;
    } else if (const auto some_waiting = ValueOf(line, kWaiting)) {
      waiting += *some_waiting;
    } else {
      if (const auto start = ValueOf(line, kProcessStart)) metrics.process_start_seconds = start;
      continue;
    }
    metrics.load.emplace();
  }
  if (metrics.load) *metrics.load = {Count(running + waiting), Count(waiting)};
  return metrics;
}

std::optional<prefixroute::EngineLoad> ParseOrca(std::string_view header) {
  const auto waiting = NumberAfter(header, "num_requests_waiting");
  if (!waiting) return std::nullopt;
  const double running = NumberAfter(header, "num_requests_running").value_or(0);
  return prefixroute::EngineLoad{Count(running + *waiting), Count(*waiting)};
}

}  // namespace gateway
