// SPDX-License-Identifier: Apache-2.0
//
// The instances as the hot path reads them: an immutable structure of arrays, in the order that the caller gave.

#ifndef PREFIXROUTE_SRC_FLEET_FLEET_H_
#define PREFIXROUTE_SRC_FLEET_FLEET_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "prefixroute/instance.h"
#include "prefixroute/rendezvous.h"
#include "src/rendezvous/order_finder.h"

namespace prefixroute::internal {

// What a decision has to know of an instance beside its load, in one place.
struct Member {
  double load_factor;  // See Fleet::load_factors().
  uint32_t index;
  uint32_t slot;
  uint32_t max_outstanding;
  bool closed;
};

class Fleet {
 public:
  // `instances` are valid (router/validate.h); `draining` and `slots`, where the state counts each, have their length.
  Fleet(absl::Span<const Instance> instances, std::vector<uint8_t> draining, std::vector<uint32_t> slots);
  // Its views point into itself.
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  uint32_t size() const { return static_cast<uint32_t>(instances_.size()); }
  const std::vector<Instance>& instances() const { return instances_; }
  const std::vector<std::string_view>& ids() const { return ids_; }
  const std::vector<uint32_t>& max_outstanding() const { return max_outstanding_; }
  const std::vector<uint8_t>& draining() const { return draining_; }
  const std::vector<uint8_t>& closed() const { return closed_; }  // Whether it drains or has no weight.
  const std::vector<uint32_t>& slots() const { return slots_; }
  const std::vector<Member>& members() const { return members_; }  // Sorted by the bytes of the ids.
  const RendezvousNodes& nodes() const { return nodes_; }
  // First, Rank and Order of the nodes, fast.
  const OrderFinder& order() const { return order_; }

  // The index of the instance that the state counts in `slot`, or kNoInstance.
  uint32_t IndexOfSlot(uint32_t slot) const { return slot < by_slot_.size() ? by_slot_[slot] : kNoInstance; }
  // What a unit of load counts there, in the fleet's mean: 1 / weight, with weights whose mean is 1.
  const std::vector<double>& load_factors() const { return load_factors_; }

  // The index of the id, or kNoInstance. O(log(size)).
  uint32_t Find(std::string_view id) const;

  // A hash of all ids and weights that doesn't depend on their order here.
  uint64_t Fingerprint() const;

 private:
  std::vector<Instance> instances_;
  std::vector<std::string_view> ids_;
  std::vector<uint64_t> hashes_;
  std::vector<uint64_t> weights_;
  std::vector<uint32_t> ties_;
  std::vector<uint32_t> by_id_;  // Indexes, sorted by the bytes of the ids.
  std::vector<Member> members_;  // Likewise.
  std::vector<uint32_t> max_outstanding_;
  std::vector<uint8_t> draining_;
  std::vector<uint8_t> closed_;
  std::vector<uint32_t> slots_;
  std::vector<uint32_t> by_slot_;
  std::vector<double> load_factors_;
  RendezvousNodes nodes_;
  OrderFinder order_;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_FLEET_FLEET_H_
