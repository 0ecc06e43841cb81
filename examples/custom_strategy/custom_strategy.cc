// SPDX-License-Identifier: Apache-2.0
//
// A strategy of your own, plugged in from outside the library: power of two choices. Of two instances that the
// prefix's order puts first, the one with fewer outstanding requests takes it.

#include <iostream>
#include <memory>

#include "prefixroute/router.h"

namespace {

class LighterOfTwoHomes final : public prefixroute::RoutingStrategy {
 public:
  prefixroute::Choice Choose(const prefixroute::FleetView& fleet) const noexcept override {
    const auto eligible = [&](uint32_t i) { return fleet.eligible(i); };
    const uint64_t key = fleet.key().empty() ? fleet.random() : fleet.key().value();
    uint32_t homes[2];
    const size_t found = prefixroute::RendezvousOrder(fleet.nodes(), key, eligible, homes, 2);

    prefixroute::Choice choice;
    if (found == 0) return choice;  // Nobody is eligible.
    choice.home = homes[0];
    choice.instance = homes[0];
    choice.rank = 1;
    if (found == 2 && fleet.outstanding(homes[1]) < fleet.outstanding(homes[0])) {
      choice.instance = homes[1];
      choice.rank = 2;
    }
    return choice;
  }
};

}  // namespace

int main() {
  prefixroute::RouterOptions options;
  options.custom_strategy = std::make_shared<LighterOfTwoHomes>();
  auto router = prefixroute::Router::Create(options, {{"a"}, {"b"}, {"c"}, {"d"}});
  if (!router.ok()) {
    std::cerr << router.status() << "\n";
    return 1;
  }
  prefixroute::Request request;
  request.prefix = "You are a careful assistant.";
  std::vector<prefixroute::Lease> leases;
  for (int i = 0; i < 6; ++i) {
    absl::StatusOr<prefixroute::Lease> lease = (*router)->Acquire(request);
    if (!lease.ok()) {
      std::cerr << lease.status() << "\n";
      return 1;
    }
    std::cout << "rank " << lease->decision().rank << "\n";
    leases.push_back(*std::move(lease));
  }
}
