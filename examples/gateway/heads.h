// SPDX-License-Identifier: Apache-2.0
//
// Headers as they come in, checked, and as they go out: without those that are for one connection alone.

#ifndef PREFIXROUTE_EXAMPLES_GATEWAY_HEADS_H_
#define PREFIXROUTE_EXAMPLES_GATEWAY_HEADS_H_

#include <optional>
#include <string>
#include <string_view>

#include "net.h"

namespace gateway {

// What is wrong with a request that the parser let through. Two readers of such a request might see two requests.
struct Objection {
  http::status status;
  const char* message;
};
std::optional<Objection> CheckRequest(const http::request_header<>& request);

// The target without the scheme and the authority that a proxy may be given; empty: it has none that can be passed on.
std::string_view PathOf(std::string_view target);

// Whether the body's length is told in a way that can be passed on.
bool TransferEncodingIsChunkedOrNone(const http::fields& fields);

// The request's header for the instance. Its body has come, and is sent by its length.
struct ForwardedRequest {
  std::string_view authority;       // The instance's.
  std::string_view client_address;  // For X-Forwarded-For.
  size_t body_bytes;
  bool ask_for_load;  // By endpoint-load-metrics-format.
};
std::string RequestHead(const http::request_header<>& request, const ForwardedRequest& forwarded);

// The answer's header for the client, but for the empty line at its end and what says how long the body is.
std::string AnswerHead(const http::response_header<>& answer, bool hide_load);

}  // namespace gateway

#endif  // PREFIXROUTE_EXAMPLES_GATEWAY_HEADS_H_
