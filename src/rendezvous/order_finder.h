// SPDX-License-Identifier: Apache-2.0
//
// The answers of RendezvousFirst, RendezvousRank and RendezvousOrder (rendezvous.h) for one fleet and many keys, bit
// for bit (a rank only as far as it is counted), at a fraction of the time.
//
// Whoever comes first has a hash near 2^64. So a pass by vectors (scan.h) picks out the few whose hashes reach a floor,
// and those alone are compared, by Precedes() like everywhere. A floor is a guess from how many are wanted; whether the
// guess left anybody out is known exactly afterwards, and then a lower one is tried. So guesses and rounding cost time
// at worst.

#ifndef PREFIXROUTE_SRC_RENDEZVOUS_ORDER_FINDER_H_
#define PREFIXROUTE_SRC_RENDEZVOUS_ORDER_FINDER_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "prefixroute/rendezvous.h"
#include "src/rendezvous/scan.h"

namespace prefixroute::internal {

// Immutable, 8 bytes an instance. What its nodes point to must outlive it and stay as it is.
class OrderFinder {
 public:
  OrderFinder() = default;  // Of no instances.
  // O(size * log(size)).
  explicit OrderFinder(const RendezvousNodes& nodes, const ScanKernels& scan = RunnableScans().widest());

  // RendezvousFirst(). May ask `eligible` of an instance more than once.
  template <typename Eligible>
  uint32_t First(uint64_t key, Eligible eligible) const {
    if (plain_ && nodes_.size <= kFew) {
      const uint32_t first = FirstOfFew(key);
      return eligible(first) ? first : RendezvousFirst(nodes_, key, eligible);
    }
    uint32_t first;
    return FindFirst(key, eligible, &first, 1, kWantedForFirst) == 0 ? kNoInstance : first;
  }

  // RendezvousRank() where that is at most kGreatestRank, and else kGreatestRank + 1, for it takes a look at most of
  // the instances to know the place of one far behind. The weight of `index` must not be 0.
  uint32_t Rank(uint64_t key, uint32_t index) const;
  static constexpr uint32_t kGreatestRank = 64;

  // RendezvousOrder(). May ask `eligible` of an instance more than once. Fast for a room of up to kGreatestRoom.
  template <typename Eligible>
  size_t Order(uint64_t key, Eligible eligible, uint32_t* out, size_t room) const {
    if (room == 0) return 0;
    if (room > kGreatestRoom) return RendezvousOrder(nodes_, key, eligible, out, room);
    const size_t wanted = room + 2 + static_cast<size_t>(3 * std::sqrt(static_cast<double>(room)));
    return FindFirst(key, eligible, out, room, wanted);
  }

 private:
  // The scores of so many are kept on the stack.
  static constexpr size_t kGreatestRoom = 64;
  // Among more scores than this a place is sought by bisection, if a comparison may need logarithms.
  static constexpr size_t kFewCompared = 8;
  // Up to so many instances are compared without a branch, which is faster than the calls of a scan.
  static constexpr uint32_t kFew = 48;
  // How many reach a floor is about Poisson's distribution: where 6 are expected, none does for e^-6 of the keys, a
  // quarter of a percent; where r + 3 sqrt(r) + 2 are, fewer than r do for about as many keys, whatever r is.
  static constexpr size_t kWantedForFirst = 6;
  // How much more to expect where too few came up, as not all are eligible.
  static constexpr size_t kWiden = 8;
  // Where a greater part of all hashes than this has to come up, a scan is no faster than to look at all.
  static constexpr uint64_t kGreatestPart = UINT64_MAX / 4;
  static constexpr size_t kIncomplete = SIZE_MAX;
  // Instances between two looks at whether a rank has grown too great to be counted on.
  static constexpr uint32_t kCountedAtOnce = 256;

  // The place of the greatest hash, where that is all that counts. At least one instance.
  uint32_t FirstOfFew(uint64_t key) const {
    uint32_t first = 0;
    uint64_t greatest = 0;
    for (uint32_t i = 0; i < nodes_.size; ++i) {
      const uint64_t hash = RendezvousHash(key, nodes_.hashes[i]);
      first = hash > greatest ? i : first;
      greatest = hash > greatest ? hash : greatest;
    }
    return first;
  }

  // Order(), for a room from 1 to kGreatestRoom; begins with a floor that `wanted` instances are expected to reach.
  template <typename Eligible>
  size_t FindFirst(uint64_t key, Eligible& eligible, uint32_t* out, size_t room, size_t wanted) const {
    for (;; wanted *= kWiden) {
      const Uint128 part = static_cast<Uint128>(wanted) * part_for_one_;
      const uint64_t floor = part > kGreatestPart ? 0 : UINT64_MAX - static_cast<uint64_t>(part);
      const size_t count = FindFirstAbove(floor, key, eligible, out, room);
      if (count != kIncomplete) return count;
    }
  }

  // The same in one pass over those whose hashes reach `floor`, all of them if that is 0. kIncomplete where others
  // might come before one found.
  template <typename Eligible>
  size_t FindFirstAbove(uint64_t floor, uint64_t key, Eligible& eligible, uint32_t* out, size_t room) const {
    RendezvousScore scores[kGreatestRoom];  // Of `out`.
    size_t count = 0;
    uint64_t floor_of_better = 0;  // What comes before the last of `out` reaches it, once that is full.
    for (uint32_t i = 0;; ++i) {
      if (floor != 0) {
        i = scan_->find_at_least(steps_.data(), i, nodes_.size, key, std::max(floor, floor_of_better));
      }
      if (i >= nodes_.size) break;
      const RendezvousScore score = ScoreOf(nodes_, key, i);
      if (score.hash < floor_of_better || score.weight == 0) continue;
      if ((count == room && !Precedes(score, scores[room - 1])) || !eligible(i)) continue;
      size_t place = count < room ? count++ : room - 1;  // The last makes way where there is no room left.
      if (!plain_ && place > kFewCompared) {
        const auto found = std::upper_bound(scores, scores + place, score, Precedes) - scores;
        std::move_backward(scores + found, scores + place, scores + place + 1);
        std::move_backward(out + found, out + place, out + place + 1);
        place = static_cast<size_t>(found);
      }
      for (; place > 0 && Precedes(score, scores[place - 1]); --place) {
        scores[place] = scores[place - 1];
        out[place] = out[place - 1];
      }
      scores[place] = score;
      out[place] = i;
      if (count == room) floor_of_better = FloorOf(scores[room - 1]);
    }
    return floor_of_better >= floor ? count : kIncomplete;
  }

  // What the hash of every instance that precedes `score` reaches; the nearer to the least of them, the better.
  uint64_t FloorOf(const RendezvousScore& score) const {
    // Whoever precedes the greatest weight has no lesser hash, whatever its own weight.
    return score.weight == greatest_weight_ ? score.hash : FloorOfLesserWeight(score);
  }
  uint64_t FloorOfLesserWeight(const RendezvousScore& score) const;

  RendezvousNodes nodes_{};
  const ScanKernels* scan_ = nullptr;
  std::vector<uint64_t> steps_;  // For the scan.
  // All weights are equal, and all hashes differ: the order is that of the hashes alone.
  bool plain_ = false;
  uint64_t greatest_weight_ = 0;
  // For one instance to be expected among those that come up, so great a part of 2^64 has to: greatest weight / sum of
  // weights. An instance's -log2(u) / weight is below a small t for the part t * ln(2) * weight of all keys, hence one
  // is expected below t = 1 / (ln(2) * sum); and whoever is has -log2(u) <= t * greatest weight, hence
  // u >= 1 - t * ln(2) * greatest weight.
  uint64_t part_for_one_ = UINT64_MAX;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_RENDEZVOUS_ORDER_FINDER_H_
