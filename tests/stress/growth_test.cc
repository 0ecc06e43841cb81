// SPDX-License-Identifier: Apache-2.0
//
// A router's memory depends on its options alone: not on how many prefixes or instances it has ever seen.

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/testing/allocations.h"
#include "tests/testing/fleet.h"
#include "tests/testing/scale.h"

namespace prefixroute {
namespace {

using test::IsOk;
using test::MakeInstances;
using test::MakeRouter;

// In bytes.
int64_t ResidentMemory() {
  int64_t all_pages = 0;
  int64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> all_pages >> resident_pages;
  return resident_pages * sysconf(_SC_PAGESIZE);
}

class GrowthTest : public ::testing::Test {
 protected:
  // Nothing is left of `work`, done once to warm up and once to see.
  template <typename Work>
  void ExpectNoGrowth(Work work) {
    work(0);
    const uint64_t live = test::LiveBlocks();
    const int64_t resident = ResidentMemory();
    work(1);
    EXPECT_EQ(test::LiveBlocks(), live);
    // A sanitizer keeps what was freed for a while.
    if (PREFIXROUTE_TEST_SANITIZED == 0) {
      EXPECT_LT(ResidentMemory() - resident, 1 << 20);
    }
  }
};

TEST_F(GrowthTest, TenMillionPrefixesLeaveNothing) {
  const auto router = MakeRouter({}, MakeInstances(7));
  const int count = test::Scaled(10'000'000) / 2;
  ExpectNoGrowth([&](int turn) {
    char prefix[64];
    for (int i = 0; i < count; ++i) {
      const int length = snprintf(prefix, sizeof(prefix), "prompt %d", turn * count + i);
      const absl::StatusOr<Lease> lease = router->Acquire(test::ForPrefix({prefix, static_cast<size_t>(length)}));
      ASSERT_TRUE(lease.ok());
    }
  });
}

TEST_F(GrowthTest, MillionInstancesThatComeAndGoLeaveNothing) {
  RouterOptions options;
  options.max_instances = 8;
  const auto router = MakeRouter(options, MakeInstances(2));
  const int count = test::Scaled(1'000'000) / 2;
  ExpectNoGrowth([&](int turn) {
    std::vector<Instance> instances = MakeInstances(2);
    instances.push_back({"a fresh id, too long to lie inside a string " + std::to_string(turn)});
    Lease held;
    for (int i = 0; i < count; ++i) {
      instances[2].id.replace(0, 7, std::to_string(1'000'000 + i));
      ASSERT_TRUE(router->SetInstances(instances).ok());
      if (i % 16 == 0) {
        held = test::AcquireOk(*router, test::ForPrefix(instances[2].id));  // Over the removal of its instance.
      }
    }
    ASSERT_THAT(router->SetInstances(MakeInstances(2)), IsOk());
  });
  EXPECT_EQ(router->Stats().outstanding, 0u);
}

TEST_F(GrowthTest, RoutersReplacedWhileTheirLeasesAreOpenLeaveNothing) {
  ExpectNoGrowth([](int /*turn*/) {
    Lease held;
    for (int i = 0; i < 200; ++i) {
      const auto router = MakeRouter({}, MakeInstances(7));
      held = test::AcquireOk(*router, {});  // Ends the last router's.
    }
  });
}

}  // namespace
}  // namespace prefixroute
