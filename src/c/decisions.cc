// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "prefixroute/router.h"
#include "src/c/call.h"
#include "src/c/keys.h"
#include "src/c/strategies.h"
#include "src/router/bare_lease.h"

using prefixroute::Decision;
using prefixroute::InstanceCost;
using prefixroute::Lease;
using prefixroute::Load;
using prefixroute::Request;
using prefixroute::c::CheckMemory;
using prefixroute::c::CheckNotNull;
using prefixroute::c::CheckRoom;
using prefixroute::c::CheckStruct;
using prefixroute::c::Done;
using prefixroute::c::Fail;
using prefixroute::c::Guarded;
using prefixroute::c::Invalid;
using prefixroute::c::RouterOf;
using prefixroute::internal::BareLease;

namespace {

// The router reads the caller's own array.
static_assert(sizeof(prefixroute_load) == sizeof(Load) &&
              offsetof(prefixroute_load, outstanding) == offsetof(Load, outstanding) &&
              offsetof(prefixroute_load, pending_bytes) == offsetof(Load, pending_bytes));
absl::Span<const Load> LoadsOf(const prefixroute_load* loads, size_t count) {
  return {reinterpret_cast<const Load*>(loads), count};
}

PREFIXROUTE_COLD prefixroute_status NoStrategy(prefixroute_error* error, uint32_t strategy) {
  return Invalid(error, absl::StrCat("request.strategy is ", strategy, ", which is none"));
}

inline prefixroute_status CheckRequest(prefixroute_error* error, const prefixroute_request& request) {
  PREFIXROUTE_RETURN_IF_BAD(CheckStruct(error, "request", request));
  if (!prefixroute::c::IsStrategy(request.strategy)) return NoStrategy(error, request.strategy);
  if (request.key != nullptr) {
    if (!prefixroute::c::IsKey(*request.key)) return Invalid(error, "request.key is no key");
  } else {
    PREFIXROUTE_RETURN_IF_BAD(CheckMemory(error, "request.prefix", request.prefix, request.prefix_size));
    PREFIXROUTE_RETURN_IF_BAD(CheckMemory(error, "request.scope", request.scope, request.scope_size));
  }
  return CheckMemory(error, "request.exclude_indexes", request.exclude_indexes, request.exclude_count);
}

// Of one that is checked. Written field by field, where GCC would first clear the whole by a slow instruction.
inline Request RequestOf(const prefixroute_request& in) {
  return {std::string_view(static_cast<const char*>(in.prefix), in.prefix_size),
          std::string_view(static_cast<const char*>(in.scope), in.scope_size),
          in.key != nullptr ? &prefixroute::c::KeyOf(*in.key) : nullptr,
          {},
          absl::MakeConstSpan(in.exclude_indexes, in.exclude_count),
          in.strategy != PREFIXROUTE_STRATEGY_DEFAULT ? std::optional(prefixroute::c::StrategyOf(in.strategy))
                                                      : std::nullopt,
          in.random};
}

void WriteDecision(const Decision& decision, prefixroute_decision& out) {
  out.instance = decision.instance;
  out.home = decision.home;
  out.rank = decision.rank;
  out.reason = static_cast<uint32_t>(decision.reason);
  out.reserved = 0;
  out.prefix_bytes = decision.prefix_bytes;
  out.matched_bytes = decision.matched_bytes;
  out.uncached_bytes = decision.uncached_bytes;
}

prefixroute_instance_cost CostOf(const InstanceCost& cost) {
  prefixroute_instance_cost out{};
  out.instance = cost.instance;
  out.rank = cost.rank;
  out.eligible = cost.eligible ? 1 : 0;
  out.outstanding = cost.outstanding;
  out.cost = cost.cost;
  out.matched_bytes = cost.matched_bytes;
  out.uncached_bytes = cost.uncached_bytes;
  out.pending_bytes = cost.pending_bytes;
  return out;
}

}  // namespace

extern "C" {

prefixroute_status prefixroute_route(prefixroute_router* router, const prefixroute_request* request,
                                     const prefixroute_load* loads, size_t load_count, prefixroute_decision* decision,
                                     prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "router", router, "request", request, "decision", decision));
    PREFIXROUTE_RETURN_IF_BAD(CheckMemory(error, "loads", loads, load_count));
    PREFIXROUTE_RETURN_IF_BAD(CheckRoom(error, "decision", *decision));
    PREFIXROUTE_RETURN_IF_BAD(CheckRequest(error, *request));
    const absl::StatusOr<Decision> decided = RouterOf(router).Route(RequestOf(*request), LoadsOf(loads, load_count));
    if (!decided.ok()) return Fail(error, decided.status());
    WriteDecision(*decided, *decision);
    return prefixroute_status{PREFIXROUTE_OK};
  });
}

prefixroute_status prefixroute_acquire(prefixroute_router* router, const prefixroute_request* request,
                                       prefixroute_lease* lease, prefixroute_decision* decision,
                                       prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "lease", lease));
    *lease = {};
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "router", router, "request", request));
    if (decision != nullptr) {
      PREFIXROUTE_RETURN_IF_BAD(CheckRoom(error, "decision", *decision));
    }
    PREFIXROUTE_RETURN_IF_BAD(CheckRequest(error, *request));
    absl::StatusOr<Lease> acquired = RouterOf(router).Acquire(RequestOf(*request));
    if (!acquired.ok()) return Fail(error, acquired.status());
    Lease& acquired_lease = *acquired;
    if (decision != nullptr) WriteDecision(acquired_lease.decision(), *decision);
    BareLease::Store(acquired_lease, lease->opaque);
    return prefixroute_status{PREFIXROUTE_OK};
  });
}

prefixroute_status prefixroute_first_token(prefixroute_router* router, prefixroute_lease* lease) noexcept {
  if (router == nullptr || lease == nullptr) return PREFIXROUTE_INVALID_ARGUMENT;
  BareLease bare(RouterOf(router), lease->opaque);
  if (!bare.active()) return PREFIXROUTE_NOT_FOUND;
  bare.FirstToken();
  return PREFIXROUTE_OK;
}

prefixroute_status prefixroute_report_cached_tokens(prefixroute_router* router, prefixroute_lease* lease,
                                                    uint64_t cached_tokens, uint64_t prompt_tokens) noexcept {
  if (router == nullptr || lease == nullptr) return PREFIXROUTE_INVALID_ARGUMENT;
  BareLease bare(RouterOf(router), lease->opaque);
  if (!bare.active()) return PREFIXROUTE_NOT_FOUND;
  bare.ReportCachedTokens(cached_tokens, prompt_tokens);
  return PREFIXROUTE_OK;
}

prefixroute_status prefixroute_finish(prefixroute_router* router, prefixroute_lease* lease) noexcept {
  if (router == nullptr || lease == nullptr) return PREFIXROUTE_INVALID_ARGUMENT;
  return BareLease::Finish(RouterOf(router), lease->opaque) ? PREFIXROUTE_OK : PREFIXROUTE_NOT_FOUND;
}

prefixroute_status prefixroute_transfer(prefixroute_router* router, prefixroute_lease* lease, const char* id,
                                        size_t id_size, prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "router", router, "lease", lease, "id", id));
    BareLease bare(RouterOf(router), lease->opaque);
    if (!bare.active()) return Fail(error, PREFIXROUTE_NOT_FOUND, "lease owns nothing");
    return Done(error, bare.Transfer(std::string_view(id, id_size)));
  });
}

prefixroute_status prefixroute_lease_id(prefixroute_router* router, const prefixroute_lease* lease, char* id,
                                        size_t capacity, size_t* id_size) noexcept {
  if (router == nullptr || lease == nullptr || (id == nullptr && capacity != 0)) return PREFIXROUTE_INVALID_ARGUMENT;
  prefixroute_lease copy = *lease;
  const BareLease bare(RouterOf(router), copy.opaque);
  if (!bare.active()) return PREFIXROUTE_NOT_FOUND;
  const std::string_view read = bare.id();
  if (id_size != nullptr) *id_size = read.size();
  if (read.size() >= capacity) return PREFIXROUTE_BUFFER_TOO_SMALL;
  std::memcpy(id, read.data(), read.size());
  id[read.size()] = '\0';
  return PREFIXROUTE_OK;
}

// NOLINTNEXTLINE(readability-non-const-parameter): what it is written through is a lambda.
prefixroute_status prefixroute_rank(const prefixroute_router* router, const prefixroute_request* request,
                                    uint32_t* instances, size_t capacity, size_t* instance_count,
                                    prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(
        CheckNotNull(error, "router", router, "request", request, "instance_count", instance_count));
    PREFIXROUTE_RETURN_IF_BAD(CheckMemory(error, "instances", instances, capacity));
    PREFIXROUTE_RETURN_IF_BAD(CheckRequest(error, *request));
    const absl::StatusOr<size_t> ranked =
        RouterOf(router).Rank(RequestOf(*request), absl::MakeSpan(instances, capacity));
    if (!ranked.ok()) return Fail(error, ranked.status());
    *instance_count = *ranked;
    return prefixroute_status{PREFIXROUTE_OK};
  });
}

prefixroute_status prefixroute_explain(const prefixroute_router* router, const prefixroute_request* request,
                                       const prefixroute_load* loads, size_t load_count,
                                       prefixroute_instance_cost* costs, size_t capacity, size_t* instance_count,
                                       prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "router", router, "request", request));
    PREFIXROUTE_RETURN_IF_BAD(CheckMemory(error, "loads", loads, load_count));
    PREFIXROUTE_RETURN_IF_BAD(CheckMemory(error, "costs", costs, capacity));
    if (capacity != 0) {
      PREFIXROUTE_RETURN_IF_BAD(CheckRoom(error, "costs[0]", costs[0]));
    }
    PREFIXROUTE_RETURN_IF_BAD(CheckRequest(error, *request));
    const absl::StatusOr<std::vector<InstanceCost>> explained =
        RouterOf(router).Explain(RequestOf(*request), LoadsOf(loads, load_count));
    if (!explained.ok()) return Fail(error, explained.status());
    const std::vector<InstanceCost>& all = *explained;
    return prefixroute::c::WriteList(error, costs, capacity, all.size(), instance_count,
                                     [&](size_t i) { return CostOf(all[i]); });
  });
}

}  // extern "C"
