// SPDX-License-Identifier: Apache-2.0

#include "fleet.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "log.h"

namespace gateway {
namespace {

constexpr double kFirstTokenSeconds[] = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120};

std::string Authority(const Address& address) {
  const bool ipv6 = address.host.find(':') != std::string::npos;
  const std::string host = ipv6 ? "[" + address.host + "]" : address.host;
  return address.port == 80 ? host : host + ":" + std::to_string(address.port);
}

std::vector<prefixroute::Instance> Instances(const Config& config) {
  std::vector<prefixroute::Instance> instances;
  instances.reserve(config.instances.size());
  for (const InstanceConfig& each : config.instances) instances.push_back(each.instance);
  return instances;
}

// Room for twice as many instances as there are, or for 32.
uint32_t PrefixEntries(size_t instances) {
  constexpr size_t kEntriesAnInstance = 4'096;
  const size_t entries = std::bit_ceil(kEntriesAnInstance * 2 * std::max<size_t>(instances, 16));
  return static_cast<uint32_t>(std::min<size_t>(entries, prefixroute::kMaxPrefixEntries));
}

void PutFirst(std::vector<tcp::endpoint>& endpoints, const tcp::endpoint& endpoint) {
  const auto found = std::find(endpoints.begin(), endpoints.end(), endpoint);
  if (found != endpoints.end()) std::iter_swap(endpoints.begin(), found);
}

}  // namespace

Backend::Backend(std::string id, Address address)
    : first_token({std::begin(kFirstTokenSeconds), std::end(kFirstTokenSeconds)}),
      id_(std::move(id)),
      address_(std::move(address)),
      authority_(Authority(address_)) {
  error_code error;
  const auto literal = asio::ip::make_address(address_.host, error);
  if (!error) endpoints_.emplace_back(literal, address_.port);
  named_ = failing_ = endpoints_.empty();
}

std::vector<tcp::endpoint> Backend::endpoints() const {
  const std::lock_guard lock(mutex_);
  return endpoints_;
}

void Backend::SetEndpoints(std::vector<tcp::endpoint> endpoints) {
  const std::lock_guard lock(mutex_);
  const auto kept = std::find_first_of(endpoints.begin(), endpoints.end(), endpoints_.begin(), endpoints_.end());
  if (kept == endpoints.end()) NoteRestart();
  if (!endpoints_.empty()) gateway::PutFirst(endpoints, endpoints_.front());
  endpoints_ = std::move(endpoints);
}

void Backend::PutFirst(const tcp::endpoint& endpoint) {
  const std::lock_guard lock(mutex_);
  gateway::PutFirst(endpoints_, endpoint);
}

void Backend::NoteRestart() {
  if (seen_) may_be_restarted_ = true;
}

absl::StatusOr<std::unique_ptr<Fleet>> Fleet::Create(const Config& config) {
  prefixroute::RouterOptions options = config.router;
  options.prefix_entries = PrefixEntries(config.instances.size());
  auto router = prefixroute::Router::Create(options, {});
  if (!router.ok()) return router.status();
  std::unique_ptr<Fleet> fleet(new Fleet(*std::move(router)));
  if (absl::Status status = fleet->Apply(config); !status.ok()) return status;
  return fleet;
}

absl::Status Fleet::Apply(const Config& config) {
  const std::lock_guard change(change_);
  const std::shared_ptr<const Snapshot> old = snapshot();
  auto fresh = std::make_shared<Snapshot>();
  fresh->config = config;
  // Those that are new and may not be chosen yet have a weight of 0 until they drain.
  std::vector<prefixroute::Instance> held;
  std::vector<std::string> moved_ids;
  for (const InstanceConfig& each : config.instances) {
    const std::string& id = each.instance.id;
    std::shared_ptr<Backend> backend;
    bool moved = false;
    if (old != nullptr) {
      const auto found = old->by_id.find(id);
      if (found != old->by_id.end() && found->second->authority() == Backend(id, each.address).authority()) {
        backend = found->second;
      }
      moved = found != old->by_id.end() && backend == nullptr;
    }
    held.push_back(each.instance);
    if (backend == nullptr) {
      backend = std::make_shared<Backend>(id, each.address);
      if (each.draining || backend->failing_) held.back().weight = 0;
    }
    if (moved) moved_ids.push_back(id);
    fresh->backends.push_back(backend);
    fresh->by_id.emplace(id, backend);
  }
  if (old != nullptr) {
    for (const std::shared_ptr<Backend>& backend : old->backends) fresh->by_id.emplace(backend->id(), backend);
  }

  const prefixroute::RouterOptions before = router_->options();
  prefixroute::RouterOptions options = config.router;
  // Can't change.
  options.prefix_entries = before.prefix_entries;
  options.max_instances = before.max_instances;
  if (absl::Status status = router_->SetOptions(options); !status.ok()) return status;
  const auto publish = [this](const std::shared_ptr<const Snapshot>& snapshot) {
    const std::lock_guard lock(mutex_);
    snapshot_ = snapshot;
  };
  publish(fresh);  // Before the router can choose a new one.
  absl::Cleanup take_back = [&] { publish(old); };
  const std::vector<prefixroute::Instance> instances = Instances(config);
  const bool all_held = std::all_of(held.begin(), held.end(), [](const auto& each) { return each.weight == 0; });
  if (absl::Status status = router_->SetInstances(all_held ? instances : held); !status.ok()) {
    status.Update(router_->SetOptions(before));
    return status;
  }
  std::move(take_back).Cancel();
  const prefixroute::RouterStats stats = router_->Stats();
  for (size_t i = 0; i < config.instances.size(); ++i) {
    Backend& backend = *fresh->backends[i];
    backend.draining_ = config.instances[i].draining;
    const bool draining = backend.draining_ || backend.failing_;
    if (stats.instances[i].draining != draining) (void)router_->SetDraining(backend.id(), draining);
  }
  for (const std::string& id : moved_ids) (void)router_->ForgetCache(id);
  // What was said last would stay.
  const bool other_source = old != nullptr && old->config.load.source != config.load.source;
  for (const std::shared_ptr<Backend>& backend : fresh->backends) {
    const bool moved = std::find(moved_ids.begin(), moved_ids.end(), backend->id()) != moved_ids.end();
    if (moved || other_source) (void)router_->ReportLoad(backend->id(), prefixroute::EngineLoad());
  }
  return all_held ? absl::OkStatus() : router_->SetInstances(instances);
}

std::shared_ptr<const Fleet::Snapshot> Fleet::snapshot() const {
  const std::lock_guard lock(mutex_);
  return snapshot_;
}

void Fleet::RequestSucceeded(Backend& backend) {
  // Mostly nothing changes: reading alone leaves the cache line with everybody.
  if (!backend.seen_.load()) backend.seen_ = true;
  if (backend.failed_requests_.load() != 0) backend.failed_requests_ = 0;
  if (backend.may_be_restarted_.load() && backend.may_be_restarted_.exchange(false)) Restarted(backend);
}

void Fleet::RequestFailed(Backend& backend, bool refused) {
  if (refused) backend.NoteRestart();
  if (++backend.failed_requests_ >= snapshot()->config.health.failures) SetFailing(backend, true, By::kRequests);
}

void Fleet::CheckSucceeded(Backend& backend) {
  backend.seen_ = true;
  backend.failed_checks_ = 0;
  if (backend.may_be_restarted_.exchange(false)) Restarted(backend);
  SetFailing(backend, false, By::kChecks);
}

void Fleet::CheckFailed(Backend& backend, bool refused) {
  if (refused) backend.NoteRestart();
  if (++backend.failed_checks_ >= snapshot()->config.health.failures) SetFailing(backend, true, By::kChecks);
}

void Fleet::ReportLoad(Backend& backend, LoadSource source, const prefixroute::EngineLoad& load) {
  if (snapshot()->config.load.source != source || !IsCurrent(backend)) return;
  backend.reported_ = Backend::Clock::now();
  (void)router_->ReportLoad(backend.id(), load);
}

void Fleet::ForgetLoadsOlderThan(std::chrono::milliseconds age) {
  const auto oldest = Backend::Clock::now() - age;
  for (const std::shared_ptr<Backend>& backend : snapshot()->backends) {
    auto reported = backend->reported_.load();
    if (reported == Backend::Clock::time_point() || reported >= oldest) continue;
    if (!backend->reported_.compare_exchange_strong(reported, {})) continue;
    (void)router_->ReportLoad(backend->id(), prefixroute::EngineLoad());
  }
}

void Fleet::ReportStart(Backend& backend, double seconds) {
  const double before = backend.started_.exchange(seconds);
  if (before != 0 && before != seconds) Restarted(backend);
}

bool Fleet::IsCurrent(const Backend& backend) const {
  const auto current = snapshot();
  const auto found = current->by_id.find(backend.id());
  return found != current->by_id.end() && found->second.get() == &backend;
}

bool Fleet::IsLast(const Backend& backend) const {
  const auto current = snapshot();
  for (size_t i = 0; i < current->backends.size(); ++i) {
    const Backend& other = *current->backends[i];
    const bool available = !other.draining_ && !other.failing_ && current->config.instances[i].instance.weight > 0;
    if (available && &other != &backend) return false;
  }
  return true;
}

void Fleet::SetFailing(Backend& backend, bool failing, By by) {
  const std::lock_guard change(change_);
  if (backend.failing_ == failing || !IsCurrent(backend)) return;
  if (failing && by == By::kRequests && IsLast(backend)) return;
  backend.failing_ = failing;
  if (!failing) backend.failed_requests_ = 0;
  Log("instance %s %s", backend.id(), failing ? "fails: it gets no new requests" : "is well");
  // Not found: it is of a config past.
  (void)router_->SetDraining(backend.id(), backend.draining_ || failing);
}

void Fleet::Restarted(const Backend& backend) {
  if (!IsCurrent(backend)) return;
  Log("instance %s was restarted: its cache is taken for empty", backend.id());
  (void)router_->ForgetCache(backend.id());
}

}  // namespace gateway
