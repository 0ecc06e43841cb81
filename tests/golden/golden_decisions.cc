// SPDX-License-Identifier: Apache-2.0
//
// golden_decisions: prints what PREFIX_AWARE decides throughout a fixed history, and at times all costs, to the last
// bit.
// golden_decisions <file>: compares them with that file, line by line.
//
// decisions.golden holds what every build on every machine must print: costs are compared, and gateways whose last bits
// differ may decide differently. Unlike orders, it is not promised to later releases. CMakeLists.txt builds this
// program in several ways, each with its own copy of the library.

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "prefixroute/router.h"
#include "tests/golden/golden_main.h"
#include "tests/golden/history.h"

namespace prefixroute {
namespace {

class Player {
 public:
  Player(const RouterOptions& options, const std::vector<Instance>& instances)
      : router_(std::move(*Router::Create(options, instances))) {}

  void ForgetCache(const std::string& id) { (void)router_->ForgetCache(id); }
  void SetDraining(const std::string& id, bool draining) { (void)router_->SetDraining(id, draining); }
  std::vector<double> Costs(std::string_view prefix) {
    std::vector<double> costs;
    const absl::StatusOr<std::vector<InstanceCost>> explained = router_->Explain(RequestFor(prefix));
    for (const InstanceCost& cost : *explained) costs.push_back(cost.cost);
    return costs;
  }
  Decision Route(std::string_view prefix, const std::vector<Load>& loads) {
    return *router_->Route(RequestFor(prefix), loads);
  }
  Decision Acquire(std::string_view prefix) {
    leases_.push_back(*router_->Acquire(RequestFor(prefix)));
    return leases_.back().decision();
  }
  void FirstToken(size_t index) { leases_[index].FirstToken(); }
  void FinishOldest() { leases_.pop_front(); }
  size_t leases() const { return leases_.size(); }

 private:
  static Request RequestFor(std::string_view prefix) {
    Request request;
    request.prefix = prefix;
    return request;
  }

  std::unique_ptr<Router> router_;
  std::deque<Lease> leases_;
};

}  // namespace
}  // namespace prefixroute

int main(int argc, char** argv) {
  return prefixroute::test::GoldenMain(argc, argv, prefixroute::test::PlayHistories<prefixroute::Player>);
}
