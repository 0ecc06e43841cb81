// SPDX-License-Identifier: Apache-2.0
//
// A small gateway, as somebody else would write it. Fails where the installed library doesn't keep its promises.

#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "prefixroute/router.h"

namespace {

int failures = 0;

void Check(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "FAILED: " << what << '\n';
  ++failures;
}

// A type of the consumer that derives from one of the library: its vtable and typeinfo must be found.
class Last final : public prefixroute::RoutingStrategy {
 public:
  prefixroute::Choice Choose(const prefixroute::FleetView& fleet) const noexcept override {
    prefixroute::Choice choice;
    choice.instance = fleet.size() - 1;
    return choice;
  }
};

}  // namespace

int main() {
  const std::vector<prefixroute::Instance> instances = {{"a:8000"}, {"b:8000"}, {"c:8000"}};
  absl::StatusOr<std::unique_ptr<prefixroute::Router>> created = prefixroute::Router::Create({}, instances);
  if (!created.ok()) {
    std::cerr << created.status() << '\n';
    return 1;
  }
  prefixroute::Router& router = **created;

  // Two requests each of 30 prefixes: the second goes where the first went.
  std::vector<prefixroute::Lease> leases;
  std::map<std::string, int> homes;
  for (int i = 0; i < 30; ++i) {
    const std::string prompt = "You are assistant number " + std::to_string(i);
    prefixroute::Request request;
    request.prefix = prompt;
    absl::StatusOr<prefixroute::Lease> first = router.Acquire(request);
    absl::StatusOr<prefixroute::Lease> second = router.Acquire(request);
    if (!first.ok() || !second.ok()) {
      std::cerr << first.status() << ' ' << second.status() << '\n';
      return 1;
    }
    Check(first->decision().home == second->decision().home, "one prefix has one home");
    if (i == 0) Check(first->id() == second->id(), "an idle fleet sends one prefix to one instance");
    ++homes[instances[first->decision().home].id];
    leases.push_back(*std::move(first));
    leases.push_back(*std::move(second));
  }
  Check(homes.size() == instances.size(), "every instance is the home of some prefix");
  Check(router.Stats().outstanding == leases.size(), "every lease counts");
  leases.clear();
  Check(router.Stats().outstanding == 0, "finished leases do not count");

  // By loads of the consumer's own.
  prefixroute::Request request;
  request.strategy = prefixroute::Strategy::kLeastOutstandingRequests;
  const std::vector<prefixroute::Load> loads = {{5}, {0}, {5}};
  const absl::StatusOr<prefixroute::Decision> least = router.Route(request, loads);
  Check(least.ok() && least->instance == 1, "the least outstanding is chosen");

  // By a strategy of the consumer's own.
  prefixroute::RouterOptions options;
  options.custom_strategy = std::make_shared<Last>();
  Check(router.SetOptions(options).ok(), "a custom strategy is taken");
  const absl::StatusOr<prefixroute::Lease> last = router.Acquire({});
  Check(last.ok() && last->id() == "c:8000", "the custom strategy chooses");

  // Errors arrive as values.
  Check(router.SetInstances({{"a"}, {"a"}}).code() == absl::StatusCode::kInvalidArgument, "a duplicate id is refused");

  for (const auto& [id, count] : homes) std::cout << id << " is the home of " << count << " prefixes\n";
  return failures == 0 ? 0 : 1;
}
