// SPDX-License-Identifier: Apache-2.0
//
// prefixroute: which inference instance should serve this request, so that its KV cache already holds the request's
// prefix and nobody is overloaded?
//
//   auto router = Router::Create({}, {{"10.0.0.1:8000"}, {"10.0.0.2:8000"}, {"10.0.0.3:8000"}});
//   Request request;
//   request.prefix = prompt;                           // Any bytes: as the engine will see them, from the first on.
//   absl::StatusOr<Lease> lease = (*router)->Acquire(request);
//   if (!lease.ok()) return RespondBusy(lease.status());  // 429 or 503.
//   Forward(prompt, lease->id());                      // Where most of the prompt is cached, and nobody is overloaded.
//   lease->FirstToken();                               // When the answer begins.
//   lease->Finish();                                   // When it has ended; so does ~Lease.
//
// A router has two verbs. Acquire() goes by the router's own count of outstanding requests, and reserves in the same
// step; the lease gives back. Route() decides by loads that the caller counts, and remembers only where it sent the
// prefix: for load balancers that know their connections already.
//
// PREFIX_AWARE, the default, estimates what each instance has cached of the prompt, and weighs that against what each
// has to do (docs/prefix_aware.md). Gateways that share nothing find nearly always the same home for a prefix, which
// follows from its bytes, how much of the traffic begins like it, and the instances' ids and weights. In strict mode
// nothing is remembered, and nothing but bytes, ids, weights and loads counts (docs/strict_mode.md).
//
// Cost: one pass over the prefix's bytes, mostly one or two over the instances' hashes, and a look at the loads of 64
// instances and of those that hold some of the prefix; at all loads for LEAST_OUTSTANDING_REQUESTS, and where strict
// mode's home is busy. No lock, allocation, clock or log. docs/performance.md has figures, and the program that makes
// them.

#ifndef PREFIXROUTE_ROUTER_H_
#define PREFIXROUTE_ROUTER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "prefixroute/export.h"
#include "prefixroute/instance.h"
#include "prefixroute/prefix_key.h"
#include "prefixroute/shared_state.h"
#include "prefixroute/strategy.h"

namespace prefixroute {

namespace internal {
class BareLease;
}

inline constexpr uint32_t kMaxGatewayReplicas = 1'000'000;

struct RouterOptions {
  Strategy strategy = Strategy::kPrefixAware;
  // Chooses in place of `strategy`, where it is set.
  std::shared_ptr<const RoutingStrategy> custom_strategy;
  // How many bytes of a prompt PREFIX_AWARE looks at: 1 to kMaxMaxPrefixBytes.
  uint64_t max_prefix_bytes = kDefaultMaxPrefixBytes;
  // Not 0: PREFIX_AWARE in strict mode. It remembers nothing: prompts that are equal in that many first bytes
  // have one home, which only the bounds divert from, so that gateways decide alike from like loads. To
  // kMaxMaxPrefixBytes. No number fits all traffic (docs/strict_mode.md).
  uint64_t strict_prefix_bytes = 0;
  // When strict mode diverts from a busy home: above 125 % of its share of the load, but never below 16 outstanding.
  RelativeBound relative_bound;
  // Replicas of the gateway that share the instances, each with a router of its own: 1 to kMaxGatewayReplicas. With
  // several, PREFIX_AWARE trusts a prefix's home more, for another replica may have sent it there. Routers of one
  // SharedState are one.
  uint32_t gateway_replicas = 1;
  // What Acquire() and Route() do when the strategy finds nobody below the hard bound: false refuses with
  // ResourceExhausted, true takes the one with the least (outstanding + 1) / weight, whatever its bound.
  bool fail_open = false;
  // Room for instances, fixed at Create(): 1 to kMaxInstances, about 770 bytes each. A SharedState has its own room.
  uint32_t max_instances = 1024;
  // Room for what PREFIX_AWARE remembers, fixed at Create(): a power of two within kMinPrefixEntries to
  // kMaxPrefixEntries, 64 bytes each. Some 4,096 an instance hold what engines keep in their caches; with far fewer
  // hits are lost. A SharedState has its own.
  uint32_t prefix_entries = kDefaultPrefixEntries;

  // How many of a prompt's first bytes go into its key: the max_prefix_bytes to give MakePrefixKey(), PrefixHasher and
  // PayloadReader.
  uint64_t key_bytes() const { return strict_prefix_bytes != 0 ? strict_prefix_bytes : max_prefix_bytes; }
};

// What its views point to must live until the call returns, which a list in braces does not.
struct Request {
  // The prompt, or its beginning: any bytes. Empty: no affinity.
  std::string_view prefix;
  // What else must be equal for a cached prefix to be of use: model, adapter, tenant, cache salt. Several: see
  // PrefixHasher::AddScope.
  std::string_view scope;
  // A ready key, in place of `prefix` and `scope`, which are not read then. Make it with RouterOptions::key_bytes(): in
  // strict mode, prompts whose keys are made of more bytes don't share a home.
  const PrefixKey* key = nullptr;
  // Instances that must not be chosen, by id (unknown ones are ignored) and by index: those that failed this request,
  // or all outside a subset. One that fails every request looks idle, and draws more: see SetDraining().
  absl::Span<const std::string_view> exclude;
  absl::Span<const uint32_t> exclude_indexes;
  // Chooses for this request, in place of the router's own.
  std::optional<Strategy> strategy;
  // The random bits that RANDOM and ties go by; 0: the router draws them. Fixed bits make any decision repeatable.
  uint64_t random = 0;
};

struct Decision {
  // Indexes into the instances as last given to Create() or SetInstances().
  uint32_t instance = kNoInstance;
  uint32_t home = kNoInstance;  // The prefix's home; kNoInstance where the strategy has none, and for kFailOpen.
  // The instance's place in the prefix's order: 1 for the home; 0 where there is no order. Counted to 64: 65 stands for
  // all places beyond.
  uint32_t rank = 0;
  Reason reason = Reason::kHome;
  // Of PREFIX_AWARE, not in strict mode: the prefix's bytes, how many of them the instance was sent lately, and how
  // many it is expected to prefill. A home may be expected to have more than it was sent, so the two need not add up.
  uint64_t prefix_bytes = 0;
  uint64_t matched_bytes = 0;
  uint64_t uncached_bytes = 0;
};

// What PREFIX_AWARE sees in one instance, for one request.
struct InstanceCost {
  uint32_t instance;
  uint32_t rank;           // In the prefix's order, from 1; 0 for an instance of weight 0.
  bool eligible;           // Of those that are, the least cost is chosen: in a fleet of more than 64, of those that
                           // hold some of the prefix or are its homes, and 64 others.
  double cost;             // Bytes of work; src/strategy/prefix_aware.h has the formula.
  uint64_t matched_bytes;  // As in Decision.
  uint64_t uncached_bytes;
  uint64_t pending_bytes;  // Load::pending_bytes.
  uint32_t outstanding;
};

// Owns one outstanding request, and gives it back exactly once: at Finish(), or when destroyed. Move-only. For one
// thread at a time, any thread; it may outlive the instance's membership and the router. With a SharedState it must
// not outlive the memory.
class PREFIXROUTE_EXPORT Lease {
 public:
  Lease() = default;  // Owns nothing.
  Lease(Lease&& other) noexcept;
  Lease& operator=(Lease&& other) noexcept;  // Finishes what this one owned.
  ~Lease() { Finish(); }

  // Whether it still owns a request.
  bool active() const { return state_ != nullptr; }
  // The instance's id, valid while active; "" afterwards.
  std::string_view id() const;
  // The indexes are those of the membership that the decision was made on.
  const Decision& decision() const { return decision_; }

  // The first token has come: the instance has prefilled the prompt. Without this call PREFIX_AWARE learns so at
  // Finish(), and balances less sharply. O(1), lock-free.
  void FirstToken() noexcept;

  // What the engine says it found cached (usage.prompt_tokens_details.cached_tokens), of how many tokens of the prompt.
  // For Stats() alone, which sets it beside what was expected. Once, before Finish(); later calls do nothing.
  void ReportCachedTokens(uint64_t cached_tokens, uint64_t prompt_tokens) noexcept;

  // The request is over: well, badly or cancelled, it is all one; that its prefix was sent there stays remembered.
  // Later calls do nothing. O(1), lock-free.
  void Finish() noexcept;

 private:
  friend class Router;
  friend class internal::BareLease;
  Lease(internal::State* state, uint32_t slot, const Decision& decision)
      : state_(state), slot_(slot), pending_bytes_(decision.uncached_bytes), decision_(decision) {}

  internal::State* state_ = nullptr;
  uint32_t slot_ = 0;
  uint64_t pending_bytes_ = 0;  // Until the first token.
  bool reported_ = false;       // ReportCachedTokens() was called.
  Decision decision_;
};

struct InstanceStats {
  std::string id;
  double weight;
  uint32_t max_outstanding;
  uint32_t outstanding;    // Acquired and not finished, by all owners of a SharedState.
  uint64_t pending_bytes;  // Load::pending_bytes, by the router's own account.
  bool draining;
  // Of the requests that Lease::ReportCachedTokens() was called for: their tokens, how many of them the engine found
  // cached, and how many the router expected it to. By all owners of a SharedState.
  uint64_t prompt_tokens;
  uint64_t cached_tokens;
  uint64_t expected_cached_tokens;
};

// A count of what a router did since it was created, by Route() and Acquire() alike.
struct RouterStats {
  std::vector<InstanceStats> instances;  // In the order of SetInstances().
  // All that is acquired and not finished, also from instances since removed.
  uint64_t outstanding = 0;
  std::array<uint64_t, kReasonCount> decisions{};  // By Reason.
  uint64_t unavailable = 0;                        // Refused: no available instance.
  uint64_t exhausted = 0;                          // Refused: every available instance at its bound.
};

// Thread-safe: all methods may be called by any number of threads at once. Hot: Route, Acquire, Rank, ReportLoad,
// ForgetCache, Transfer and Lease's; they never wait for the others, and allocate nothing after a thread's first call.
// The others allocate, and, but for Explain, take a lock among themselves. Those that change something wait until the
// decisions, and explanations, under way have ended: microseconds, or as long as the system keeps such a thread from
// running.
//
// After a fork() the child may use a router that no other thread was using, as one of its own. Counts that both see are
// what a SharedState is for.
//
// Errors: a call with bad input returns InvalidArgument, naming the field and the value, and changes nothing. Nothing
// throws (but std::bad_alloc), aborts or logs.
class PREFIXROUTE_EXPORT Router {
 public:
  // `instances` may be empty, to be set later.
  static absl::StatusOr<std::unique_ptr<Router>> Create(RouterOptions options, absl::Span<const Instance> instances);
  // The same, with its counts in memory that is shared with other processes. Instances of one id are one instance to
  // all of them. Unavailable where another router is changing membership and doesn't end.
  static absl::StatusOr<std::unique_ptr<Router>> Create(RouterOptions options, absl::Span<const Instance> instances,
                                                        SharedState shared_state);
  // With leases still open, its counts (about 770 bytes * max_instances + 64 * prefix_entries) stay in memory: until
  // they have ended and another router is destroyed.
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  // Decides by the caller's loads, of which there must be one for each instance, in the order of SetInstances(). Loads
  // and indexes mean nothing after a change of membership: keep them and SetInstances() under one lock. Same request
  // and loads, same decision (for RANDOM and ties: given Request::random; for PREFIX_AWARE, not in strict mode: and the
  // same requests before it).
  //
  // Unavailable (a gateway's 503): no instance, or all are draining, excluded or of weight 0.
  // ResourceExhausted (429): every one that is left is at its hard bound, or a custom strategy chose none.
  // InvalidArgument: the length of `loads`, an excluded index or the request's strategy is wrong.
  // Internal: a custom strategy chose what may not be.
  //
  // O(prefix + instances + exclude * log(instances)).
  absl::StatusOr<Decision> Route(const Request& request, absl::Span<const Load> loads);

  // Decides by the router's own counts, and reserves in the same step: however many threads and processes race, no
  // instance that has max_outstanding or more is given another (but by fail_open). Errors and cost are those of
  // Route(); after lost races it decides again. Leases and fleet may change at once: Lease::id() is the instance's own.
  absl::StatusOr<Lease> Acquire(const Request& request);

  // The request of `lease`, which this router gave, is served by that instance now, as the host or its peer has
  // decided: moves the request and its pending bytes there, whatever the bounds. The lease's decision stays what it
  // was, and so does what is remembered of the prefix. To choose anew, Finish() and Acquire() with `exclude`. NotFound
  // where there is no such instance; FailedPrecondition where the lease owns nothing; InvalidArgument where it is
  // another router's; ResourceExhausted where the instance has kMaxOutstanding. The lease stays where it was then.
  absl::Status Transfer(Lease& lease, std::string_view id);

  // The first `out.size()` instances in the prefix's own order, draining and excluded ones and those of weight 0 left
  // out: its home, and where next if nothing else counted. Acquire() and Route() with `exclude` go by loads, and by
  // what is cached, as well. Returns how many it wrote. An empty prefix gets a random order. InvalidArgument: an
  // excluded index or the request's strategy is wrong. O(prefix + (instances + exclude) * log(instances)).
  absl::StatusOr<size_t> Rank(const Request& request, absl::Span<uint32_t> out) const;

  // Makes `instances` the whole fleet. Kept ids keep their counts and stay draining; removed ones take no new
  // requests, while their leases go on. An id that was removed and comes back is a new instance, with a count of 0
  // (in a SharedState, once no other router has it either).
  // InvalidArgument: an id is empty, too long or given twice, a weight or bound out of range, all weights 0, or more
  // instances than max_instances. ResourceExhausted: no room beside removed instances whose leases are still open.
  // Unavailable, with a SharedState: another router has been changing membership for two seconds.
  absl::Status SetInstances(absl::Span<const Instance> instances);

  // A draining instance takes no new requests, and keeps its count and its place in every order: for one that is to
  // end, or that fails. NotFound where there is no such instance.
  absl::Status SetDraining(std::string_view id, bool draining);

  // What the engine itself says of its load, as often as you hear of it. What exceeds the router's own account is
  // taken for requests of others, and counts beside it until the next report: an old report makes no router forget its
  // own leases, and no report closes an instance. For gateways that share instances. NotFound where there is no such
  // instance. Not for Route(), whose loads are the caller's.
  absl::Status ReportLoad(std::string_view id, const EngineLoad& load);

  // The engine was restarted: what it had cached is gone. NotFound where there is no such instance.
  absl::Status ForgetCache(std::string_view id);

  // What PREFIX_AWARE would go by for this request, for each instance, in the order of SetInstances(); by the router's
  // own counts, or by `loads` where there are any. Decides nothing. InvalidArgument as for Route(); FailedPrecondition
  // where the request's strategy is another, or the prefix empty. O(instances * log(instances)); allocates.
  absl::StatusOr<std::vector<InstanceCost>> Explain(const Request& request, absl::Span<const Load> loads = {}) const;

  // From the next decision on. Leases are not touched. max_instances and prefix_entries can't change.
  absl::Status SetOptions(RouterOptions options);
  // SetOptions() with this strategy, and no custom one.
  absl::Status SetStrategy(Strategy strategy);
  RouterOptions options() const;

  RouterStats Stats() const;

  // Equal for routers whose instances have the same ids and weights, in whatever order: in strict mode those give every
  // prefix the same order.
  uint64_t MembershipFingerprint() const;

  // The router's place in a shared block; null where it has none. Lives as long as the router.
  const SharedState* shared_state() const;

 private:
  friend class internal::BareLease;
  struct Impl;
  // Reserves in the instance's slot, whatever its bounds, and returns the slot.
  absl::StatusOr<uint32_t> ReserveAt(std::string_view id);
  internal::State& state();
  static absl::StatusOr<std::unique_ptr<Router>> Make(RouterOptions options, absl::Span<const Instance> instances,
                                                      SharedState owner, bool shared);
  explicit Router(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace prefixroute

#endif  // PREFIXROUTE_ROUTER_H_
