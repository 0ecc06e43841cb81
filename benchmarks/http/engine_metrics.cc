// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/http/engine_metrics.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace prefixroute::http_load {

namespace asio = boost::asio;
namespace http = boost::beast::http;

double MetricValue(std::string_view text, std::string_view name) {
  double sum = 0;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.substr(0, name.size()) != name || line.size() == name.size()) continue;
    const char next = line[name.size()];
    double value = 0;
    const size_t space = line.rfind(' ');
    if ((next == '{' || next == ' ') && absl::SimpleAtod(std::string(line.substr(space + 1)), &value)) sum += value;
  }
  return sum;
}

absl::StatusOr<EngineMetrics> FetchEngineMetrics(const std::string& host, const std::string& port) {
  const auto failed = [&](const boost::system::error_code& error) {
    return absl::UnavailableError(absl::StrCat("http://", host, ":", port, "/metrics: ", error.message()));
  };
  boost::system::error_code error;
  asio::io_context io(1);
  boost::beast::tcp_stream stream(io);
  const auto endpoints = asio::ip::tcp::resolver(io).resolve(host, port, error);
  if (error) return failed(error);
  stream.connect(endpoints, error);
  if (error) return failed(error);
  http::request<http::string_body> request(http::verb::get, "/metrics", 11);
  request.set(http::field::host, host);
  request.keep_alive(false);
  http::write(stream, request, error);
  if (error) return failed(error);
  boost::beast::flat_buffer buffer;
  http::response<http::string_body> response;
  http::read(stream, buffer, response, error);
  if (error) return failed(error);
  return EngineMetrics{MetricValue(response.body(), "vllm:request_success_total"),
                       MetricValue(response.body(), "vllm:prefix_cache_queries_total"),
                       MetricValue(response.body(), "vllm:prefix_cache_hits_total")};
}

}  // namespace prefixroute::http_load
