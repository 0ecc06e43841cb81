// SPDX-License-Identifier: Apache-2.0
//
// Strategies: how one instance is chosen among those that may be. Most users need the enum alone; derive from
// RoutingStrategy to plug in a strategy of your own (examples/custom_strategy).

#ifndef PREFIXROUTE_STRATEGY_H_
#define PREFIXROUTE_STRATEGY_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "prefixroute/export.h"
#include "prefixroute/instance.h"
#include "prefixroute/prefix_key.h"
#include "prefixroute/rendezvous.h"

namespace prefixroute {

namespace internal {
class Considered;
class FleetViewBuilder;
class OrderFinder;
}  // namespace internal

// The strategies that come with the library, by the names that SageMaker gave them.
enum class Strategy : uint8_t {
  // "RANDOM": any eligible instance, with a chance in proportion to its weight.
  kRandom = 0,
  // "LEAST_OUTSTANDING_REQUESTS": the eligible instance with the least (outstanding + 1) / weight; a random one of
  // those that are level.
  kLeastOutstandingRequests = 1,
  // "PREFIX_AWARE": where the request, with what waits there, makes the least work: the more of its prefix is cached
  // and the less is waiting, the better. In strict mode: the prefix's home, or, where that is at its bound, the next in
  // the prefix's own order that is not. An empty prefix goes by LEAST_OUTSTANDING_REQUESTS.
  kPrefixAware = 2,
};

// "RANDOM" and so on; "" for a value that is none.
PREFIXROUTE_EXPORT std::string_view StrategyName(Strategy strategy);
// The strategy of that very name. InvalidArgument where there is none.
PREFIXROUTE_EXPORT absl::StatusOr<Strategy> ParseStrategy(std::string_view name);

// Why an instance was chosen.
enum class Reason : uint8_t {
  kHome = 0,                 // The prefix's home.
  kDivertedByLoad = 1,       // The home is at its bound, or has too much to do.
  kDivertedUnavailable = 2,  // The home is draining or excluded.
  kNoPrefix = 3,             // The prefix is empty: the least outstanding.
  kLeastOutstanding = 4,     // By LEAST_OUTSTANDING_REQUESTS.
  kRandom = 5,               // By RANDOM.
  kCustom = 6,               // By a strategy from outside the library.
  kFailOpen = 7,             // The strategy found nobody eligible, and RouterOptions::fail_open is on.
  kHolder = 8,               // It should have more of the prefix cached than the home.
};
inline constexpr size_t kReasonCount = 9;

// "home", "diverted_by_load" and so on: fit for logs and metric labels; "" for a value that is none.
PREFIXROUTE_EXPORT std::string_view ReasonName(Reason reason);

// The bound of strict mode that follows the fleet's load, beside Instance::max_outstanding. An instance takes a
// request only below
//
//   max(floor, ceil(share) + margin, ceil(share * factor_percent / 100))
//
// outstanding, `share` being its part, by weight, of all that eligible instances have outstanding and the new request.
// Exact in integers. It spreads load and refuses nothing: somebody is always below it. With margin and floor 0 it is
// that of Mirrokni, Thorup, Zadimoghaddam: Consistent hashing with bounded loads (arXiv:1608.01350), which diverts
// needlessly at the few requests that an LLM instance has in flight.
struct RelativeBound {
  uint32_t factor_percent = 125;  // 100 to 100,000; 0 turns the relative bound off.
  uint32_t margin = 0;            // To kMaxOutstanding.
  uint32_t floor = 16;            // To kMaxOutstanding.
};

// What a strategy chooses from: the instances and their load, for one request. Valid during Choose() only.
//
// Reads are live: while other threads acquire and finish, two calls of outstanding() may differ, and what was
// eligible a moment ago may be full. Every call is O(1), takes no lock and does not allocate.
class FleetView {
 public:
  // Instances in the order of the last SetInstances: indexes run from 0 to size() - 1.
  uint32_t size() const { return nodes_.size; }
  std::string_view id(uint32_t index) const { return ids_[index]; }
  double weight(uint32_t index) const { return static_cast<double>(nodes_.weights[index]) / kWeightUnit; }
  // The hard bound; UINT32_MAX for an instance without one, where the caller counts.
  uint32_t max_outstanding(uint32_t index) const {
    return loads_ != nullptr ? max_outstanding_[index] : std::min(max_outstanding_[index], kMaxOutstanding);
  }

  // Requests that the instance has outstanding, from the caller's loads, or from the router's own account with those of
  // others that the instance's last report showed (Router::ReportLoad).
  uint32_t outstanding(uint32_t index) const {
    if (loads_ != nullptr) return loads_[index].outstanding;
    return Outstanding(SlotOf(index), OwnOutstanding(SlotOf(index)));
  }
  // Bytes that it has yet to prefill (Load::pending_bytes), likewise.
  uint64_t pending_bytes(uint32_t index) const {
    return loads_ != nullptr ? loads_[index].pending_bytes : Pending(SlotOf(index));
  }

  // Whether the instance may be chosen at all: it has weight, and is neither draining nor excluded by the request.
  bool available(uint32_t index) const { return !closed_[index] && !(excluded_ != nullptr && Excluded(index)); }
  // Whether it is available and below its hard bound, for which the router's own requests count alone: a report may be
  // old, and must not close an instance.
  bool eligible(uint32_t index) const {
    const uint32_t bounded = loads_ != nullptr ? loads_[index].outstanding : OwnOutstanding(SlotOf(index));
    return available(index) && bounded < max_outstanding(index);
  }

  // The request's prefix, within its scope. (RANDOM and LEAST_OUTSTANDING_REQUESTS get the empty key: hashing a prompt
  // is most of a decision's cost.)
  const PrefixKey& key() const { return *key_; }
  // 64 random bits, the same throughout one request.
  uint64_t random() const { return random_; }
  // For RendezvousFirst, RendezvousRank and RendezvousOrder.
  const RendezvousNodes& nodes() const { return nodes_; }

 private:
  friend class internal::Considered;
  friend class internal::FleetViewBuilder;
  FleetView() = default;

  // A slot (src/state/layout.h) begins with the words of its count, its pending bytes and those of others, and the
  // number of others' requests.
  const unsigned char* SlotOf(uint32_t index) const { return words_ + words_stride_ * slots_[index]; }
  template <typename Word>
  static Word Read(const unsigned char* place, std::memory_order order) {
    return reinterpret_cast<const std::atomic<Word>*>(place)->load(order);
  }
  static uint32_t OwnOutstanding(const unsigned char* slot) {
    return static_cast<uint32_t>(Read<uint64_t>(slot, std::memory_order_acquire) & kMaxOutstanding);
  }
  static uint32_t Outstanding(const unsigned char* slot, uint32_t own) {
    const uint64_t all = uint64_t{own} + Read<uint32_t>(slot + 24, std::memory_order_relaxed);
    return static_cast<uint32_t>(std::min<uint64_t>(all, UINT32_MAX));
  }
  static uint64_t Pending(const unsigned char* slot) {
    const auto own = Read<int64_t>(slot + 8, std::memory_order_relaxed);
    return (own < 0 ? 0 : static_cast<uint64_t>(own)) + Read<uint64_t>(slot + 16, std::memory_order_relaxed);
  }
  bool Excluded(uint32_t index) const { return (excluded_[index / 64] >> (index % 64) & 1) != 0; }

  RendezvousNodes nodes_{};
  const internal::OrderFinder* order_ = nullptr;
  const std::string_view* ids_ = nullptr;
  const uint32_t* max_outstanding_ = nullptr;
  const uint8_t* closed_ = nullptr;     // Whether it drains or has no weight.
  const uint64_t* excluded_ = nullptr;  // A bit an instance, or nullptr.
  const Load* loads_ = nullptr;         // The caller's, or nullptr: the router's own words.
  const unsigned char* words_ = nullptr;
  size_t words_stride_ = 0;
  const uint32_t* slots_ = nullptr;
  const PrefixKey* key_ = nullptr;
  uint64_t random_ = 0;
};

// What a strategy answers.
struct Choice {
  // kNoInstance: nobody is eligible, the request is refused.
  uint32_t instance = kNoInstance;
  // What the choice rests on: it is reserved only if outstanding() is less at that very moment, and else
  // the strategy is asked again. For "the least", the count that was seen, plus one; for "below its bound", the bound.
  // After 1,000 races lost only the hard bound counts, which holds in any case. Route() has no race to lose, and
  // doesn't look at it.
  uint32_t limit = UINT32_MAX;
  Reason reason = Reason::kCustom;
  // For Decision's fields of the same names, as they are; uncached_bytes are pending until the first token.
  uint32_t home = kNoInstance;
  uint32_t rank = 0;
  uint64_t matched_bytes = 0;
  uint64_t uncached_bytes = 0;
};

// A rule that chooses an instance. One object serves all threads at once.
class PREFIXROUTE_EXPORT RoutingStrategy {
 public:
  virtual ~RoutingStrategy();

  // Chooses one of the instances for which fleet.eligible() is true, or none. Called on the hot path, by many threads
  // at once: must not block, throw, or call the router. An instance that is not available() or a reason that is none
  // fails the request with Internal; one that is full is asked for again, and refused in the end.
  virtual Choice Choose(const FleetView& fleet) const noexcept = 0;

 protected:
  RoutingStrategy() = default;
  RoutingStrategy(const RoutingStrategy&) = default;
  RoutingStrategy& operator=(const RoutingStrategy&) = default;
};

}  // namespace prefixroute

#endif  // PREFIXROUTE_STRATEGY_H_
