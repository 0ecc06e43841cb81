// SPDX-License-Identifier: Apache-2.0
//
// The router under test, used as a gateway uses it. What a gateway tells the router beside Acquire() and Finish() is
// said here, and only here.

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/replay/rules/rules.h"
#include "prefixroute/router.h"

namespace prefixroute::replay {
namespace {

class RouterRule : public Rule {
 public:
  RouterRule(const RuleContext& context, const RouterOptions& options)
      : options_(options), key_bytes_(options.key_bytes()), max_outstanding_(context.max_outstanding) {
    options_.max_instances = context.max_instances;
    options_.gateway_replicas = context.gateways;
  }

  absl::Status SetInstances(absl::Span<const uint32_t> instances) override {
    instances_.assign(instances.begin(), instances.end());
    std::vector<Instance> fleet;
    for (const uint32_t instance : instances) {
      fleet.push_back({IdOf(instance), 1.0, max_outstanding_});
    }
    if (router_ != nullptr) return router_->SetInstances(fleet);
    absl::StatusOr<std::unique_ptr<Router>> router = Router::Create(options_, fleet);
    if (!router.ok()) return router.status();
    router_ = *std::move(router);
    return absl::OkStatus();
  }

  absl::StatusOr<Placement> Place(uint32_t slot, const Arrival& arrival) override {
    Request request;
    request.prefix = arrival.trace.Prefix(arrival.request, key_bytes_, &prefix_buffer_);
    request.random = arrival.random;
    const auto begin = std::chrono::steady_clock::now();
    absl::StatusOr<Lease> lease = router_->Acquire(request);
    cost_.nanoseconds += std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
    ++cost_.decisions;
    if (!lease.ok()) return lease.status();
    const Decision& decision = lease->decision();
    const Placement placement = {instances_[decision.instance], decision.reason == Reason::kDivertedByLoad ||
                                                                    decision.reason == Reason::kDivertedUnavailable};
    if (leases_.size() <= slot) leases_.resize(slot + 1);
    leases_[slot] = *std::move(lease);
    return placement;
  }

  void FirstToken(uint32_t slot) override { leases_[slot].FirstToken(); }
  void Finish(uint32_t slot) override { leases_[slot].Finish(); }

  // An instance that was removed is none of the router's any more: NotFound says nothing new.
  void CacheLost(uint32_t instance) override { router_->ForgetCache(IdOf(instance)).IgnoreError(); }
  void ReportLoad(uint32_t instance, const EngineLoad& load) override {
    router_->ReportLoad(IdOf(instance), load).IgnoreError();
  }

  RoutingCost Cost() const override { return cost_; }

 private:
  static std::string IdOf(uint32_t instance) { return absl::StrCat("instance-", instance); }

  RouterOptions options_;
  uint64_t key_bytes_;
  uint32_t max_outstanding_;
  std::vector<uint32_t> instances_;  // In the order of the router's indexes.
  std::unique_ptr<Router> router_;
  std::vector<Lease> leases_;  // By slot.
  std::string prefix_buffer_;
  RoutingCost cost_;
};

}  // namespace

std::unique_ptr<Rule> MakeRouterRule(const RuleContext& context, const RouterOptions& options) {
  return std::make_unique<RouterRule>(context, options);
}

}  // namespace prefixroute::replay
