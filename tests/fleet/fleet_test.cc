// SPDX-License-Identifier: Apache-2.0

#include "src/fleet/fleet.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/rendezvous.h"
#include "src/hash/hash.h"

namespace prefixroute::internal {
namespace {

Fleet FleetOf(const std::vector<Instance>& instances) {
  return Fleet(instances, std::vector<uint8_t>(instances.size()), std::vector<uint32_t>(instances.size()));
}

// Ids that compare otherwise as text or as signed bytes, one a prefix of another, one with a NUL inside.
std::vector<Instance> AwkwardInstances() {
  return {{"b"},    {std::string("\0", 1)},
          {"\xff"}, {std::string("b\0x", 3), 2.5, 7},
          {"\x7f"}, {std::string(kMaxInstanceIdBytes, 'b'), 0.001},
          {"a", 0}, {std::string(kMaxInstanceIdBytes - 1, 'b'), 1e6}};
}

TEST(FleetTest, KeepsTheCallersOrder) {
  const std::vector<Instance> instances = AwkwardInstances();
  const Fleet fleet(instances, {0, 1, 0, 0, 0, 0, 0, 1}, {9, 8, 7, 6, 5, 4, 3, 2});
  ASSERT_EQ(fleet.size(), instances.size());
  ASSERT_EQ(fleet.nodes().size, instances.size());
  for (uint32_t i = 0; i < fleet.size(); ++i) {
    EXPECT_EQ(fleet.ids()[i], instances[i].id);
    EXPECT_EQ(fleet.nodes().hashes[i], HashBytes(instances[i].id));
    EXPECT_EQ(fleet.max_outstanding()[i], i == 3 ? 7u : UINT32_MAX) << "0 is no bound";
    EXPECT_EQ(fleet.slots()[i], 9 - i);
    EXPECT_EQ(fleet.draining()[i] != 0, i == 1 || i == 7);
  }
}

TEST(FleetTest, WeightsAreWholeUnits) {
  const Fleet fleet = FleetOf(AwkwardInstances());
  EXPECT_EQ(fleet.nodes().weights[0], kWeightUnit);
  EXPECT_EQ(fleet.nodes().weights[3], kWeightUnit * 5 / 2);
  EXPECT_EQ(fleet.nodes().weights[5], 1049u) << "2^20 / 1000, rounded";
  EXPECT_EQ(fleet.nodes().weights[6], 0u);
  EXPECT_EQ(fleet.nodes().weights[7], kWeightUnit * 1'000'000);
  EXPECT_LT(fleet.nodes().weights[7], uint64_t{1} << 48) << "what RendezvousNodes allows";
}

TEST(FleetTest, FindsEachIdAndNoOther) {
  const std::vector<Instance> instances = AwkwardInstances();
  const Fleet fleet = FleetOf(instances);
  for (uint32_t i = 0; i < fleet.size(); ++i) EXPECT_EQ(fleet.Find(instances[i].id), i);
  for (const std::string& absent :
       {std::string(), std::string("\0\0", 2), std::string("bb"), std::string("b\0", 2), std::string("\xff\xff"),
        std::string("A"), std::string(kMaxInstanceIdBytes + 1, 'b')}) {
    EXPECT_EQ(fleet.Find(absent), kNoInstance) << absent.size();
  }
  EXPECT_EQ(FleetOf({}).Find("b"), kNoInstance);
}

TEST(FleetTest, TiesAreThePlacesOfTheSortedBytes) {
  const std::vector<Instance> instances = AwkwardInstances();
  const Fleet fleet = FleetOf(instances);
  const auto bytes_less = [](const std::string& a, const std::string& b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
      return static_cast<unsigned char>(x) < static_cast<unsigned char>(y);
    });
  };
  for (uint32_t i = 0; i < fleet.size(); ++i) {
    uint32_t place = 0;
    for (const Instance& other : instances) place += bytes_less(other.id, instances[i].id);
    EXPECT_EQ(fleet.nodes().ties[i], place);
  }
}

TEST(FleetTest, FingerprintIsThatOfTheSetOfIdsAndWeights) {
  std::vector<Instance> instances = AwkwardInstances();
  const uint64_t fingerprint = FleetOf(instances).Fingerprint();
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    std::shuffle(instances.begin(), instances.end(), random);
    ASSERT_EQ(FleetOf(instances).Fingerprint(), fingerprint);
  }
  // What doesn't change an order doesn't change the fingerprint.
  for (Instance& instance : instances) instance.max_outstanding = 5;
  EXPECT_EQ(Fleet(instances, std::vector<uint8_t>(8, 1), std::vector<uint32_t>(8, 3)).Fingerprint(), fingerprint);
}

TEST(FleetTest, FingerprintDiffersForEveryOtherFleet) {
  std::vector<uint64_t> fingerprints{FleetOf({}).Fingerprint(),
                                     FleetOf({{"a"}}).Fingerprint(),
                                     FleetOf({{"a", 2}}).Fingerprint(),
                                     FleetOf({{"a", 0}}).Fingerprint(),
                                     FleetOf({{"b"}}).Fingerprint(),
                                     FleetOf({{"a"}, {"b"}}).Fingerprint(),
                                     FleetOf({{"a", 2}, {"b"}}).Fingerprint(),
                                     FleetOf({{"a"}, {"b", 2}}).Fingerprint(),
                                     FleetOf({{"a"}, {"b"}, {"c"}}).Fingerprint(),
                                     FleetOf({{"ab"}}).Fingerprint()};
  std::sort(fingerprints.begin(), fingerprints.end());
  EXPECT_EQ(std::unique(fingerprints.begin(), fingerprints.end()), fingerprints.end());
}

}  // namespace
}  // namespace prefixroute::internal
