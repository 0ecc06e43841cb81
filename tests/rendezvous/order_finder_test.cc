// SPDX-License-Identifier: Apache-2.0

#include "src/rendezvous/order_finder.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/rendezvous.h"
#include "tests/rendezvous/nodes.h"

namespace prefixroute::internal {
namespace {

constexpr uint64_t kGreatestWeight = (uint64_t{1} << 48) - 1;

enum class Weights {
  kEqual,
  kEqualButSomeZero,
  kThreeClasses,
  kAllDifferent,
  kFarApart,
  kOneIsHeavy,
  kOneIsLight,
  kZero
};

uint64_t RandomWeight(Weights weights, uint32_t index, std::mt19937_64& random) {
  switch (weights) {
    case Weights::kEqual:
      return 3 * kWeightUnit;
    case Weights::kEqualButSomeZero:
      return random() % 8 == 0 ? 0 : kWeightUnit;
    case Weights::kThreeClasses:
      return kWeightUnit << random() % 3;
    case Weights::kAllDifferent:
      return kWeightUnit + random() % (4 * kWeightUnit);
    case Weights::kFarApart:
      return random() % 9 == 0 ? 0 : uint64_t{1} << random() % 41;
    case Weights::kOneIsHeavy:
      return index == 3 ? kGreatestWeight : 1;
    case Weights::kOneIsLight:
      return index == 3 ? 1 : kGreatestWeight;
    case Weights::kZero:
      return 0;
  }
  return 0;
}

// The hashes all differ, unless some shall be equal: then about a quarter is one of three.
OwnedNodes FleetOf(uint32_t size, Weights weights, bool equal_hashes, std::mt19937_64& random) {
  OwnedNodes nodes = RandomNodes(size, random);
  for (uint32_t i = 0; i < size; ++i) {
    if (!equal_hashes) nodes.hashes[i] = random();
    nodes.weights[i] = RandomWeight(weights, i, random);
  }
  return nodes;
}

class Eligibility {
 public:
  // So many of a thousand are eligible.
  Eligibility(uint64_t per_mille, uint64_t seed) : per_mille_(per_mille), seed_(seed) {}
  bool operator()(uint32_t index) const { return MixBits(seed_ ^ index) % 1000 < per_mille_; }

 private:
  uint64_t per_mille_;
  uint64_t seed_;
};

void ExpectTheAnswersOfTheHeader(const OrderFinder& finder, const RendezvousNodes& nodes, uint64_t key,
                                 std::mt19937_64& random) {
  constexpr uint32_t kUntouched = 0xdeadbeef;
  for (const uint64_t per_mille : {1000, 900, 300, 20, 0}) {
    const Eligibility eligible(per_mille, random());
    const uint32_t first = RendezvousFirst(nodes, key, eligible);
    ASSERT_EQ(finder.First(key, eligible), first) << per_mille;
    for (const size_t room : {size_t{0}, size_t{1}, size_t{2}, size_t{4}, size_t{9}, size_t{30}, size_t{64}, size_t{65},
                              size_t{nodes.size}, nodes.size + size_t{1}}) {
      std::vector<uint32_t> expected(room + 1, kUntouched);
      std::vector<uint32_t> out = expected;
      const size_t count = RendezvousOrder(nodes, key, eligible, expected.data(), room);
      ASSERT_EQ(finder.Order(key, eligible, out.data(), room), count) << "room " << room << ", " << per_mille;
      out.resize(count);
      expected.resize(count);
      ASSERT_EQ(out, expected) << "room " << room << ", " << per_mille;
    }
  }
  // Of the first few and of any.
  std::vector<uint32_t> asked(4);
  asked.resize(RendezvousOrder(
      nodes, key, [](uint32_t) { return true; }, asked.data(), asked.size()));
  for (int i = 0; i < 4 && nodes.size != 0; ++i) asked.push_back(static_cast<uint32_t>(random() % nodes.size));
  for (const uint32_t index : asked) {
    if (nodes.weights[index] == 0) continue;
    ASSERT_EQ(finder.Rank(key, index), std::min(RendezvousRank(nodes, key, index), OrderFinder::kGreatestRank + 1))
        << index;
  }
}

void ExpectTheAnswersOfTheHeaderFor(uint32_t size, int keys, std::mt19937_64& random) {
  const Runnable<ScanKernels> scans = RunnableScans();
  for (const Weights weights :
       {Weights::kEqual, Weights::kEqualButSomeZero, Weights::kThreeClasses, Weights::kAllDifferent, Weights::kFarApart,
        Weights::kOneIsHeavy, Weights::kOneIsLight, Weights::kZero}) {
    for (const bool equal_hashes : {false, true}) {
      const OwnedNodes owned = FleetOf(size, weights, equal_hashes, random);
      const RendezvousNodes nodes = owned.view();
      for (size_t k = 0; k < scans.count; ++k) {
        SCOPED_TRACE("size " + std::to_string(size) + ", weights " + std::to_string(static_cast<int>(weights)) +
                     ", kernel " + std::to_string(k));
        const OrderFinder finder(nodes, *scans.kernels[k]);
        for (int i = 0; i < keys; ++i) {
          // A key that is a hash makes the least score that there is.
          const uint64_t key = i == 1 && size != 0 ? nodes.hashes[random() % size] : random();
          ASSERT_NO_FATAL_FAILURE(ExpectTheAnswersOfTheHeader(finder, nodes, key, random));
        }
      }
    }
  }
}

TEST(OrderFinderTest, GivesTheAnswersOfTheHeaderForSmallFleets) {
  std::mt19937_64 random(1);
  for (uint32_t size = 0; size <= 70; ++size) {
    ASSERT_NO_FATAL_FAILURE(ExpectTheAnswersOfTheHeaderFor(size, 10, random));
  }
}

TEST(OrderFinderTest, GivesTheAnswersOfTheHeaderForLargeFleets) {
  std::mt19937_64 random(2);
  for (const uint32_t size : {128, 300, 1024, 2500}) {
    ASSERT_NO_FATAL_FAILURE(ExpectTheAnswersOfTheHeaderFor(size, 4, random));
  }
}

// Many keys, so that the first floor leaves everybody out for some, and the best come by rounding's breadth for others.
TEST(OrderFinderTest, FindsTheFirstOfEveryKey) {
  std::mt19937_64 random(3);
  for (const Weights weights : {Weights::kEqual, Weights::kThreeClasses, Weights::kAllDifferent, Weights::kFarApart}) {
    const OwnedNodes owned = FleetOf(100, weights, false, random);
    const OrderFinder finder(owned.view());
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t key = random();
      const auto everyone = [](uint32_t) { return true; };
      const uint32_t first = RendezvousFirst(owned.view(), key, everyone);
      ASSERT_EQ(finder.First(key, everyone), first);
      ASSERT_EQ(finder.Rank(key, first), 1u);
      uint32_t second = kNoInstance;
      const auto not_first = [&](uint32_t index) { return index != first; };
      ASSERT_EQ(finder.Order(key, not_first, &second, 1), 1u);
      ASSERT_EQ(second, RendezvousFirst(owned.view(), key, not_first));
      ASSERT_EQ(finder.Rank(key, second), 2u);
    }
  }
}

// The odd number by which `factor` is 1, by Newton's iteration.
uint64_t Inverse(uint64_t factor) {
  uint64_t inverse = factor;
  for (int i = 0; i < 6; ++i) inverse *= 2 - factor * inverse;
  return inverse;
}

// MixBits backwards: what makes any hash that a test wants.
uint64_t Unmix(uint64_t bits) {
  bits ^= bits >> 33;
  bits *= Inverse(0xc4ceb9fe1a85ec53ULL);
  bits ^= bits >> 33;
  bits *= Inverse(0xff51afd7ed558ccdULL);
  return bits ^ bits >> 33;
}

// The least hash of a heavier instance that still comes before a lighter one, and the one below it, which doesn't:
// rounding must not take the first for the second.
TEST(OrderFinderTest, LeavesNobodyOutAtTheBorder) {
  constexpr uint64_t kKey = 0x0123456789abcdef;
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t light = 1 + (random() >> 16 >> random() % 48);
    const uint64_t heavy = light + 1 + (kGreatestWeight - light) / (1 + (random() >> random() % 64));
    if (heavy > kGreatestWeight || light >= heavy) continue;
    const uint64_t hash = UINT64_MAX - (random() >> random() % 64);
    uint64_t below = 0;
    uint64_t border = UINT64_MAX;
    const auto precedes = [&](uint64_t other) { return Precedes({other, heavy, 1}, {hash, light, 0}); };
    if (!precedes(border) || precedes(below)) continue;
    while (border - below > 1) {
      const uint64_t middle = below + (border - below) / 2;
      (precedes(middle) ? border : below) = middle;
    }
    for (const bool at_border : {true, false}) {
      const OwnedNodes owned{{Unmix(hash) ^ kKey, Unmix(at_border ? border : below) ^ kKey}, {light, heavy}, {0, 1}};
      const OrderFinder finder(owned.view());
      ASSERT_EQ(RendezvousHash(kKey, owned.hashes[0]), hash);
      ASSERT_EQ(finder.Rank(kKey, 0), at_border ? 2u : 1u) << light << " and " << heavy << ", " << hash;
      ASSERT_EQ(finder.First(kKey, [](uint32_t) { return true; }), at_border ? 1u : 0u);
    }
  }
}

// What a user's own strategy asks of an instance may be dear.
TEST(OrderFinderTest, AsksFewInstances) {
  std::mt19937_64 random(4);
  const OwnedNodes owned = FleetOf(1000, Weights::kThreeClasses, false, random);
  const OrderFinder finder(owned.view());
  int asked = 0;
  for (int i = 0; i < 1000; ++i) {
    finder.First(random(), [&](uint32_t) {
      ++asked;
      return true;
    });
  }
  EXPECT_LT(asked, 8'000);
}

TEST(OrderFinderTest, OfNoInstancesFindsNone) {
  const OrderFinder none;
  const auto everyone = [](uint32_t) { return true; };
  uint32_t out = 77;
  EXPECT_EQ(none.First(1, everyone), kNoInstance);
  EXPECT_EQ(none.Order(1, everyone, &out, 1), 0u);
  EXPECT_EQ(out, 77u);
}

}  // namespace
}  // namespace prefixroute::internal
