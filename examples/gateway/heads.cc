// SPDX-License-Identifier: Apache-2.0

#include "heads.h"

#include <boost/beast/http/rfc7230.hpp>
#include <unordered_set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace gateway {
namespace {

constexpr char kOrca[] = "endpoint-load-metrics";
constexpr char kOrcaFormat[] = "endpoint-load-metrics-format";

absl::string_view ToAbsl(beast::string_view text) { return {text.data(), text.size()}; }

// The fields that Connection names, in lower case.
using Named = std::unordered_set<std::string>;

Named NamedByConnection(const http::fields& fields) {
  Named named;
  const auto [begin, end] = fields.equal_range(http::field::connection);
  for (auto connection = begin; connection != end; ++connection) {
    for (const auto token : http::token_list(connection->value())) named.insert(absl::AsciiStrToLower(ToAbsl(token)));
  }
  return named;
}

// Whether it is between this sender and this receiver alone.
bool IsHopByHop(const Named& named, const http::fields::value_type& field) {
  switch (field.name()) {
    case http::field::connection:
    case http::field::keep_alive:
    case http::field::proxy_authenticate:
    case http::field::proxy_authorization:
    case http::field::proxy_connection:
    case http::field::te:
    case http::field::trailer:
    case http::field::transfer_encoding:
    case http::field::upgrade:
      return true;
    default:
      break;
  }
  return !named.empty() && named.count(absl::AsciiStrToLower(ToAbsl(field.name_string()))) != 0;
}

void Append(std::string& head, const http::fields::value_type& field) {
  const std::string_view name = View(field.name_string());
  const std::string_view value = View(field.value());
  head.append(name).append(": ").append(value).append("\r\n");
}

size_t Count(const http::fields& fields, http::field name) { return fields.count(name); }

}  // namespace

std::string_view PathOf(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  if (!beast::iequals(beast::string_view(target.data(), std::min(target.size(), kScheme.size())),
                      beast::string_view(kScheme.data(), kScheme.size()))) {
    return target;
  }
  const size_t path = target.find_first_of("/?", kScheme.size());
  if (path == std::string_view::npos) return "/";
  return target[path] == '?' ? std::string_view() : target.substr(path);
}

bool TransferEncodingIsChunkedOrNone(const http::fields& fields) {
  const size_t count = Count(fields, http::field::transfer_encoding);
  if (count == 0) return true;
  return count == 1 && beast::iequals(fields[http::field::transfer_encoding], "chunked") &&
         Count(fields, http::field::content_length) == 0;
}

std::optional<Objection> CheckRequest(const http::request_header<>& request) {
  using http::status;
  if (request.version() != 11 && request.version() != 10) {
    return Objection{status::http_version_not_supported, "only HTTP/1.1 and HTTP/1.0"};
  }
  if (!TransferEncodingIsChunkedOrNone(request)) {
    return Objection{status::not_implemented, "no Transfer-Encoding but chunked, and none beside Content-Length"};
  }
  if (request.version() == 10 && Count(request, http::field::transfer_encoding) != 0) {
    return Objection{status::bad_request, "HTTP/1.0 has no Transfer-Encoding"};
  }
  const size_t hosts = Count(request, http::field::host);
  if (hosts > 1 || (hosts == 0 && request.version() == 11) ||
      View(request[http::field::host]).find_first_of(" \t,/?#@") != std::string_view::npos) {
    return Objection{status::bad_request, "not one Host"};
  }
  // The parser takes lists of equal lengths for one.
  const std::string_view length = View(request[http::field::content_length]);
  if (Count(request, http::field::content_length) > 1 ||
      length.find_first_not_of("0123456789") != std::string_view::npos) {
    return Objection{status::bad_request, "not one Content-Length"};
  }
  if (request.method() == http::verb::connect || request.method() == http::verb::trace) {
    return Objection{status::method_not_allowed, "no such method here"};
  }
  const std::string_view path = PathOf(View(request.target()));
  const bool whole_server = request.method() == http::verb::options && path == "*";
  if (path.empty() || (path.front() != '/' && !whole_server)) {
    return Objection{status::bad_request, "the target is not a path"};
  }
  if (const auto expect = request[http::field::expect]; !expect.empty() && !beast::iequals(expect, "100-continue")) {
    return Objection{status::expectation_failed, "no such expectation"};
  }
  return std::nullopt;
}

std::string RequestHead(const http::request_header<>& request, const ForwardedRequest& forwarded) {
  std::string head;
  head.reserve(1024);
  head.append(View(request.method_string())).append(" ").append(PathOf(View(request.target())));
  head.append(" HTTP/1.1\r\nHost: ").append(forwarded.authority).append("\r\n");
  std::string forwarded_for;
  const Named named = NamedByConnection(request);
  for (const auto& field : request) {
    switch (field.name()) {
      case http::field::host:
      case http::field::content_length:
      case http::field::expect:
        continue;
      default:
        break;
    }
    if (beast::iequals(field.name_string(), "X-Forwarded-For")) {
      forwarded_for.append(View(field.value())).append(", ");
    } else if (!IsHopByHop(named, field)) {
      Append(head, field);
    }
  }
  head.append("X-Forwarded-For: ").append(forwarded_for).append(forwarded.client_address).append("\r\n");
  if (forwarded.ask_for_load && request.find(kOrcaFormat) == request.end()) {
    head.append(kOrcaFormat).append(": TEXT\r\n");
  }
  if (Count(request, http::field::content_length) + Count(request, http::field::transfer_encoding) != 0) {
    head.append("Content-Length: ").append(std::to_string(forwarded.body_bytes)).append("\r\n");
  }
  head.append("\r\n");
  return head;
}

std::string AnswerHead(const http::response_header<>& answer, bool hide_load) {
  std::string head;
  head.reserve(1024);
  head.append("HTTP/1.1 ").append(std::to_string(answer.result_int())).append(" ");
  head.append(View(answer.reason())).append("\r\n");
  const Named named = NamedByConnection(answer);
  for (const auto& field : answer) {
    if (field.name() == http::field::content_length || IsHopByHop(named, field)) continue;
    if (hide_load && beast::iequals(field.name_string(), kOrca)) continue;
    Append(head, field);
  }
  return head;
}

}  // namespace gateway
