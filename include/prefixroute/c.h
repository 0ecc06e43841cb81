// SPDX-License-Identifier: Apache-2.0
//
// prefixroute for C, and for whatever calls C: nginx, Lua, Go, Rust, Python. The router of router.h, whose comments say
// what things mean; this file says what is C's own. C11 and C++.
//
//   prefixroute_instance instances[2] = {
//       {.struct_size = sizeof(prefixroute_instance), .id = "10.0.0.1:8000", .id_size = 13, .weight = 1},
//       {.struct_size = sizeof(prefixroute_instance), .id = "10.0.0.2:8000", .id_size = 13, .weight = 1}};
//   prefixroute_router* router;
//   prefixroute_error error;
//   if (prefixroute_create(NULL, instances, 2, &router, &error) != PREFIXROUTE_OK) fail(error.text);
//
//   prefixroute_request request = {.struct_size = sizeof request, .prefix = prompt, .prefix_size = prompt_size};
//   prefixroute_decision decision = {.struct_size = sizeof decision};
//   prefixroute_lease lease;
//   switch (prefixroute_acquire(router, &request, &lease, &decision, &error)) {
//     case PREFIXROUTE_OK: break;
//     case PREFIXROUTE_RESOURCE_EXHAUSTED: return respond(429, error.text);
//     default: return respond(503, error.text);
//   }
//   forward(decision.instance);
//   prefixroute_first_token(router, &lease);  // When the answer begins.
//   prefixroute_finish(router, &lease);       // When it has ended.
//
// Structs. Plain, fixed in layout. Those that may grow begin with struct_size, which the caller sets to its own sizeof;
// of an array, the first element's holds for all. Fields are only ever added, at the end, and 0 in one means what was
// before it was there, so that a program and a library of different releases work together while
// prefixroute_abi_version() is the same: what the caller's struct lacks is 0, what it has more must be 0
// (INVALID_ARGUMENT if not, for the library would ignore it), and of a result only what fits is written. A struct_size
// below the first release's is INVALID_ARGUMENT. The others, load, lease, key, hasher, owner and error, never change.
//
// Memory. The library keeps no pointer of the caller's beyond the call, but a shared block, and returns none that must
// be freed, but a router. What returns a list writes as many elements as there is room for, and always the number that
// there are; where that is more, the status is BUFFER_TOO_SMALL. Where a result is said to be written, it is so only
// with PREFIXROUTE_OK (a list: or BUFFER_TOO_SMALL). A pointer may be null where that is said, and where its size is 0;
// any other that is null is INVALID_ARGUMENT.
//
// Errors. A function that can fail returns a status, and changes nothing then. Where it has an `error`, which may be
// null, a text for people goes there, which names field and value; with PREFIXROUTE_OK it is left alone. Nothing
// throws, logs, aborts or ends the process; memory that runs out is PREFIXROUTE_OUT_OF_MEMORY.
//
// Threads. All functions may be called by any threads at once, but: prefixroute_destroy(), after which nothing may use
// the router; those of one lease or one hasher, one thread at a time, any thread. Hot, which is to say without
// lock, wait and (after a thread's first call) allocation: route, acquire, rank, those of a lease, of a key and of a
// hasher, report_load, forget_cache. The others take a lock among themselves, and allocate.

#ifndef PREFIXROUTE_C_H_
#define PREFIXROUTE_C_H_

#include <stddef.h>
#include <stdint.h>

#include "prefixroute/export.h"

#ifdef __cplusplus
#define PREFIXROUTE_NOEXCEPT noexcept
extern "C" {
#else
#define PREFIXROUTE_NOEXCEPT
#endif

// NOLINTBEGIN(readability-identifier-naming,modernize-use-using): C's names, and C.

// Raised where programs must be compiled anew. The same from prefixroute_abi_version(), of the library that runs.
#define PREFIXROUTE_ABI_VERSION 1

// ---- Statuses. Numbers below 32 are gRPC's of the same names.
typedef int32_t prefixroute_status;
enum {
  PREFIXROUTE_OK = 0,
  PREFIXROUTE_INVALID_ARGUMENT = 3,
  PREFIXROUTE_NOT_FOUND = 5,
  PREFIXROUTE_ALREADY_EXISTS = 6,
  PREFIXROUTE_RESOURCE_EXHAUSTED = 8,  // Of a request: every available instance is at its bound (a gateway's 429).
  PREFIXROUTE_FAILED_PRECONDITION = 9,
  PREFIXROUTE_INTERNAL = 13,
  PREFIXROUTE_UNAVAILABLE = 14,  // Of a request: no instance, or all draining, excluded or of weight 0 (503).
  PREFIXROUTE_OUT_OF_MEMORY = 32,
  PREFIXROUTE_BUFFER_TOO_SMALL = 33
};

// ---- Strategies. In a request, DEFAULT is the router's own; in options, PREFIX_AWARE.
enum {
  PREFIXROUTE_STRATEGY_DEFAULT = 0,
  PREFIXROUTE_STRATEGY_RANDOM = 1,
  PREFIXROUTE_STRATEGY_LEAST_OUTSTANDING_REQUESTS = 2,
  PREFIXROUTE_STRATEGY_PREFIX_AWARE = 3
};

// ---- Why an instance was chosen; strategy.h says more.
enum {
  PREFIXROUTE_REASON_HOME = 0,
  PREFIXROUTE_REASON_DIVERTED_BY_LOAD = 1,
  PREFIXROUTE_REASON_DIVERTED_UNAVAILABLE = 2,
  PREFIXROUTE_REASON_NO_PREFIX = 3,
  PREFIXROUTE_REASON_LEAST_OUTSTANDING = 4,
  PREFIXROUTE_REASON_RANDOM = 5,
  PREFIXROUTE_REASON_CUSTOM = 6,  // Never from C.
  PREFIXROUTE_REASON_FAIL_OPEN = 7,
  PREFIXROUTE_REASON_HOLDER = 8
};

#define PREFIXROUTE_MAX_ID_BYTES 255
#define PREFIXROUTE_NO_INSTANCE UINT32_MAX
// Room for the counts of more reasons than there are.
#define PREFIXROUTE_REASON_COUNTS 16
#define PREFIXROUTE_ERROR_TEXT_BYTES 512

typedef struct prefixroute_router prefixroute_router;

// What went wrong; ends with NUL, and is cut where it is too long.
typedef struct prefixroute_error {
  char text[PREFIXROUTE_ERROR_TEXT_BYTES];
} prefixroute_error;

// Instance of instance.h.
typedef struct prefixroute_instance {
  uint32_t struct_size;
  uint32_t max_outstanding;  // 0: no bound.
  double weight;             // No default: 1 is usual, 0 takes no new requests.
  const char* id;            // Any bytes; copied.
  size_t id_size;            // 1 to PREFIXROUTE_MAX_ID_BYTES.
} prefixroute_instance;

// RouterOptions of router.h. prefixroute_options_init() has the defaults.
typedef struct prefixroute_options {
  uint32_t struct_size;
  uint32_t strategy;
  uint64_t max_prefix_bytes;
  uint64_t strict_prefix_bytes;
  uint32_t bound_factor_percent;  // RelativeBound.
  uint32_t bound_margin;
  uint32_t bound_floor;
  uint32_t gateway_replicas;
  uint32_t fail_open;  // 0 or 1.
  uint32_t max_instances;
  uint32_t prefix_entries;
  uint32_t reserved;  // 0.
} prefixroute_options;

// Load of instance.h: of one instance, where the caller keeps count. Never changes, so that the router can read the
// caller's own array.
typedef struct prefixroute_load {
  uint32_t outstanding;
  uint32_t reserved;  // Not read.
  uint64_t pending_bytes;
} prefixroute_load;

// PrefixKey of prefix_key.h; all zeros is the empty key. A value: may be copied and kept, within this process.
typedef struct prefixroute_key {
  uint64_t opaque[56];
} prefixroute_key;

// PrefixHasher of prefix_key.h. Must lie aligned to 8 bytes, and stay where it was initialised: a copy is none. Nothing
// is to be freed.
typedef struct prefixroute_hasher {
  uint64_t opaque[144];
} prefixroute_hasher;

// Request of router.h. All zeros but struct_size is a request without prefix.
typedef struct prefixroute_request {
  uint32_t struct_size;
  uint32_t strategy;
  const void* prefix;
  size_t prefix_size;
  const void* scope;  // Null: none.
  size_t scope_size;
  const prefixroute_key* key;       // Not null: in place of prefix and scope.
  const uint32_t* exclude_indexes;  // Instances that must not be chosen.
  size_t exclude_count;
  uint64_t random;  // 0: the router draws.
} prefixroute_request;

// Decision of router.h.
typedef struct prefixroute_decision {
  uint32_t struct_size;
  uint32_t instance;  // An index into the instances as last set.
  uint32_t home;      // PREFIXROUTE_NO_INSTANCE: none.
  uint32_t rank;
  uint32_t reason;
  uint32_t reserved;  // 0.
  uint64_t prefix_bytes;
  uint64_t matched_bytes;
  uint64_t uncached_bytes;
} prefixroute_decision;

// One outstanding request: a value without memory of its own, which must lie aligned to 8 bytes. It may be moved, by
// copying it and forgetting the original, to any thread, and to any process whose router is on the same shared block;
// whoever has it gives it back once, with prefixroute_finish(). All zeros owns nothing.
//
// A lease that owns nothing gets NOT_FOUND: it was given back already, its owner was reaped or has destroyed its
// router, it is another router's (not of this block), or no lease at all. A copy of one that was given back cannot
// always be told: it takes the place of another request of the same owner on the same instance, if there is one, whose
// count is then one too low until that one is given back, which gets NOT_FOUND. No count goes below zero, no other
// instance's, router's or owner's count changes, and no memory but the counts is touched.
typedef struct prefixroute_lease {
  uint64_t opaque[3];
} prefixroute_lease;

// InstanceStats of router.h.
typedef struct prefixroute_instance_stats {
  uint32_t struct_size;
  uint32_t id_size;
  char id[PREFIXROUTE_MAX_ID_BYTES + 1];  // With a NUL after its bytes.
  double weight;
  uint32_t max_outstanding;
  uint32_t outstanding;
  uint32_t draining;  // 0 or 1.
  uint32_t reserved;  // 0.
  uint64_t pending_bytes;
  uint64_t prompt_tokens;
  uint64_t cached_tokens;
  uint64_t expected_cached_tokens;
} prefixroute_instance_stats;

// RouterStats of router.h.
typedef struct prefixroute_stats {
  uint32_t struct_size;
  uint32_t reserved;  // 0.
  uint64_t outstanding;
  uint64_t unavailable;
  uint64_t exhausted;
  uint64_t decisions[PREFIXROUTE_REASON_COUNTS];  // By reason; 0 where there is none of that number.
} prefixroute_stats;

// InstanceCost of router.h.
typedef struct prefixroute_instance_cost {
  uint32_t struct_size;
  uint32_t instance;
  uint32_t rank;
  uint32_t eligible;  // 0 or 1.
  uint32_t outstanding;
  uint32_t reserved;  // 0.
  double cost;
  uint64_t matched_bytes;
  uint64_t uncached_bytes;
  uint64_t pending_bytes;
} prefixroute_instance_cost;

// SharedStateShape of shared_state.h. A field that is 0 has its default.
typedef struct prefixroute_shared_shape {
  uint32_t struct_size;
  uint32_t max_instances;   // Default 1024.
  uint32_t max_owners;      // Default 64.
  uint32_t prefix_entries;  // Default 65536.
} prefixroute_shared_shape;

// A router that is attached to a shared block.
typedef struct prefixroute_owner {
  uint64_t token;
  uint64_t outstanding;
} prefixroute_owner;

// ---- The library. None of these fails; texts live as long as the library.

PREFIXROUTE_EXPORT uint32_t prefixroute_abi_version(void) PREFIXROUTE_NOEXCEPT;
// "0.1.0".
PREFIXROUTE_EXPORT const char* prefixroute_version(void) PREFIXROUTE_NOEXCEPT;
// "OK", "NOT_FOUND"; "" for a number that is none.
PREFIXROUTE_EXPORT const char* prefixroute_status_name(prefixroute_status status) PREFIXROUTE_NOEXCEPT;
// "PREFIX_AWARE"; "" for DEFAULT and a number that is none.
PREFIXROUTE_EXPORT const char* prefixroute_strategy_name(uint32_t strategy) PREFIXROUTE_NOEXCEPT;
// "diverted_by_load", fit for logs and metrics; "" for a number that is none.
PREFIXROUTE_EXPORT const char* prefixroute_reason_name(uint32_t reason) PREFIXROUTE_NOEXCEPT;
// The strategy of that very name. INVALID_ARGUMENT where there is none.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_parse_strategy(const char* name, size_t name_size, uint32_t* strategy,
                                                                 prefixroute_error* error) PREFIXROUTE_NOEXCEPT;

// ---- The router.

// Writes the defaults: struct_size and all that the library knows of `struct_size` bytes, zeros to the rest. Does
// nothing where `options` is null or `struct_size` below the first release's.
PREFIXROUTE_EXPORT void prefixroute_options_init(prefixroute_options* options,
                                                 uint32_t struct_size) PREFIXROUTE_NOEXCEPT;

// Makes a router, which is the caller's to destroy. `options` may be null: the defaults. INVALID_ARGUMENT on bad
// options or instances, as Router::Create() and SetInstances(). Allocates about 770 bytes * max_instances + 64 *
// prefix_entries.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_create(const prefixroute_options* options,
                                                         const prefixroute_instance* instances, size_t instance_count,
                                                         prefixroute_router** router,
                                                         prefixroute_error* error) PREFIXROUTE_NOEXCEPT;

// The same on a shared block, as the owner `token`: see prefixroute_shared_format(). The block must outlive the router.
// Besides: INVALID_ARGUMENT on memory that is no block, FAILED_PRECONDITION on a block of another layout,
// ALREADY_EXISTS where the token is attached, RESOURCE_EXHAUSTED where max_owners are, UNAVAILABLE where another router
// is changing membership and doesn't end.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_create_shared(const prefixroute_options* options,
                                                                const prefixroute_instance* instances,
                                                                size_t instance_count, void* memory, size_t bytes,
                                                                uint64_t token, prefixroute_router** router,
                                                                prefixroute_error* error) PREFIXROUTE_NOEXCEPT;

// Ends it. Leases that are still open are over: nothing may be given back afterwards, and a shared block is as if they
// had been finished (but in a forked child, where a router that the parent made leaves the block alone). Null: nothing.
PREFIXROUTE_EXPORT void prefixroute_destroy(prefixroute_router* router) PREFIXROUTE_NOEXCEPT;

// Router::SetInstances(), SetDraining(), SetOptions(), SetStrategy(), options(), with their errors. They wait until the
// decisions under way have ended.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_set_instances(prefixroute_router* router,
                                                                const prefixroute_instance* instances,
                                                                size_t instance_count,
                                                                prefixroute_error* error) PREFIXROUTE_NOEXCEPT;
PREFIXROUTE_EXPORT prefixroute_status prefixroute_set_draining(prefixroute_router* router, const char* id,
                                                               size_t id_size, int32_t draining,
                                                               prefixroute_error* error) PREFIXROUTE_NOEXCEPT;
PREFIXROUTE_EXPORT prefixroute_status prefixroute_set_options(prefixroute_router* router,
                                                              const prefixroute_options* options,
                                                              prefixroute_error* error) PREFIXROUTE_NOEXCEPT;
PREFIXROUTE_EXPORT prefixroute_status prefixroute_set_strategy(prefixroute_router* router, uint32_t strategy,
                                                               prefixroute_error* error) PREFIXROUTE_NOEXCEPT;
PREFIXROUTE_EXPORT prefixroute_status prefixroute_get_options(const prefixroute_router* router,
                                                              prefixroute_options* options,
                                                              prefixroute_error* error) PREFIXROUTE_NOEXCEPT;

// Router::ReportLoad(): of `outstanding` requests, `waiting` are not prefilled. NOT_FOUND where there is no such
// instance.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_report_load(prefixroute_router* router, const char* id,
                                                              size_t id_size, uint32_t outstanding, uint32_t waiting,
                                                              prefixroute_error* error) PREFIXROUTE_NOEXCEPT;
// Router::ForgetCache(). NOT_FOUND where there is no such instance.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_forget_cache(prefixroute_router* router, const char* id,
                                                               size_t id_size,
                                                               prefixroute_error* error) PREFIXROUTE_NOEXCEPT;

// Router::Stats(). Either of `stats` and `instances` may be null; `instance_count`, how many there are, too.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_get_stats(const prefixroute_router* router, prefixroute_stats* stats,
                                                            prefixroute_instance_stats* instances, size_t capacity,
                                                            size_t* instance_count,
                                                            prefixroute_error* error) PREFIXROUTE_NOEXCEPT;

// Router::MembershipFingerprint(). 0 where `router` is null, or memory runs out.
PREFIXROUTE_EXPORT uint64_t prefixroute_membership_fingerprint(const prefixroute_router* router) PREFIXROUTE_NOEXCEPT;

// ---- Decisions.

// Router::Route(): decides by the caller's loads, one for each instance, which must not change meanwhile. UNAVAILABLE
// and RESOURCE_EXHAUSTED as above; INVALID_ARGUMENT where the number of loads, an excluded index or the request is
// wrong.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_route(prefixroute_router* router, const prefixroute_request* request,
                                                        const prefixroute_load* loads, size_t load_count,
                                                        prefixroute_decision* decision,
                                                        prefixroute_error* error) PREFIXROUTE_NOEXCEPT;

// Router::Acquire(): decides by the router's own counts, reserves in the same step, and writes the lease; `decision`
// may be null. Errors as prefixroute_route(); on each, the lease is made to own nothing.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_acquire(prefixroute_router* router,
                                                          const prefixroute_request* request, prefixroute_lease* lease,
                                                          prefixroute_decision* decision,
                                                          prefixroute_error* error) PREFIXROUTE_NOEXCEPT;

// Lease::FirstToken(), ReportCachedTokens(), Finish(): the first token has come; what the engine found cached; the
// request is over, well or badly. Each counts once. NOT_FOUND where the lease owns nothing. After prefixroute_finish()
// it does, and of several that finish the same struct at once one gets PREFIXROUTE_OK.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_first_token(prefixroute_router* router,
                                                              prefixroute_lease* lease) PREFIXROUTE_NOEXCEPT;
PREFIXROUTE_EXPORT prefixroute_status prefixroute_report_cached_tokens(prefixroute_router* router,
                                                                       prefixroute_lease* lease, uint64_t cached_tokens,
                                                                       uint64_t prompt_tokens) PREFIXROUTE_NOEXCEPT;
PREFIXROUTE_EXPORT prefixroute_status prefixroute_finish(prefixroute_router* router,
                                                         prefixroute_lease* lease) PREFIXROUTE_NOEXCEPT;

// Router::Transfer(): that instance serves the request now, whatever its bounds, and this router is its owner.
// NOT_FOUND where the lease owns nothing, or where there is no such instance; RESOURCE_EXHAUSTED where it can count no
// more.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_transfer(prefixroute_router* router, prefixroute_lease* lease,
                                                           const char* id, size_t id_size,
                                                           prefixroute_error* error) PREFIXROUTE_NOEXCEPT;

// Lease::id(), with a NUL after it. `id_size` is how long it is, and may be null; a capacity of
// PREFIXROUTE_MAX_ID_BYTES + 1 always suffices. Unlike decision.instance it holds after a change of membership.
// NOT_FOUND where the lease owns nothing; BUFFER_TOO_SMALL, with `id_size` alone written.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_lease_id(prefixroute_router* router, const prefixroute_lease* lease,
                                                           char* id, size_t capacity,
                                                           size_t* id_size) PREFIXROUTE_NOEXCEPT;

// Router::Rank(): up to `capacity` instances in the prefix's own order, and how many those are.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_rank(const prefixroute_router* router,
                                                       const prefixroute_request* request, uint32_t* instances,
                                                       size_t capacity, size_t* instance_count,
                                                       prefixroute_error* error) PREFIXROUTE_NOEXCEPT;

// Router::Explain(), by `loads` or, where load_count is 0, by the router's own counts. `instance_count` may be null.
// Takes no lock, but allocates.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_explain(const prefixroute_router* router,
                                                          const prefixroute_request* request,
                                                          const prefixroute_load* loads, size_t load_count,
                                                          prefixroute_instance_cost* costs, size_t capacity,
                                                          size_t* instance_count,
                                                          prefixroute_error* error) PREFIXROUTE_NOEXCEPT;

// ---- Keys, for prefixes in pieces, of which prefix_key.h says more. `max_prefix_bytes` is that of the router's
// options, or, in strict mode, their strict_prefix_bytes. INVALID_ARGUMENT is the only error of what returns a status:
// a null pointer, or a hasher that was not initialised where it lies.

// MakePrefixKey() and PrefixKey::FromHash().
PREFIXROUTE_EXPORT prefixroute_status prefixroute_key_make(const void* prefix, size_t prefix_size, const void* scope,
                                                           size_t scope_size, uint64_t max_prefix_bytes,
                                                           prefixroute_key* key) PREFIXROUTE_NOEXCEPT;
PREFIXROUTE_EXPORT prefixroute_status prefixroute_key_from_hash(uint64_t hash, uint64_t bytes,
                                                                prefixroute_key* key) PREFIXROUTE_NOEXCEPT;
// PrefixKey::value() and bytes(); 0 for the empty key, a null pointer, and what is no key.
PREFIXROUTE_EXPORT uint64_t prefixroute_key_value(const prefixroute_key* key) PREFIXROUTE_NOEXCEPT;
PREFIXROUTE_EXPORT uint64_t prefixroute_key_bytes(const prefixroute_key* key) PREFIXROUTE_NOEXCEPT;

// PrefixHasher, AddScope(), Update(), Key().
PREFIXROUTE_EXPORT prefixroute_status prefixroute_hasher_init(prefixroute_hasher* hasher,
                                                              uint64_t max_prefix_bytes) PREFIXROUTE_NOEXCEPT;
PREFIXROUTE_EXPORT prefixroute_status prefixroute_hasher_add_scope(prefixroute_hasher* hasher, const void* part,
                                                                   size_t size) PREFIXROUTE_NOEXCEPT;
PREFIXROUTE_EXPORT prefixroute_status prefixroute_hasher_update(prefixroute_hasher* hasher, const void* piece,
                                                                size_t size) PREFIXROUTE_NOEXCEPT;
PREFIXROUTE_EXPORT prefixroute_status prefixroute_hasher_key(const prefixroute_hasher* hasher,
                                                             prefixroute_key* key) PREFIXROUTE_NOEXCEPT;
// 1 when further bytes can't change the key; 0 else, also for what is no hasher.
PREFIXROUTE_EXPORT int32_t prefixroute_hasher_full(const prefixroute_hasher* hasher) PREFIXROUTE_NOEXCEPT;

// ---- Memory that several processes share, of which shared_state.h says more. Format once, before the workers are
// forked; then each makes its router with prefixroute_create_shared().

// SharedState::BytesNeeded(). `shape` may be null: the defaults.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_shared_bytes(const prefixroute_shared_shape* shape, size_t* bytes,
                                                               prefixroute_error* error) PREFIXROUTE_NOEXCEPT;
// SharedState::Format(). `memory` is aligned to 64 bytes. FAILED_PRECONDITION where it holds a block already, as after
// a reload: go on with that.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_shared_format(void* memory, size_t bytes,
                                                                const prefixroute_shared_shape* shape,
                                                                prefixroute_error* error) PREFIXROUTE_NOEXCEPT;
// SharedState::Owners(): all that are attached, this router too. FAILED_PRECONDITION where it is on no shared block.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_shared_owners(const prefixroute_router* router,
                                                                prefixroute_owner* owners, size_t capacity,
                                                                size_t* owner_count,
                                                                prefixroute_error* error) PREFIXROUTE_NOEXCEPT;
// SharedState::Reap(): takes back what a router whose process has ended still holds. NOT_FOUND where the token isn't
// attached; INVALID_ARGUMENT on this router's own; UNAVAILABLE where another router is changing membership and doesn't
// end; FAILED_PRECONDITION where this router is on no shared block. A worker that may follow a dead one creates its
// router without instances, which waits for nobody, reaps, and then sets them.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_shared_reap(prefixroute_router* router, uint64_t token,
                                                              prefixroute_error* error) PREFIXROUTE_NOEXCEPT;

// NOLINTEND(readability-identifier-naming,modernize-use-using)

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // PREFIXROUTE_C_H_
