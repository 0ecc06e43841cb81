// SPDX-License-Identifier: Apache-2.0
//
// Another strategy on a running router, by the name in a config; and for one request alone. Open leases aren't touched.

#include <iostream>

#include "prefixroute/router.h"

namespace {

void PrintReason(const absl::StatusOr<prefixroute::Lease>& lease) {
  if (lease.ok()) {
    std::cout << ReasonName(lease->decision().reason) << "\n";
  } else {
    std::cout << lease.status() << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto router = prefixroute::Router::Create({}, {{"a"}, {"b"}, {"c"}});
  if (!router.ok()) {
    std::cerr << router.status() << "\n";
    return 1;
  }
  prefixroute::Request request;
  request.prefix = "You are a careful assistant.";
  const absl::StatusOr<prefixroute::Lease> before = (*router)->Acquire(request);
  PrintReason(before);

  const auto strategy = prefixroute::ParseStrategy(argc > 1 ? argv[1] : "LEAST_OUTSTANDING_REQUESTS");
  if (!strategy.ok()) {
    std::cerr << strategy.status() << "\n";
    return 1;
  }
  if (absl::Status status = (*router)->SetStrategy(*strategy); !status.ok()) {
    std::cerr << status << "\n";
    return 1;
  }
  PrintReason((*router)->Acquire(request));

  request.strategy = prefixroute::Strategy::kRandom;
  PrintReason((*router)->Acquire(request));
  std::cout << (*router)->Stats().outstanding << " outstanding\n";
}
