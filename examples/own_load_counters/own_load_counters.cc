// SPDX-License-Identifier: Apache-2.0
//
// A load balancer that counts its connections itself: Route() decides by those counts, and keeps nothing.

#include <iostream>
#include <vector>

#include "prefixroute/router.h"

int main() {
  const std::vector<prefixroute::Instance> instances = {{"10.0.0.1:8000"}, {"10.0.0.2:8000"}, {"10.0.0.3:8000"}};
  prefixroute::RouterOptions options;
  options.relative_bound = {/*factor_percent=*/125, /*margin=*/0, /*floor=*/2};
  auto router = prefixroute::Router::Create(options, instances);
  if (!router.ok()) {
    std::cerr << router.status() << "\n";
    return 1;
  }

  // The balancer's own counters, in the order of `instances`.
  std::vector<prefixroute::Load> connections(instances.size());
  prefixroute::Request request;
  request.prefix = "You are a careful assistant.";
  for (int i = 0; i < 7; ++i) {
    const absl::StatusOr<prefixroute::Decision> decision = (*router)->Route(request, connections);
    if (!decision.ok()) {
      std::cerr << decision.status() << "\n";
      return 1;
    }
    ++connections[decision->instance].outstanding;
    std::cout << "rank " << decision->rank << ", " << ReasonName(decision->reason) << "\n";
  }
}
