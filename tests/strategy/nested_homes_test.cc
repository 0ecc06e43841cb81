// SPDX-License-Identifier: Apache-2.0

#include "src/strategy/nested_homes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/fleet/fleet.h"
#include "tests/testing/fleet.h"

namespace prefixroute::internal {
namespace {

using test::MakeInstances;

Fleet FleetOf(const std::vector<Instance>& instances) {
  return Fleet(instances, std::vector<uint8_t>(instances.size()), std::vector<uint32_t>(instances.size()));
}

std::string RandomBytes(size_t size, std::mt19937_64& random) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

// How many instances the part with a fingerprint needs: what two prompts share needs the same for both.
using Wanted = std::function<uint32_t(uint64_t fingerprint, uint64_t depth)>;

NestedHomes HomesOf(const Fleet& fleet, const PrefixKey& key, const Wanted& wanted) {
  return NestedHomes(fleet, key, [&](uint32_t i) { return wanted(key.fingerprint(i), key.depth(i)); });
}

uint32_t One(uint64_t, uint64_t) { return 1; }

// All instances of weight that `left` has, in the order of `key`.
std::vector<uint32_t> Ordered(const Fleet& fleet, std::vector<uint32_t> left, uint64_t key) {
  const RendezvousNodes& nodes = fleet.nodes();
  std::sort(left.begin(), left.end(),
            [&](uint32_t a, uint32_t b) { return Precedes(ScoreOf(nodes, key, a), ScoreOf(nodes, key, b)); });
  return left;
}

std::vector<uint32_t> WithWeight(const Fleet& fleet) {
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < fleet.size(); ++i) {
    if (fleet.nodes().weights[i] != 0) all.push_back(i);
  }
  return all;
}

// What the walk leaves, from the definition; `order` becomes the whole order, the home first.
std::vector<uint32_t> LeftOf(const Fleet& fleet, const PrefixKey& key, const Wanted& wanted,
                             std::vector<uint32_t>* order = nullptr) {
  std::vector<uint32_t> left = WithWeight(fleet);
  std::vector<uint32_t> behind;  // Those that are out, in order.
  for (size_t i = 0; i < key.depth_count(); ++i) {
    const size_t needed = wanted(key.fingerprint(i), key.depth(i));
    if (needed >= left.size() || needed > NestedHomes::kMaxCandidates) continue;
    left = Ordered(fleet, left, key.fingerprint(i));
    behind.insert(behind.begin(), left.begin() + static_cast<ptrdiff_t>(needed), left.end());
    left.resize(needed);
  }
  left = Ordered(fleet, left, key.value());
  if (order != nullptr) {
    *order = left;
    order->insert(order->end(), behind.begin(), behind.end());
  }
  return left;
}

// The whole order as it is written, with which the ranks agree.
std::vector<uint32_t> ByRank(const Fleet& fleet, const NestedHomes& homes) {
  std::vector<uint32_t> order(fleet.size());
  order.resize(homes.Order([](uint32_t) { return true; }, order.data(), order.size()));
  EXPECT_THAT(order, ::testing::UnorderedElementsAreArray(WithWeight(fleet)));
  for (uint32_t place = 0; place < order.size(); ++place) {
    EXPECT_EQ(homes.RankOf(order[place]), std::min(place, OrderFinder::kGreatestRank) + 1);
  }
  return order;
}

TEST(NestedHomesTest, AColdPrefixsHomeIsTheFirstByItsShallowestPart) {
  std::mt19937_64 random(1);
  const Fleet fleet = FleetOf(MakeInstances(20));
  for (int round = 0; round < 200; ++round) {
    const std::string bytes = RandomBytes(1 + random() % 5'000, random);
    const PrefixKey key = MakePrefixKey(bytes);
    const uint32_t home = HomesOf(fleet, key, One).home();
    ASSERT_EQ(home, RendezvousFirst(fleet.nodes(), key.fingerprint(0), [](uint32_t) { return true; }));
    if (bytes.size() < 64) continue;
    // And so are all that begin alike.
    const PrefixKey other = MakePrefixKey(bytes.substr(0, 64) + RandomBytes(1'000, random));
    ASSERT_EQ(HomesOf(fleet, other, One).home(), home);
  }
}

TEST(NestedHomesTest, AColdPrefixMovesOnlyWithItsHome) {
  std::mt19937_64 random(2);
  const std::vector<Instance> instances = MakeInstances(7);
  const Fleet fleet = FleetOf(instances);
  for (int round = 0; round < 200; ++round) {
    const PrefixKey key = MakePrefixKey(RandomBytes(1'000, random));
    const std::vector<uint32_t> order = ByRank(fleet, HomesOf(fleet, key, One));
    for (uint32_t removed = 0; removed < 7; ++removed) {
      std::vector<Instance> rest = instances;
      rest.erase(rest.begin() + removed);
      const uint32_t home = HomesOf(FleetOf(rest), key, One).home();
      ASSERT_EQ(rest[home].id, instances[removed == order[0] ? order[1] : order[0]].id);
    }
  }
}

TEST(NestedHomesTest, APartLeavesTheFirstByItsFingerprintAsManyAsItNeeds) {
  std::mt19937_64 random(3);
  const Fleet fleet = FleetOf(MakeInstances(50));
  const PrefixKey key = MakePrefixKey(RandomBytes(10'000, random));
  // Everybody's to 128 bytes, nine instances' to 960, three instances' to 3,000.
  const auto wanted = [](uint64_t, uint64_t depth) { return depth <= 128 ? 50 : depth <= 960 ? 9 : 3; };
  const NestedHomes homes = HomesOf(fleet, key, wanted);
  const std::vector<uint32_t> nine = [&] {
    std::vector<uint32_t> first = Ordered(fleet, WithWeight(fleet), key.fingerprint(2));
    first.resize(9);
    return first;
  }();
  const size_t third = std::find(kPrefixDepths.begin(), kPrefixDepths.end(), 960) - kPrefixDepths.begin() + 1;
  std::vector<uint32_t> three = Ordered(fleet, nine, key.fingerprint(third));
  three.resize(3);

  std::vector<uint32_t> candidates(homes.begin(), homes.end());
  ASSERT_EQ(candidates.size(), 9u);
  EXPECT_THAT(candidates, ::testing::UnorderedElementsAreArray(nine));
  candidates.resize(3);
  EXPECT_THAT(candidates, ::testing::UnorderedElementsAreArray(three));
  EXPECT_EQ(homes.home(), candidates[0]);
  EXPECT_EQ(homes.home(), Ordered(fleet, three, key.value())[0]) << "of three that are level, by the whole prefix";
}

TEST(NestedHomesTest, APartThatNeedsAllOrTooManyLeavesTheChoiceToTheNext) {
  std::mt19937_64 random(4);
  const Fleet fleet = FleetOf(MakeInstances(200));
  const PrefixKey key = MakePrefixKey(RandomBytes(1'000, random));
  for (uint32_t many : {65u, 199u, 200u, 1'000u, UINT32_MAX}) {
    const NestedHomes none = HomesOf(fleet, key, [&](uint64_t, uint64_t) { return many; });
    EXPECT_EQ(none.begin(), none.end());
    EXPECT_EQ(none.home(), RendezvousFirst(fleet.nodes(), key.value(), [](uint32_t) { return true; }));
    EXPECT_EQ(ByRank(fleet, none), Ordered(fleet, WithWeight(fleet), key.value()));
    // The next that needs fewer begins.
    const NestedHomes homes =
        HomesOf(fleet, key, [&](uint64_t, uint64_t depth) { return depth < 256 ? many : uint32_t{1}; });
    EXPECT_EQ(homes.home(), RendezvousFirst(fleet.nodes(), key.fingerprint(3), [](uint32_t) { return true; }));
  }
  const NestedHomes most = HomesOf(fleet, key, [](uint64_t, uint64_t) { return uint32_t{64}; });
  EXPECT_EQ(most.end() - most.begin(), 64);
}

// Any fleet, any needs, also those that grow again with the depth.
TEST(NestedHomesTest, FollowsTheDefinitionAndEveryLongerPromptsHomeLiesAmongItsParents) {
  std::mt19937_64 random(5);
  int strictly_within = 0;
  for (int round = 0; round < 2'000; ++round) {
    const uint32_t size = 1 + random() % 100;
    std::vector<Instance> instances = MakeInstances(size);
    for (Instance& instance : instances) instance.weight = static_cast<double>(random() % 4);
    instances[random() % size].weight = 1;
    const Fleet fleet = FleetOf(instances);
    const uint64_t salt = random();
    const uint32_t most = 1 + random() % (2 * size);
    const auto wanted = [&](uint64_t fingerprint, uint64_t depth) {
      return static_cast<uint32_t>(1 + MixBits(fingerprint ^ salt) % most * 64 / depth);
    };
    const std::string bytes = RandomBytes(64 + random() % 5'000, random);
    const PrefixKey key = MakePrefixKey(bytes);
    const NestedHomes homes = HomesOf(fleet, key, wanted);
    std::vector<uint32_t> order;
    LeftOf(fleet, key, wanted, &order);
    ASSERT_EQ(homes.home(), order[0]) << "round " << round;
    ASSERT_EQ(ByRank(fleet, homes), order) << "round " << round;
    size_t place = 0;
    for (const uint32_t candidate : homes) ASSERT_EQ(candidate, order[place++]) << "round " << round;

    const PrefixKey parent = MakePrefixKey(bytes, {}, key.depth(random() % key.depth_count()));
    const std::vector<uint32_t> left = LeftOf(fleet, parent, wanted);
    ASSERT_EQ(HomesOf(fleet, parent, wanted).home(), left[0]);
    ASSERT_THAT(left, ::testing::Contains(homes.home())) << "round " << round;
    if (left.size() > 1 && left.size() < order.size()) ++strictly_within;
  }
  EXPECT_GT(strictly_within, 100);
}

TEST(NestedHomesTest, OrderLeavesOutWhoMayNotBeChosenAndEndsWithItsRoom) {
  std::mt19937_64 random(8);
  const Fleet fleet = FleetOf(MakeInstances(20));
  const PrefixKey key = MakePrefixKey(RandomBytes(1'000, random));
  const NestedHomes homes = HomesOf(fleet, key, [](uint64_t, uint64_t depth) { return depth < 500 ? 6 : 2; });
  const std::vector<uint32_t> order = ByRank(fleet, homes);
  for (size_t room = 0; room <= 21; ++room) {
    std::vector<uint32_t> odd;  // Of candidates and others alike.
    for (uint32_t i : order) {
      if (i % 2 == 1 && odd.size() < room) odd.push_back(i);
    }
    std::vector<uint32_t> written(21, 12'345);
    const size_t count = homes.Order([](uint32_t i) { return i % 2 == 1; }, written.data(), room);
    EXPECT_EQ(written[count], 12'345u);
    written.resize(count);
    EXPECT_EQ(written, odd);
  }
}

TEST(NestedHomesTest, WeightlessInstancesAreNobodysHome) {
  std::mt19937_64 random(6);
  std::vector<Instance> instances = MakeInstances(10);
  for (size_t i = 0; i < 7; ++i) instances[i].weight = 0;
  const Fleet fleet = FleetOf(instances);
  for (uint32_t needed = 1; needed < 12; ++needed) {
    const PrefixKey key = MakePrefixKey(RandomBytes(500, random));
    const NestedHomes homes = HomesOf(fleet, key, [&](uint64_t, uint64_t) { return needed; });
    EXPECT_GE(homes.home(), 7u);
    for (const uint32_t candidate : homes) EXPECT_GE(candidate, 7u);
    EXPECT_LE(homes.end() - homes.begin(), 3);
  }
  for (Instance& instance : instances) instance.weight = 0;
  const Fleet weightless = FleetOf(instances);
  const PrefixKey key = MakePrefixKey(RandomBytes(500, random));
  for (uint32_t needed : {1u, 3u, 100u}) {
    const NestedHomes homes = HomesOf(weightless, key, [&](uint64_t, uint64_t) { return needed; });
    EXPECT_EQ(homes.home(), kNoInstance);
    EXPECT_EQ(homes.begin(), homes.end());
  }
  EXPECT_EQ(HomesOf(FleetOf({}), key, One).home(), kNoInstance);
}

TEST(NestedHomesTest, DoNotDependOnTheOrderOfTheInstances) {
  std::mt19937_64 random(7);
  std::vector<Instance> instances = MakeInstances(30);
  for (Instance& instance : instances) instance.weight = static_cast<double>(random() % 4);
  instances[0].weight = 1;
  const Fleet fleet = FleetOf(instances);
  const auto wanted = [](uint64_t fingerprint, uint64_t) { return static_cast<uint32_t>(1 + fingerprint % 12); };
  for (int round = 0; round < 200; ++round) {
    const PrefixKey key = MakePrefixKey(RandomBytes(1 + random() % 3'000, random));
    std::vector<Instance> shuffled = instances;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    const Fleet other = FleetOf(shuffled);
    const std::vector<uint32_t> order = ByRank(fleet, HomesOf(fleet, key, wanted));
    const std::vector<uint32_t> same = ByRank(other, HomesOf(other, key, wanted));
    ASSERT_EQ(order.size(), same.size());
    for (size_t i = 0; i < order.size(); ++i) ASSERT_EQ(instances[order[i]].id, shuffled[same[i]].id);
  }
}

}  // namespace
}  // namespace prefixroute::internal
