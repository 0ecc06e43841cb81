// SPDX-License-Identifier: Apache-2.0
//
// A router's counts, and what it remembers of prefixes, in memory that several processes share: nginx workers,
// pre-forked gateways. With it, bounds hold for all of them together and all know what each has sent where; both
// survive a reload, and the counts of a killed process can be taken back.
//
//   // Once, before the workers are forked:
//   const size_t bytes = *SharedState::BytesNeeded({});
//   void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
//   absl::Status formatted = SharedState::Format(memory, bytes, {});
//
//   // In each worker:
//   absl::StatusOr<SharedState> state = SharedState::Attach(memory, bytes, getpid());
//   auto router = Router::Create(options, instances, *std::move(state));
//
//   // When worker 4711 was killed, in any other:
//   router->get()->shared_state()->Reap(4711);
//
// The block has no pointers and no locks: every count is one always-lock-free atomic, and at any instant a process may
// die without leaving a count wrong (src/state/count.h says how). Each process may map it at another address.

#ifndef PREFIXROUTE_SHARED_STATE_H_
#define PREFIXROUTE_SHARED_STATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "prefixroute/export.h"
#include "prefixroute/instance.h"

namespace prefixroute {

namespace internal {
class State;
}

// How much a block has room for.
struct SharedStateShape {
  uint32_t max_instances = 1024;  // 1 to kMaxInstances. As many removed ones fit beside, until their leases end.
  uint32_t max_owners = 64;       // Attached routers, 2 to 1024.
  uint32_t prefix_entries = kDefaultPrefixEntries;  // RouterOptions::prefix_entries.
};

// One router's place in a shared block: a column of counts that it owns. Movable; thread-safe but for moves.
class PREFIXROUTE_EXPORT SharedState {
 public:
  // A router that is attached to the block.
  struct Owner {
    uint64_t token;
    uint64_t outstanding;  // Requests that it has outstanding.
  };

  // The size of a block, in bytes: about max_instances * (740 + 32 * max_owners) + 64 * prefix_entries. InvalidArgument
  // on a bad shape.
  static absl::StatusOr<size_t> BytesNeeded(const SharedStateShape& shape);

  // Makes an empty block of memory that nobody is attached to. InvalidArgument where `memory` is null or not
  // aligned to 64 bytes, or `bytes` below BytesNeeded(); FailedPrecondition where it holds a block already.
  static absl::Status Format(void* memory, size_t bytes, const SharedStateShape& shape);

  // Takes a column of a formatted block for the router of `token`: any number but 0 that names it among all that are
  // attached. The process id will do where each process has one router, and none is replaced within it; a restarted
  // container may get the dead one's id again, so let the supervisor count. Attach after the fork, not before.
  // `memory` must be writable, and outlive the router and its leases. InvalidArgument on memory that is null,
  // misaligned, truncated, or not a block; FailedPrecondition on a block of another layout version; AlreadyExists where
  // the token is attached (if its process is gone, that is what Reap is for); ResourceExhausted where max_owners are
  // attached.
  static absl::StatusOr<SharedState> Attach(void* memory, size_t bytes, uint64_t token);

  SharedState(SharedState&&) noexcept;
  SharedState& operator=(SharedState&&) noexcept;
  // Gives the column back. With leases still open it stays, as after a crash, until it is reaped: best when they have
  // ended. In a forked child, does nothing: the column is the parent's.
  ~SharedState();

  // Takes back all that a router whose process has ended still holds, and frees its column. Never reap a living one:
  // it can reserve nothing any more, and what it gives back later is ignored. NotFound where the token isn't attached;
  // InvalidArgument on this router's own; Unavailable where another router is changing membership and doesn't end:
  // if its process has ended too, reap that one first. FailedPrecondition where this object was moved from.
  absl::Status Reap(uint64_t token) const;

  // All that are attached, this one included; none where this object was moved from.
  std::vector<Owner> Owners() const;

  uint64_t token() const;  // 0 where this object was moved from.

 private:
  friend class Router;
  explicit SharedState(std::unique_ptr<internal::State> state);
  std::unique_ptr<internal::State> state_;
};

}  // namespace prefixroute

#endif  // PREFIXROUTE_SHARED_STATE_H_
