// SPDX-License-Identifier: Apache-2.0

#include "src/rendezvous/order_finder.h"

namespace prefixroute::internal {
namespace {

// More than NegativeLog2 is off by (rendezvous.h): 1.2e-7.
constexpr uint64_t kNegativeLog2Error = uint64_t{1} << 34;
static_assert(internal::kLog2FractionBits == 57);

// ln(2) * 2^64, rounded up.
constexpr uint64_t kLn2 = 0xb17217f7d1cf79ac;

bool AllDiffer(std::vector<uint64_t> values) {
  std::sort(values.begin(), values.end());
  return std::adjacent_find(values.begin(), values.end()) == values.end();
}

}  // namespace

OrderFinder::OrderFinder(const RendezvousNodes& nodes, const ScanKernels& scan)
    : nodes_(nodes), scan_(&scan), steps_(nodes.size + size_t{kScanPadding}) {
  Uint128 sum = 0;
  for (uint32_t i = 0; i < nodes.size; ++i) {
    steps_[i] = nodes.hashes[i] ^ nodes.hashes[i] >> 33;
    greatest_weight_ = std::max(greatest_weight_, nodes.weights[i]);
    sum += nodes.weights[i];
  }
  if (sum == 0) return;
  plain_ = sum == static_cast<Uint128>(greatest_weight_) * nodes.size &&
           AllDiffer(std::vector<uint64_t>(nodes.hashes, nodes.hashes + nodes.size));
  if (sum == greatest_weight_) return;
  part_for_one_ = static_cast<uint64_t>((static_cast<Uint128>(greatest_weight_) << 64) / sum);
}

uint64_t OrderFinder::FloorOfLesserWeight(const RendezvousScore& score) const {
  // -log2(u) of whoever precedes is at most this, as no weight is greater.
  const Uint128 log = static_cast<Uint128>(NegativeLog2(score.hash)) * greatest_weight_ / score.weight;
  const Uint128 whole = log >> kLog2FractionBits;
  if (whole >= 64) return 0;
  // u = 2^-whole * 2^-x, and 2^-x >= 1 - x * ln(2) for an x from 0 to 1.
  const Uint128 x = log - (whole << kLog2FractionBits) + kNegativeLog2Error;
  const auto part = static_cast<uint64_t>(x * kLn2 >> kLog2FractionBits) + 1;
  return (0 - part) >> static_cast<int>(whole);
}

uint32_t OrderFinder::Rank(uint64_t key, uint32_t index) const {
  const RendezvousScore own = ScoreOf(nodes_, key, index);
  uint32_t rank = 1;
  if (plain_) {
    for (uint32_t i = 0; i < nodes_.size && rank <= kGreatestRank; i += kCountedAtOnce) {
      rank += scan_->count_above(&steps_[i], std::min(kCountedAtOnce, nodes_.size - i), key, own.hash);
    }
    return std::min(rank, kGreatestRank + 1);
  }
  const uint64_t floor = FloorOf(own);
  const bool scans = UINT64_MAX - floor <= kGreatestPart;
  for (uint32_t i = 0; rank <= kGreatestRank; ++i) {
    if (scans) i = scan_->find_at_least(steps_.data(), i, nodes_.size, key, floor);
    if (i >= nodes_.size) break;
    const RendezvousScore score = ScoreOf(nodes_, key, i);
    if (score.hash >= floor && score.weight != 0 && Precedes(score, own)) ++rank;
  }
  return rank;
}

}  // namespace prefixroute::internal
