// SPDX-License-Identifier: Apache-2.0

#include "src/fleet/fleet.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "src/hash/hash.h"

namespace prefixroute::internal {
namespace {

// Exact but for the last rounding: a product with a power of two.
uint64_t WeightInUnits(double weight) { return static_cast<uint64_t>(std::llround(weight * kWeightUnit)); }

}  // namespace

Fleet::Fleet(absl::Span<const Instance> instances, std::vector<uint8_t> draining, std::vector<uint32_t> slots)
    : instances_(instances.begin(), instances.end()),
      ties_(instances.size()),
      by_id_(instances.size()),
      draining_(std::move(draining)),
      slots_(std::move(slots)) {
  for (const Instance& instance : instances_) {
    ids_.push_back(instance.id);
    hashes_.push_back(HashBytes(instance.id));
    weights_.push_back(WeightInUnits(instance.weight));
    max_outstanding_.push_back(instance.max_outstanding == 0 ? UINT32_MAX : instance.max_outstanding);
  }
  std::iota(by_id_.begin(), by_id_.end(), 0);
  std::sort(by_id_.begin(), by_id_.end(), [this](uint32_t a, uint32_t b) { return ids_[a] < ids_[b]; });
  for (uint32_t place = 0; place < size(); ++place) ties_[by_id_[place]] = place;
  if (!slots_.empty()) by_slot_.resize(*std::max_element(slots_.begin(), slots_.end()) + size_t{1}, kNoInstance);
  Uint128 total_weight = 0;
  uint32_t weighted = 0;
  for (uint32_t i = 0; i < size(); ++i) {
    by_slot_[slots_[i]] = i;
    total_weight += weights_[i];
    weighted += weights_[i] != 0 ? 1 : 0;
    closed_.push_back(draining_[i] != 0 || weights_[i] == 0 ? 1 : 0);
  }
  for (const uint64_t weight : weights_) {
    load_factors_.push_back(weight == 0 ? 0
                                        : static_cast<double>(total_weight) / weighted / static_cast<double>(weight));
  }
  for (const uint32_t i : by_id_) {
    members_.push_back({load_factors_[i], i, slots_[i], max_outstanding_[i], closed_[i] != 0});
  }
  nodes_ = {hashes_.data(), weights_.data(), ties_.data(), size()};
  order_ = OrderFinder(nodes_);
}

uint32_t Fleet::Find(std::string_view id) const {
  const auto found = std::lower_bound(by_id_.begin(), by_id_.end(), id,
                                      [this](uint32_t index, std::string_view wanted) { return ids_[index] < wanted; });
  return found != by_id_.end() && ids_[*found] == id ? *found : kNoInstance;
}

uint64_t Fleet::Fingerprint() const {
  uint64_t fingerprint = size();
  for (uint32_t index : by_id_) {
    fingerprint = MixBits(fingerprint ^ hashes_[index]);
    fingerprint = MixBits(fingerprint ^ weights_[index]);
  }
  return fingerprint;
}

}  // namespace prefixroute::internal
