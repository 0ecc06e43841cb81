// SPDX-License-Identifier: Apache-2.0

#include "absl/status/statusor.h"
#include "prefixroute/shared_state.h"
#include "src/c/call.h"

using prefixroute::SharedState;
using prefixroute::SharedStateShape;
using prefixroute::c::CheckMemory;
using prefixroute::c::CheckNotNull;
using prefixroute::c::CheckStruct;
using prefixroute::c::Done;
using prefixroute::c::Fail;
using prefixroute::c::Guarded;
using prefixroute::c::RouterOf;

namespace {

prefixroute_status ReadShape(prefixroute_error* error, const prefixroute_shared_shape* in, SharedStateShape& shape) {
  if (in == nullptr) return PREFIXROUTE_OK;
  PREFIXROUTE_RETURN_IF_BAD(CheckStruct(error, "shape", *in));
  if (in->max_instances != 0) shape.max_instances = in->max_instances;
  if (in->max_owners != 0) shape.max_owners = in->max_owners;
  if (in->prefix_entries != 0) shape.prefix_entries = in->prefix_entries;
  return PREFIXROUTE_OK;
}

prefixroute_status NotShared(prefixroute_error* error) {
  return Fail(error, PREFIXROUTE_FAILED_PRECONDITION, "router is on no shared block");
}

}  // namespace

extern "C" {

prefixroute_status prefixroute_shared_bytes(const prefixroute_shared_shape* shape, size_t* bytes,
                                            prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "bytes", bytes));
    SharedStateShape read;
    PREFIXROUTE_RETURN_IF_BAD(ReadShape(error, shape, read));
    const absl::StatusOr<size_t> needed = SharedState::BytesNeeded(read);
    if (!needed.ok()) return Fail(error, needed.status());
    *bytes = *needed;
    return prefixroute_status{PREFIXROUTE_OK};
  });
}

prefixroute_status prefixroute_shared_format(void* memory, size_t bytes, const prefixroute_shared_shape* shape,
                                             prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    SharedStateShape read;
    PREFIXROUTE_RETURN_IF_BAD(ReadShape(error, shape, read));
    return Done(error, SharedState::Format(memory, bytes, read));
  });
}

prefixroute_status prefixroute_shared_owners(const prefixroute_router* router, prefixroute_owner* owners,
                                             size_t capacity, size_t* owner_count, prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "router", router, "owner_count", owner_count));
    PREFIXROUTE_RETURN_IF_BAD(CheckMemory(error, "owners", owners, capacity));
    const SharedState* state = RouterOf(router).shared_state();
    if (state == nullptr) return NotShared(error);
    const std::vector<SharedState::Owner> all = state->Owners();
    for (size_t i = 0; i < std::min(capacity, all.size()); ++i) owners[i] = {all[i].token, all[i].outstanding};
    *owner_count = all.size();
    return prefixroute::c::CheckCapacity(error, capacity, all.size());
  });
}

prefixroute_status prefixroute_shared_reap(prefixroute_router* router, uint64_t token,
                                           prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "router", router));
    const SharedState* state = RouterOf(router).shared_state();
    return state != nullptr ? Done(error, state->Reap(token)) : NotShared(error);
  });
}

}  // extern "C"
