// SPDX-License-Identifier: Apache-2.0
//
// Weighted rendezvous hashing: from a key, an order of all instances that everybody computes alike.
//
// Every instance gets a score from (key, instance); the instances in order of score are the key's *order*, the first
// of them its *home*. Taking an instance away leaves the order of the others as it was, so only its own keys move,
// each to its second; adding one takes only the keys that it comes first for.
// Thaler, Ravishankar: Using name-based mappings to increase hit rates (1998). Weights after Schindelhauer, Schomaker:
// Weighted distributed hash tables (2005): the least -log(u) / weight comes first, u being the hash as a number in
// (0, 1), so an instance is first for a share of the keys in proportion to its weight.
//
// Header-only, pure, integers alone: the same order to the last bit on every machine, compiler and flag. Nothing here
// allocates, locks or fails.

#ifndef PREFIXROUTE_RENDEZVOUS_H_
#define PREFIXROUTE_RENDEZVOUS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "prefixroute/instance.h"

namespace prefixroute {

__extension__ using Uint128 = unsigned __int128;

// What an Instance::weight of 1 counts in an order: weights are integers, in steps of 1 / kWeightUnit.
inline constexpr uint64_t kWeightUnit = uint64_t{1} << 20;

// Instances as the order sees them: arrays of `size` elements with one index.
struct RendezvousNodes {
  const uint64_t* hashes;   // A well-mixed 64-bit hash of the id.
  const uint64_t* weights;  // Times kWeightUnit; below 2^48. A node of weight 0 has no place in an order.
  const uint32_t* ties;     // The node's place when ids are sorted by their bytes; the lower wins an equal score.
  uint32_t size;
};

// MurmurHash3's 64-bit finaliser: every bit of the result depends on every bit of `bits`. It is what makes the
// scores of two instances independent: key ^ hash without it sends all that overflows from one instance to one
// neighbour.
constexpr uint64_t MixBits(uint64_t bits) {
  bits ^= bits >> 33;
  bits *= 0xff51afd7ed558ccdULL;
  bits ^= bits >> 33;
  bits *= 0xc4ceb9fe1a85ec53ULL;
  bits ^= bits >> 33;
  return bits;
}

// The hash of an instance for a key. Among equal weights, the greater comes first.
constexpr uint64_t RendezvousHash(uint64_t key, uint64_t instance_hash) { return MixBits(key ^ instance_hash); }

namespace internal {

inline constexpr int kLog2FractionBits = 57;
inline constexpr int kLog2SegmentBits = 6;
inline constexpr size_t kLog2Segments = size_t{1} << kLog2SegmentBits;

// log2(mantissa / 2^63) for a mantissa in [2^63, 2^64), rounded down: by repeated squaring, one exact bit a step.
constexpr uint64_t ExactLog2(uint64_t mantissa) {
  uint64_t result = 0;
  for (int bit = 0; bit < kLog2FractionBits; ++bit) {
    const Uint128 square = static_cast<Uint128>(mantissa) * mantissa;
    const bool carries = (square >> 127) != 0;
    result = (result << 1) | (carries ? 1 : 0);
    mantissa = static_cast<uint64_t>(square >> (carries ? 64 : 63));
  }
  return result;
}

// log2(1 + i / (2 * kLog2Segments)) for every i: the two ends and the middle of each segment.
constexpr std::array<uint64_t, 2 * kLog2Segments + 1> MakeLog2Table() {
  std::array<uint64_t, 2 * kLog2Segments + 1> table{};
  for (uint64_t i = 0; i < 2 * kLog2Segments; ++i) {
    table[i] = ExactLog2((uint64_t{1} << 63) + (i << (62 - kLog2SegmentBits)));
  }
  table[2 * kLog2Segments] = uint64_t{1} << kLog2FractionBits;
  return table;
}
inline constexpr auto kLog2Table = MakeLog2Table();

}  // namespace internal

// -log2(u) with 57 fraction bits, for u = (hash | 1) / 2^64: from 0 to 64 * 2^57. Never rises as `hash` rises.
// Within each of 64 segments of the mantissa it is the parabola through three exact points, whose absolute error is
// below 1e-7 and whose slope stays positive. One multiplication in 128 bits; no libm, whose last bit may differ.
constexpr uint64_t NegativeLog2(uint64_t hash) {
  hash |= 1;
  const int leading_zeros = __builtin_clzll(hash);
  const uint64_t fraction = (hash << leading_zeros) << 1;  // Without the leading one.
  const uint64_t segment = fraction >> (64 - internal::kLog2SegmentBits);
  // The place within the segment, with 32 bits.
  const uint64_t place = (fraction << internal::kLog2SegmentBits) >> 32;
  const uint64_t* point = &internal::kLog2Table[2 * segment];
  const uint64_t rise = point[2] - point[0];
  // A logarithm is concave: its middle lies above the chord's. Four times that is the parabola's factor.
  const uint64_t bulge = 4 * (point[1] - point[0]) - 2 * rise;
  const Uint128 slope =
      (static_cast<Uint128>(rise) << 32) + static_cast<Uint128>(bulge) * ((uint64_t{1} << 32) - place);
  const uint64_t log2_fraction = point[0] + static_cast<uint64_t>((slope * place) >> 64);
  const uint64_t whole = static_cast<uint64_t>(leading_zeros + 1) << internal::kLog2FractionBits;
  return whole - log2_fraction;
}

// What places one instance in a key's order. Compare with Precedes().
struct RendezvousScore {
  uint64_t hash;  // RendezvousHash().
  uint64_t weight;
  uint32_t tie;
};

constexpr RendezvousScore ScoreOf(const RendezvousNodes& nodes, uint64_t key, uint32_t index) {
  return {RendezvousHash(key, nodes.hashes[index]), nodes.weights[index], nodes.ties[index]};
}

// A total order: the least -log2(u) / weight first, compared exactly (crosswise, not divided); then the greater hash;
// then the lesser id. Between equal weights that is the order of the hashes, since NegativeLog2 never rises, so no
// logarithm is taken there, and a change of one weight never swaps two others.
constexpr bool Precedes(const RendezvousScore& a, const RendezvousScore& b) {
  if (a.weight != b.weight) {
    const Uint128 left = static_cast<Uint128>(NegativeLog2(a.hash)) * b.weight;
    const Uint128 right = static_cast<Uint128>(NegativeLog2(b.hash)) * a.weight;
    if (left != right) return left < right;
  }
  if (a.hash != b.hash) return a.hash > b.hash;
  return a.tie < b.tie;
}

// The first instance in the key's order for which eligible(index) is true; kNoInstance where there is none. O(size),
// one pass; `eligible` is asked only of instances that would come first so far.
template <typename Eligible>
constexpr uint32_t RendezvousFirst(const RendezvousNodes& nodes, uint64_t key, Eligible eligible) {
  uint32_t best = kNoInstance;
  RendezvousScore best_score{};
  for (uint32_t i = 0; i < nodes.size; ++i) {
    const RendezvousScore score = ScoreOf(nodes, key, i);
    // Nearly all instances of equal weights end here.
    if (score.hash < best_score.hash && score.weight == best_score.weight) continue;
    if (score.weight == 0 || (best != kNoInstance && !Precedes(score, best_score))) continue;
    if (!eligible(i)) continue;
    best = i;
    best_score = score;
  }
  return best;
}

// The place of `index` in the key's order, 1 for the home. Its weight must not be 0. O(size).
constexpr uint32_t RendezvousRank(const RendezvousNodes& nodes, uint64_t key, uint32_t index) {
  const RendezvousScore own = ScoreOf(nodes, key, index);
  uint32_t rank = 1;
  for (uint32_t i = 0; i < nodes.size; ++i) {
    if (nodes.weights[i] != 0 && i != index && Precedes(ScoreOf(nodes, key, i), own)) ++rank;
  }
  return rank;
}

// Writes the first `room` instances of the key's order for which eligible(index) is true to `out`, and returns how
// many it wrote. O(size * log(room)); a heap in `out` itself, no other memory.
template <typename Eligible>
size_t RendezvousOrder(const RendezvousNodes& nodes, uint64_t key, Eligible eligible, uint32_t* out, size_t room) {
  const auto precedes = [&](uint32_t a, uint32_t b) {
    return Precedes(ScoreOf(nodes, key, a), ScoreOf(nodes, key, b));
  };
  if (room == 0) return 0;
  size_t count = 0;
  RendezvousScore last{};  // Of out[0], once `out` is full.
  for (uint32_t i = 0; i < nodes.size; ++i) {
    if (nodes.weights[i] == 0) continue;
    if (count == room) {
      if (!Precedes(ScoreOf(nodes, key, i), last) || !eligible(i)) continue;
      std::pop_heap(out, out + count, precedes);
      out[count - 1] = i;
    } else {
      if (!eligible(i)) continue;
      out[count++] = i;
    }
    std::push_heap(out, out + count, precedes);
    if (count == room) last = ScoreOf(nodes, key, out[0]);
  }
  std::sort_heap(out, out + count, precedes);
  return count;
}

}  // namespace prefixroute

#endif  // PREFIXROUTE_RENDEZVOUS_H_
