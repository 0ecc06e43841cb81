// SPDX-License-Identifier: Apache-2.0
//
// Routers give the orders of order.golden, whatever the order they list the instances in and however they came to have
// them. golden_order.cc says what the file is, and tries other builds.

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/testing/fleet.h"
#include "tests/testing/scale.h"
#include "tests/testing/status_matchers.h"

namespace prefixroute {
namespace {

struct Case {
  std::string prefix;
  std::string scope;
  uint64_t key;
  std::vector<std::string> order;  // Ids.
};

struct GoldenFleet {
  std::string name;
  std::vector<Instance> instances;
  std::vector<Case> cases;
};

std::string FromHex(std::string_view hex) {
  if (hex == "-") return "";
  size_t times = 1;
  if (const size_t star = hex.find('*'); star != std::string_view::npos) {
    times = std::stoul(std::string(hex.substr(star + 1)));
    hex = hex.substr(0, star);
  }
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  std::string whole;
  for (size_t i = 0; i < times; ++i) whole += bytes;
  return whole;
}

struct GoldenKey {
  std::string prefix;
  std::string scope;
  uint64_t value;
  std::vector<uint64_t> fingerprints;
};

std::vector<GoldenKey> ReadGoldenKeys() {
  std::ifstream file(PREFIXROUTE_TESTS_DIR "/golden/order.golden");
  std::vector<GoldenKey> keys;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string what;
    std::string prefix;
    std::string scope;
    words >> what >> prefix >> scope;
    if (what != "key") continue;
    GoldenKey key{FromHex(prefix), FromHex(scope), 0, {}};
    words >> std::hex >> key.value;
    for (uint64_t fingerprint; words >> fingerprint;) key.fingerprints.push_back(fingerprint);
    keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<GoldenFleet> ReadGolden() {
  std::ifstream file(PREFIXROUTE_TESTS_DIR "/golden/order.golden");
  EXPECT_TRUE(file) << "order.golden can't be read";
  std::vector<GoldenFleet> fleets;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string what;
    words >> what;
    if (what == "fleet") {
      fleets.emplace_back();
      words >> fleets.back().name;
    } else if (what == "instance") {
      Instance instance;
      std::string id;
      words >> instance.weight >> id;
      instance.id = FromHex(id);
      fleets.back().instances.push_back(instance);
    } else if (what == "order") {
      std::string prefix;
      std::string scope;
      Case golden;
      words >> prefix >> scope >> std::hex >> golden.key >> std::dec;
      golden.prefix = FromHex(prefix);
      golden.scope = FromHex(scope);
      for (size_t instance = 0; words >> instance;) golden.order.push_back(fleets.back().instances.at(instance).id);
      fleets.back().cases.push_back(std::move(golden));
    } else if (what != "key") {
      EXPECT_EQ(what.substr(0, 1), "#") << line;
    }
  }
  return fleets;
}

void ExpectGolden(const Router& router, const GoldenFleet& fleet) {
  std::vector<std::string> ids;
  for (const InstanceStats& instance : router.Stats().instances) ids.push_back(instance.id);
  for (const Case& golden : fleet.cases) {
    Request request = test::ForPrefix(golden.prefix);
    request.scope = golden.scope;
    std::vector<std::string> order;
    for (uint32_t index : test::OrderOf(router, request)) order.push_back(ids[index]);
    ASSERT_EQ(order, golden.order) << fleet.name << ", a prefix of " << golden.prefix.size() << " bytes";
  }
}

// The order of a whole prefix is that of strict mode.
RouterOptions WholePrefixes() { return test::StrictOptions(kMaxMaxPrefixBytes); }

TEST(GoldenOrderTest, TheFileIsWhatItShouldBe) {
  const std::vector<GoldenFleet> fleets = ReadGolden();
  ASSERT_EQ(fleets.size(), 5u);
  for (const GoldenFleet& fleet : fleets) {
    EXPECT_GE(fleet.cases.size(), 60u);
    const size_t weighted = std::count_if(fleet.instances.begin(), fleet.instances.end(),
                                          [](const Instance& instance) { return instance.weight != 0; });
    for (const Case& golden : fleet.cases) EXPECT_EQ(golden.order.size(), weighted);
  }
}

TEST(GoldenOrderTest, FingerprintsAreFrozen) {
  const std::vector<GoldenKey> keys = ReadGoldenKeys();
  ASSERT_GE(keys.size(), 60u);
  size_t most_fingerprints = 0;
  for (const GoldenKey& golden : keys) {
    const PrefixKey key = MakePrefixKey(golden.prefix, golden.scope, kMaxMaxPrefixBytes);
    ASSERT_EQ(key.value(), golden.value);
    ASSERT_EQ(key.depth_count(), golden.fingerprints.size());
    for (size_t i = 0; i < key.depth_count(); ++i) ASSERT_EQ(key.fingerprint(i), golden.fingerprints[i]);
    most_fingerprints = std::max(most_fingerprints, key.depth_count());
  }
  EXPECT_GT(most_fingerprints, 40u);
}

TEST(GoldenOrderTest, KeysAreFrozen) {
  for (const GoldenFleet& fleet : ReadGolden()) {
    for (const Case& golden : fleet.cases) {
      ASSERT_EQ(MakePrefixKey(golden.prefix, golden.scope, kMaxMaxPrefixBytes).value(), golden.key);
    }
  }
}

TEST(GoldenOrderTest, EveryRotationOfTheInstancesGivesTheOrder) {
  for (const GoldenFleet& fleet : ReadGolden()) {
    std::vector<Instance> instances = fleet.instances;
    for (size_t i = 0; i < instances.size(); ++i) {
      ExpectGolden(*test::MakeRouter(WholePrefixes(), instances), fleet);
      std::rotate(instances.begin(), instances.begin() + 1, instances.end());
    }
  }
}

TEST(GoldenOrderTest, EveryShuffleOfTheInstancesGivesTheOrder) {
  const int shuffles = test::Scaled(100);
  std::mt19937 random(1);
  for (const GoldenFleet& fleet : ReadGolden()) {
    std::vector<Instance> instances = fleet.instances;
    for (int i = 0; i < shuffles; ++i) {
      std::shuffle(instances.begin(), instances.end(), random);
      ExpectGolden(*test::MakeRouter(WholePrefixes(), instances), fleet);
    }
  }
}

// A router that had other instances, other weights and other orders before, and requests under way.
TEST(GoldenOrderTest, EveryHistoryOfMembershipGivesTheOrder) {
  const int histories = test::Scaled(50);
  std::mt19937 random(2);
  for (const GoldenFleet& fleet : ReadGolden()) {
    const std::unique_ptr<Router> router = test::MakeRouter(WholePrefixes(), {});
    for (int i = 0; i < histories; ++i) {
      std::vector<Lease> leases;
      for (int step = 0; step < 5; ++step) {
        std::vector<Instance> instances = test::MakeInstances(random() % 5);
        for (const Instance& instance : fleet.instances) {
          if (random() % 2 == 0) continue;
          instances.push_back(instance);
          if (random() % 4 == 0) instances.back().weight = 1 + random() % 9;
        }
        std::shuffle(instances.begin(), instances.end(), random);
        const absl::Status status = router->SetInstances(instances);
        if (!status.ok()) {
          ASSERT_THAT(status, test::HasCode(absl::StatusCode::kInvalidArgument)) << "nobody has weight";
          continue;
        }
        if (absl::StatusOr<Lease> lease = router->Acquire({}); lease.ok()) leases.push_back(*std::move(lease));
      }
      std::vector<Instance> instances = fleet.instances;
      std::shuffle(instances.begin(), instances.end(), random);
      ASSERT_THAT(router->SetInstances(instances), test::IsOk());
      ExpectGolden(*router, fleet);
    }
  }
}

// An order of the file without some of its instances is the order of the rest.
TEST(GoldenOrderTest, WhoeverIsMissingTheOthersKeepTheirOrder) {
  std::mt19937 random(3);
  for (GoldenFleet fleet : ReadGolden()) {
    std::shuffle(fleet.instances.begin(), fleet.instances.end(), random);
    while (fleet.instances.size() > 1) {
      const std::string removed = fleet.instances.back().id;
      fleet.instances.pop_back();
      for (Case& golden : fleet.cases) {
        golden.order.erase(std::remove(golden.order.begin(), golden.order.end(), removed), golden.order.end());
      }
      if (fleet.cases[0].order.empty()) break;  // Only weight 0 is left, which a router refuses.
      ExpectGolden(*test::MakeRouter(WholePrefixes(), fleet.instances), fleet);
    }
  }
}

}  // namespace
}  // namespace prefixroute
