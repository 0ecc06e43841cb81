// SPDX-License-Identifier: Apache-2.0
//
// The answers that the gateway gives itself.

#ifndef PREFIXROUTE_EXAMPLES_GATEWAY_ANSWERS_H_
#define PREFIXROUTE_EXAMPLES_GATEWAY_ANSWERS_H_

#include <string>
#include <string_view>

#include "net.h"

namespace gateway {

// How an answer is to be sent, by what its request was.
struct Manner {
  bool head = false;        // It was HEAD: no body.
  bool keep_alive = false;  // Another request may follow.
  bool http_1_0 = false;
  bool anthropic = false;  // Errors in Anthropic's form, not in OpenAI's.
};

inline constexpr std::string_view kAnthropicPath = "/v1/messages";

Manner MannerOf(const http::request_header<>& request);

std::string PlainAnswer(const Manner& manner, http::status status, std::string_view type, std::string_view body);

// 429 and 503 come with Retry-After. The message is ours and plain: it is not escaped.
std::string ErrorAnswer(const Manner& manner, http::status status, std::string_view message);

}  // namespace gateway

#endif  // PREFIXROUTE_EXAMPLES_GATEWAY_ANSWERS_H_
