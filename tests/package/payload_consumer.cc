// SPDX-License-Identifier: Apache-2.0
//
// A small user of the payload component. Fails where a turn of a conversation isn't sent where the one before was.

#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "prefixroute/payload.h"
#include "prefixroute/payload_c.h"
#include "prefixroute/router.h"

namespace {

std::string Body(int turns) {
  std::string body = R"({"model": "m", "messages": [{"role": "system", "content": "You are kind to everybody."})";
  for (int i = 0; i < turns; ++i) {
    body += R"(, {"role": "user", "content": "Tell me more about the sea, and don't leave anything out, please."})";
  }
  return body + "], \"temperature\": 0." + std::to_string(turns) + "}";
}

}  // namespace

int main() {
  absl::StatusOr<std::unique_ptr<prefixroute::Router>> router =
      prefixroute::Router::Create({}, {{"a:8000"}, {"b:8000"}, {"c:8000"}});
  if (!router.ok()) return 1;
  prefixroute::PayloadReader reader;
  std::string first;
  for (int turns = 1; turns < 9; ++turns) {
    const std::string body = Body(turns);
    const prefixroute::Payload& payload = reader.Read(body);
    prefixroute::Request request;
    request.key = &payload.key;
    absl::StatusOr<prefixroute::Lease> lease = (*router)->Acquire(request);
    if (!lease.ok() || payload.form != prefixroute::PayloadForm::kChat) return 1;
    if (turns == 1) first = lease->id();
    if (lease->id() != first) {
      std::cerr << "FAILED: turn " << turns << " went to " << lease->id() << ", not " << first << '\n';
      return 1;
    }
  }
  return std::string(prefixroute_payload_form_name(PREFIXROUTE_PAYLOAD_CHAT)) == "chat" ? 0 : 1;
}
