// SPDX-License-Identifier: Apache-2.0
//
// An instance fails before its first token: try the best of the others. One that fails every time looks idle, and would
// draw more: Router::SetDraining() it.

#include <iostream>
#include <string>
#include <vector>

#include "prefixroute/router.h"

namespace {

// Stands for the request to the engine.
bool Forward(std::string_view id) { return id == "c"; }

}  // namespace

int main() {
  auto router = prefixroute::Router::Create({}, {{"a"}, {"b"}, {"c"}});
  if (!router.ok()) {
    std::cerr << router.status() << "\n";
    return 1;
  }
  prefixroute::Request request;
  request.prefix = "You are a careful assistant.";
  std::vector<std::string> failed;
  for (;;) {
    const std::vector<std::string_view> exclude(failed.begin(), failed.end());
    request.exclude = exclude;
    absl::StatusOr<prefixroute::Lease> lease = (*router)->Acquire(request);
    if (!lease.ok()) {  // All have failed, or are full.
      std::cerr << lease.status() << "\n";
      return 1;
    }
    if (Forward(lease->id())) {
      std::cout << "served by " << lease->id() << "\n";
      return 0;
    }
    std::cout << lease->id() << " failed\n";
    failed.emplace_back(lease->id());
  }
}
