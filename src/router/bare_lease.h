// SPDX-License-Identifier: Apache-2.0
//
// A lease as three plain numbers, for hosts that can keep no object: the lease of the C API. Any process of the
// router's block may give it back.
//
//   words[0]  a seal over all the rest: 0 where the lease owns nothing
//   words[1]  the place of the request: slot in bits 0-17, column in 18-27, the slot's incarnation in 32-63
//   words[2]  the prefix's bytes in bits 0-24, those of them that were uncached in 25-49, and two flags
//
// The seal tells a lease from garbage, and from those of other blocks, of instances that are gone, and of owners that
// were reaped. It can't tell a copy from the original: a copy that is given back too takes another request's place,
// of the same owner on the same instance, if there is one, and never makes a count negative.

#ifndef PREFIXROUTE_SRC_ROUTER_BARE_LEASE_H_
#define PREFIXROUTE_SRC_ROUTER_BARE_LEASE_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "prefixroute/router.h"
#include "src/state/state.h"

namespace prefixroute::internal {

class BareLease {
 public:
  // Makes three words of what `lease`, which is active, owns; afterwards it owns nothing.
  static void Store(Lease& lease, uint64_t* words);

  // Gives back the request of the words, which own nothing afterwards; false where they own none. Of several threads
  // that finish the same words at once, one succeeds.
  static bool Finish(Router& router, uint64_t* words);

  // A look at words that other threads leave alone.
  BareLease(Router& router, uint64_t* words) : BareLease(router, words, words[0]) {}

  bool active() const { return active_; }
  // What follows is for active ones; as Lease's.
  std::string_view id() const { return state_.id(slot_); }
  void FirstToken();
  void ReportCachedTokens(uint64_t cached_tokens, uint64_t prompt_tokens);
  absl::Status Transfer(std::string_view id);

  // Takes back all that the router has outstanding: for a router whose leases all are bare, before it ends.
  static void FinishAll(Router& router) { router.state().ReleaseAll(); }

 private:
  BareLease(Router& router, uint64_t* words, uint64_t seal);
  bool Release();
  bool SetFlag(uint64_t flag);
  uint64_t PrefixBytes() const;
  uint64_t UncachedBytes() const;

  Router& router_;
  State& state_;
  uint64_t* words_;
  uint32_t slot_;
  uint32_t column_;
  bool active_;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_ROUTER_BARE_LEASE_H_
