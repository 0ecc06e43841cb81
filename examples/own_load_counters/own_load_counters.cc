// SPDX-License-Identifier: Apache-2.0
//
// A load balancer that counts its requests itself: Route() decides by those counts. It keeps none, but remembers which
// instance has which prefix.

#include <iostream>
#include <string>
#include <vector>

#include "prefixroute/router.h"

int main() {
  const std::vector<prefixroute::Instance> instances = {{"10.0.0.1:8000"}, {"10.0.0.2:8000"}, {"10.0.0.3:8000"}};
  auto router = prefixroute::Router::Create({}, instances);
  if (!router.ok()) {
    std::cerr << router.status() << "\n";
    return 1;
  }

  // The balancer's own counters, in the order of `instances`.
  std::vector<prefixroute::Load> loads(instances.size());
  std::string conversation = "You are a careful assistant.";
  for (int turn = 0; turn < 4; ++turn) {
    conversation += std::string(20'000, static_cast<char>('a' + turn));
    prefixroute::Request request;
    request.prefix = conversation;
    const absl::StatusOr<prefixroute::Decision> decision = (*router)->Route(request, loads);
    if (!decision.ok()) {
      std::cerr << decision.status() << "\n";
      return 1;
    }
    prefixroute::Load& load = loads[decision->instance];
    ++load.outstanding;
    load.pending_bytes += decision->uncached_bytes;
    std::cout << instances[decision->instance].id << " was sent " << decision->matched_bytes << " of "
              << conversation.size() << " bytes before\n";
    load.pending_bytes -= decision->uncached_bytes;  // The first token has come.
    --load.outstanding;                              // The request is over.
  }
}
