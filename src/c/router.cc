// SPDX-License-Identifier: Apache-2.0

#include "prefixroute/router.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "src/c/call.h"
#include "src/c/strategies.h"
#include "src/router/bare_lease.h"

using prefixroute::Instance;
using prefixroute::InstanceStats;
using prefixroute::Router;
using prefixroute::RouterOptions;
using prefixroute::RouterStats;
using prefixroute::SharedState;
using prefixroute::c::CheckMemory;
using prefixroute::c::CheckNotNull;
using prefixroute::c::CheckRoom;
using prefixroute::c::CheckStruct;
using prefixroute::c::Done;
using prefixroute::c::Element;
using prefixroute::c::Fail;
using prefixroute::c::Guarded;
using prefixroute::c::Invalid;
using prefixroute::c::RouterOf;

namespace {

prefixroute_status CheckFlag(prefixroute_error* error, const char* name, uint32_t flag) {
  return flag <= 1 ? PREFIXROUTE_OK : Invalid(error, absl::StrCat(name, " is ", flag, ", neither 0 nor 1"));
}

prefixroute_status CheckStrategy(prefixroute_error* error, uint32_t strategy) {
  return prefixroute::c::IsStrategy(strategy)
             ? PREFIXROUTE_OK
             : Invalid(error, absl::StrCat("strategy is ", strategy, ", which is none"));
}

prefixroute::Strategy StrategyOrDefault(uint32_t strategy) {
  return strategy == PREFIXROUTE_STRATEGY_DEFAULT ? RouterOptions().strategy : prefixroute::c::StrategyOf(strategy);
}

prefixroute_status ReadOptions(prefixroute_error* error, const prefixroute_options& in, RouterOptions& options) {
  PREFIXROUTE_RETURN_IF_BAD(CheckStruct(error, "options", in));
  PREFIXROUTE_RETURN_IF_BAD(CheckStrategy(error, in.strategy));
  PREFIXROUTE_RETURN_IF_BAD(CheckFlag(error, "fail_open", in.fail_open));
  if (in.reserved != 0) return Invalid(error, absl::StrCat("options.reserved is ", in.reserved, ", not 0"));
  options.strategy = StrategyOrDefault(in.strategy);
  options.max_prefix_bytes = in.max_prefix_bytes;
  options.strict_prefix_bytes = in.strict_prefix_bytes;
  options.relative_bound = {in.bound_factor_percent, in.bound_margin, in.bound_floor};
  options.gateway_replicas = in.gateway_replicas;
  options.fail_open = in.fail_open != 0;
  options.max_instances = in.max_instances;
  options.prefix_entries = in.prefix_entries;
  return PREFIXROUTE_OK;
}

// All but struct_size.
void WriteOptions(const RouterOptions& options, prefixroute_options& out) {
  out.strategy = prefixroute::c::NumberOf(options.strategy);
  out.max_prefix_bytes = options.max_prefix_bytes;
  out.strict_prefix_bytes = options.strict_prefix_bytes;
  out.bound_factor_percent = options.relative_bound.factor_percent;
  out.bound_margin = options.relative_bound.margin;
  out.bound_floor = options.relative_bound.floor;
  out.gateway_replicas = options.gateway_replicas;
  out.fail_open = options.fail_open ? 1 : 0;
  out.max_instances = options.max_instances;
  out.prefix_entries = options.prefix_entries;
  out.reserved = 0;
}

prefixroute_status ReadInstances(prefixroute_error* error, const prefixroute_instance* in, size_t count,
                                 std::vector<Instance>& instances) {
  PREFIXROUTE_RETURN_IF_BAD(CheckMemory(error, "instances", in, count));
  // Before any of them is allocated.
  if (count > prefixroute::kMaxInstances) {
    return Invalid(error, absl::StrCat("instances has ", count, " elements, more than ", prefixroute::kMaxInstances));
  }
  if (count != 0) {
    PREFIXROUTE_RETURN_IF_BAD(CheckRoom(error, "instances[0]", in[0]));
  }
  instances.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const prefixroute_instance& instance = Element(in, i);
    const auto name = [&](const char* field) { return absl::StrCat("instances[", i, "]", field); };
    if (instance.struct_size != in[0].struct_size) {
      return Invalid(error, absl::StrCat(name(".struct_size"), " is ", instance.struct_size, ", but that of the first ",
                                         in[0].struct_size));
    }
    PREFIXROUTE_RETURN_IF_BAD(CheckStruct(error, name("").c_str(), instance));
    PREFIXROUTE_RETURN_IF_BAD(CheckMemory(error, name(".id").c_str(), instance.id, instance.id_size));
    // One that is too long is for the router to refuse, but need not be copied as a whole.
    const size_t id_size = std::min<size_t>(instance.id_size, PREFIXROUTE_MAX_ID_BYTES + 1);
    instances.push_back({std::string(instance.id, id_size), instance.weight, instance.max_outstanding});
  }
  return PREFIXROUTE_OK;
}

prefixroute_status Create(prefixroute_error* error, const prefixroute_options* options,
                          const prefixroute_instance* instances, size_t instance_count, SharedState* shared_state,
                          prefixroute_router** router) {
  RouterOptions read_options;
  if (options != nullptr) {
    PREFIXROUTE_RETURN_IF_BAD(ReadOptions(error, *options, read_options));
  }
  std::vector<Instance> read_instances;
  PREFIXROUTE_RETURN_IF_BAD(ReadInstances(error, instances, instance_count, read_instances));
  absl::StatusOr<std::unique_ptr<Router>> created =
      shared_state != nullptr ? Router::Create(read_options, read_instances, std::move(*shared_state))
                              : Router::Create(read_options, read_instances);
  if (!created.ok()) return Fail(error, created.status());
  *router = reinterpret_cast<prefixroute_router*>(created->release());
  return PREFIXROUTE_OK;
}

prefixroute_instance_stats StatsOf(const InstanceStats& instance) {
  prefixroute_instance_stats out{};
  out.id_size = static_cast<uint32_t>(instance.id.size());
  std::memcpy(out.id, instance.id.data(), instance.id.size());
  out.weight = instance.weight;
  out.max_outstanding = instance.max_outstanding;
  out.outstanding = instance.outstanding;
  out.draining = instance.draining ? 1 : 0;
  out.pending_bytes = instance.pending_bytes;
  out.prompt_tokens = instance.prompt_tokens;
  out.cached_tokens = instance.cached_tokens;
  out.expected_cached_tokens = instance.expected_cached_tokens;
  return out;
}

}  // namespace

extern "C" {

void prefixroute_options_init(prefixroute_options* options, uint32_t struct_size) noexcept {
  if (options == nullptr || struct_size < sizeof(*options)) return;
  std::memset(static_cast<void*>(options), 0, struct_size);
  options->struct_size = struct_size;
  WriteOptions(RouterOptions(), *options);
}

prefixroute_status prefixroute_create(const prefixroute_options* options, const prefixroute_instance* instances,
                                      size_t instance_count, prefixroute_router** router,
                                      prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "router", router));
    return Create(error, options, instances, instance_count, nullptr, router);
  });
}

prefixroute_status prefixroute_create_shared(const prefixroute_options* options, const prefixroute_instance* instances,
                                             size_t instance_count, void* memory, size_t bytes, uint64_t token,
                                             prefixroute_router** router, prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "router", router));
    absl::StatusOr<SharedState> shared_state = SharedState::Attach(memory, bytes, token);
    if (!shared_state.ok()) return Fail(error, shared_state.status());
    return Create(error, options, instances, instance_count, &*shared_state, router);
  });
}

void prefixroute_destroy(prefixroute_router* router) noexcept {
  if (router == nullptr) return;
  prefixroute::internal::BareLease::FinishAll(RouterOf(router));
  delete &RouterOf(router);
}

prefixroute_status prefixroute_set_instances(prefixroute_router* router, const prefixroute_instance* instances,
                                             size_t instance_count, prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "router", router));
    std::vector<Instance> read;
    PREFIXROUTE_RETURN_IF_BAD(ReadInstances(error, instances, instance_count, read));
    return Done(error, RouterOf(router).SetInstances(read));
  });
}

prefixroute_status prefixroute_set_draining(prefixroute_router* router, const char* id, size_t id_size,
                                            int32_t draining, prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "router", router, "id", id));
    PREFIXROUTE_RETURN_IF_BAD(CheckFlag(error, "draining", static_cast<uint32_t>(draining)));
    return Done(error, RouterOf(router).SetDraining(std::string_view(id, id_size), draining != 0));
  });
}

prefixroute_status prefixroute_set_options(prefixroute_router* router, const prefixroute_options* options,
                                           prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "router", router, "options", options));
    RouterOptions read;
    PREFIXROUTE_RETURN_IF_BAD(ReadOptions(error, *options, read));
    return Done(error, RouterOf(router).SetOptions(std::move(read)));
  });
}

prefixroute_status prefixroute_set_strategy(prefixroute_router* router, uint32_t strategy,
                                            prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "router", router));
    PREFIXROUTE_RETURN_IF_BAD(CheckStrategy(error, strategy));
    return Done(error, RouterOf(router).SetStrategy(StrategyOrDefault(strategy)));
  });
}

prefixroute_status prefixroute_get_options(const prefixroute_router* router, prefixroute_options* options,
                                           prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "router", router, "options", options));
    PREFIXROUTE_RETURN_IF_BAD(CheckRoom(error, "options", *options));
    WriteOptions(RouterOf(router).options(), *options);
    return prefixroute_status{PREFIXROUTE_OK};
  });
}

prefixroute_status prefixroute_report_load(prefixroute_router* router, const char* id, size_t id_size,
                                           uint32_t outstanding, uint32_t waiting, prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "router", router, "id", id));
    return Done(error, RouterOf(router).ReportLoad(std::string_view(id, id_size), {outstanding, waiting}));
  });
}

prefixroute_status prefixroute_forget_cache(prefixroute_router* router, const char* id, size_t id_size,
                                            prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "router", router, "id", id));
    return Done(error, RouterOf(router).ForgetCache(std::string_view(id, id_size)));
  });
}

prefixroute_status prefixroute_get_stats(const prefixroute_router* router, prefixroute_stats* stats,
                                         prefixroute_instance_stats* instances, size_t capacity, size_t* instance_count,
                                         prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "router", router));
    if (stats != nullptr) {
      PREFIXROUTE_RETURN_IF_BAD(CheckRoom(error, "stats", *stats));
    }
    if (instances != nullptr && capacity != 0) {
      PREFIXROUTE_RETURN_IF_BAD(CheckRoom(error, "instances[0]", instances[0]));
    }
    const RouterStats read = RouterOf(router).Stats();
    if (stats != nullptr) {
      stats->reserved = 0;
      stats->outstanding = read.outstanding;
      stats->unavailable = read.unavailable;
      stats->exhausted = read.exhausted;
      std::fill(std::begin(stats->decisions), std::end(stats->decisions), 0);
      std::copy(read.decisions.begin(), read.decisions.end(), stats->decisions);
    }
    // Who asks for no instances may still ask how many there are.
    if (instances == nullptr) {
      if (instance_count != nullptr) *instance_count = read.instances.size();
      return prefixroute_status{PREFIXROUTE_OK};
    }
    return prefixroute::c::WriteList(error, instances, capacity, read.instances.size(), instance_count,
                                     [&](size_t i) { return StatsOf(read.instances[i]); });
  });
}

uint64_t prefixroute_membership_fingerprint(const prefixroute_router* router) noexcept {
  if (router == nullptr) return 0;
  try {
    return RouterOf(router).MembershipFingerprint();
  } catch (...) {
    return 0;
  }
}

}  // extern "C"
