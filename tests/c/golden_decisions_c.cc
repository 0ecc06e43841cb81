// SPDX-License-Identifier: Apache-2.0
//
// golden_decisions_c <file>: the history of decisions.golden through the C API, with leases that are plain numbers and
// every other prompt in pieces: it must print what golden_decisions prints.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "prefixroute/c.h"
#include "prefixroute/router.h"
#include "tests/golden/golden_main.h"
#include "tests/golden/history.h"

namespace {

prefixroute_error error;

void Check(prefixroute_status status) {
  if (status == PREFIXROUTE_OK) return;
  std::cerr << prefixroute_status_name(status) << ": " << error.text << "\n";
  std::exit(1);
}

class Player {
 public:
  Player(const prefixroute::RouterOptions& options, const std::vector<prefixroute::Instance>& instances) {
    prefixroute_options c_options;
    prefixroute_options_init(&c_options, sizeof(c_options));
    c_options.gateway_replicas = options.gateway_replicas;
    std::vector<prefixroute_instance> c_instances;
    for (const prefixroute::Instance& instance : instances) {
      c_instances.push_back({sizeof(prefixroute_instance), instance.max_outstanding, instance.weight,
                             instance.id.data(), instance.id.size()});
    }
    size_ = instances.size();
    Check(prefixroute_create(&c_options, c_instances.data(), c_instances.size(), &router_, &error));
  }
  ~Player() { prefixroute_destroy(router_); }
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  void ForgetCache(const std::string& id) { Check(prefixroute_forget_cache(router_, id.data(), id.size(), &error)); }
  void SetDraining(const std::string& id, bool draining) {
    Check(prefixroute_set_draining(router_, id.data(), id.size(), draining ? 1 : 0, &error));
  }
  std::vector<double> Costs(std::string_view prefix) {
    std::vector<prefixroute_instance_cost> costs(size_);
    costs[0].struct_size = sizeof(costs[0]);
    const prefixroute_request request = RequestFor(prefix);
    Check(prefixroute_explain(router_, &request, nullptr, 0, costs.data(), costs.size(), nullptr, &error));
    std::vector<double> numbers;
    for (const prefixroute_instance_cost& cost : costs) numbers.push_back(cost.cost);
    return numbers;
  }
  prefixroute::Decision Route(std::string_view prefix, const std::vector<prefixroute::Load>& loads) {
    std::vector<prefixroute_load> c_loads;
    for (const prefixroute::Load& load : loads) c_loads.push_back({load.outstanding, 0, load.pending_bytes});
    const prefixroute_request request = RequestFor(prefix);
    prefixroute_decision decision{};
    decision.struct_size = sizeof(decision);
    Check(prefixroute_route(router_, &request, c_loads.data(), c_loads.size(), &decision, &error));
    return DecisionOf(decision);
  }
  prefixroute::Decision Acquire(std::string_view prefix) {
    const prefixroute_request request = RequestFor(prefix);
    prefixroute_decision decision{};
    decision.struct_size = sizeof(decision);
    prefixroute_lease lease;
    Check(prefixroute_acquire(router_, &request, &lease, &decision, &error));
    leases_.push_back(lease);
    return DecisionOf(decision);
  }
  void FirstToken(size_t index) { Check(prefixroute_first_token(router_, &leases_[index])); }
  void FinishOldest() {
    Check(prefixroute_finish(router_, &leases_.front()));
    leases_.pop_front();
  }
  size_t leases() const { return leases_.size(); }

 private:
  prefixroute_request RequestFor(std::string_view prefix) {
    prefixroute_request request{};
    request.struct_size = sizeof(request);
    if (++requests_ % 2 == 0) {
      request.prefix = prefix.data();
      request.prefix_size = prefix.size();
      return request;
    }
    prefixroute_hasher hasher;
    Check(prefixroute_hasher_init(&hasher, prefixroute::kDefaultMaxPrefixBytes));
    for (size_t i = 0; i < prefix.size(); i += 777) {
      const std::string_view piece = prefix.substr(i, 777);
      Check(prefixroute_hasher_update(&hasher, piece.data(), piece.size()));
    }
    Check(prefixroute_hasher_key(&hasher, &key_));
    request.key = &key_;
    return request;
  }
  static prefixroute::Decision DecisionOf(const prefixroute_decision& decision) {
    prefixroute::Decision out;
    out.instance = decision.instance;
    out.home = decision.home;
    out.rank = decision.rank;
    out.reason = static_cast<prefixroute::Reason>(decision.reason);
    out.matched_bytes = decision.matched_bytes;
    out.uncached_bytes = decision.uncached_bytes;
    return out;
  }

  prefixroute_router* router_ = nullptr;
  size_t size_ = 0;
  uint64_t requests_ = 0;
  prefixroute_key key_{};
  std::deque<prefixroute_lease> leases_;
};

}  // namespace

int main(int argc, char** argv) {
  return prefixroute::test::GoldenMain(argc, argv, prefixroute::test::PlayHistories<Player>);
}
