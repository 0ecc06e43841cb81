// SPDX-License-Identifier: Apache-2.0
//
// The homes of a prefix, by how much traffic each part of it carries.
//
// Walk the depths from the shallowest. A part that carries the share s of all requests needs about s * N of the N
// instances: of those that the shallower parts left, as many stay, the first by rendezvous of this part's fingerprint.
// So what everybody sends stays everywhere, an application's prompt narrows to a few instances, a conversation to one;
// and a longer prompt's home lies among its parent's. Nothing but the shares is remembered, and those every replica of
// a gateway sees alike.

#ifndef PREFIXROUTE_SRC_STRATEGY_NESTED_HOMES_H_
#define PREFIXROUTE_SRC_STRATEGY_NESTED_HOMES_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "prefixroute/prefix_key.h"
#include "prefixroute/rendezvous.h"
#include "src/fleet/fleet.h"

namespace prefixroute::internal {

class NestedHomes {
 public:
  // A part that needs more instances than this leaves the choice to those below it.
  static constexpr size_t kMaxCandidates = 64;
  // `wanted(i)` says how many instances the part to depth i needs, at least 1. One pass over the instances, plus
  // O(kMaxCandidates * log(kMaxCandidates)) for each part that needs several. The fleet must outlive this.
  template <typename Wanted>
  NestedHomes(const Fleet& fleet, const PrefixKey& key, Wanted wanted) : fleet_(fleet), order_(key.value()) {
    size_t left = fleet.size();
    bool narrowed = false;
    for (size_t i = 0; i < key.depth_count() && left > 1; ++i) {
      const size_t needed = wanted(i);
      if (needed < left && needed <= kMaxCandidates) {
        if (narrowed) {
          SortFirst(left, key.fingerprint(i));
          left = needed;
        } else {
          order_ = key.fingerprint(i);
          left = count_ = FindFirst(needed);
          narrowed = true;
        }
      }
      if (narrowed) {
        std::fill_n(deepest_.begin(), left, i);
      } else {
        everywhere_ = i;
      }
    }
    if (narrowed && left > 1) SortFirst(left, key.value());
    if (count_ == 0) FindFirst(1);
    home_ = candidates_[0];
  }

  // kNoInstance where no instance has weight.
  uint32_t home() const { return home_; }

  // The homes of the parts, the deepest first. Empty where each part needs all instances.
  const uint32_t* begin() const { return candidates_.data(); }
  const uint32_t* end() const { return candidates_.data() + count_; }

  // The index of the deepest depth whose part `candidate`, from begin() to end(), is a home of.
  size_t DeepestOf(const uint32_t* candidate) const { return deepest_[candidate - begin()]; }
  // That of the deepest part that all instances are homes of; kNone where there is none.
  static constexpr size_t kNone = SIZE_MAX;
  size_t everywhere() const { return everywhere_; }

  // The prefix's own order: the homes of its parts, then all others. `index` has weight; OrderFinder::Rank() says how
  // far it is counted. O(instances).
  uint32_t RankOf(uint32_t index) const {
    for (size_t c = 0; c < count_; ++c) {
      if (candidates_[c] == index) return static_cast<uint32_t>(c + 1);
    }
    return fleet_.order().Rank(order_, index);
  }
  // Writes the first `room` instances of that order for which eligible(index) is true, and returns how many it wrote.
  // O(instances * (kMaxCandidates + log(room))).
  template <typename Eligible>
  size_t Order(Eligible eligible, uint32_t* out, size_t room) const {
    size_t written = 0;
    for (const uint32_t candidate : *this) {
      if (written < room && eligible(candidate)) out[written++] = candidate;
    }
    const auto is_rest = [&](uint32_t i) { return eligible(i) && std::find(begin(), end(), i) == end(); };
    return written + fleet_.order().Order(order_, is_rest, out + written, room - written);
  }
  // The key that orders those that are home of no part.
  uint64_t order() const { return order_; }

 private:
  // Makes the first `count` of all instances in order_ candidates, of whom there may be fewer; kNoInstance for one, if
  // there is none.
  size_t FindFirst(size_t count) {
    const auto has_weight = [](uint32_t) { return true; };
    if (count > 1) return fleet_.order().Order(order_, has_weight, candidates_.data(), count);
    candidates_[0] = fleet_.order().First(order_, has_weight);
    return candidates_[0] != kNoInstance ? 1 : 0;
  }
  void SortFirst(size_t count, uint64_t key) {
    struct Scored {
      RendezvousScore score;
      uint32_t index;
    };
    std::array<Scored, kMaxCandidates> scored;
    for (size_t c = 0; c < count; ++c) scored[c] = {ScoreOf(fleet_.nodes(), key, candidates_[c]), candidates_[c]};
    std::sort(scored.begin(), scored.begin() + static_cast<ptrdiff_t>(count),
              [](const Scored& a, const Scored& b) { return Precedes(a.score, b.score); });
    for (size_t c = 0; c < count; ++c) candidates_[c] = scored[c].index;
  }

  const Fleet& fleet_;
  uint64_t order_;
  uint32_t home_;
  size_t count_ = 0;
  size_t everywhere_ = kNone;
  std::array<uint32_t, kMaxCandidates> candidates_;
  std::array<size_t, kMaxCandidates> deepest_;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_STRATEGY_NESTED_HOMES_H_
