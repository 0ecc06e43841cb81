// SPDX-License-Identifier: Apache-2.0

#include "answers.h"

#include "absl/strings/str_format.h"

namespace gateway {
namespace {

struct ErrorType {
  const char* openai;
  const char* anthropic;
};

ErrorType TypeOf(http::status status) {
  switch (status) {
    case http::status::not_found:
      return {"invalid_request_error", "not_found_error"};
    case http::status::payload_too_large:
      return {"invalid_request_error", "request_too_large"};
    case http::status::too_many_requests:
      return {"rate_limit_error", "rate_limit_error"};
    case http::status::bad_gateway:
      return {"server_error", "api_error"};
    case http::status::service_unavailable:
      return {"service_unavailable_error", "overloaded_error"};
    case http::status::gateway_timeout:
      return {"timeout_error", "timeout_error"};
    default:
      return {"invalid_request_error", "invalid_request_error"};
  }
}

std::string Answer(const Manner& manner, http::status status, std::string_view type, std::string_view more_headers,
                   std::string_view body) {
  const char* connection = !manner.keep_alive ? "Connection: close\r\n"
                           : manner.http_1_0  ? "Connection: keep-alive\r\n"
                                              : "";
  return absl::StrFormat("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s%s\r\n%s",
                         static_cast<unsigned>(status), View(http::obsolete_reason(status)), type, body.size(),
                         more_headers, connection, manner.head ? std::string_view() : body);
}

}  // namespace

Manner MannerOf(const http::request_header<>& request) {
  Manner manner;
  manner.head = request.method() == http::verb::head;
  manner.http_1_0 = request.version() < 11;
  manner.anthropic = View(request.target()).find(kAnthropicPath) != std::string_view::npos;
  return manner;
}

std::string PlainAnswer(const Manner& manner, http::status status, std::string_view type, std::string_view body) {
  return Answer(manner, status, type, "", body);
}

std::string ErrorAnswer(const Manner& manner, http::status status, std::string_view message) {
  const ErrorType type = TypeOf(status);
  const std::string body =
      manner.anthropic
          ? absl::StrFormat(R"({"type":"error","error":{"type":"%s","message":"%s"}})", type.anthropic, message)
          : absl::StrFormat(R"({"error":{"message":"%s","type":"%s","param":null,"code":%d}})", message, type.openai,
                            static_cast<unsigned>(status));
  const bool again = status == http::status::too_many_requests || status == http::status::service_unavailable;
  return Answer(manner, status, "application/json", again ? "Retry-After: 1\r\n" : "", body);
}

}  // namespace gateway
