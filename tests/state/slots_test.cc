// SPDX-License-Identifier: Apache-2.0
//
// Slots: one for each incarnation of an instance, and room for as many removed instances as there are present ones.

#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/state/shared_block.h"
#include "tests/testing/fleet.h"
#include "tests/testing/scale.h"
#include "tests/testing/status_matchers.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::HasCode;
using test::IsOk;
using test::OutstandingOf;

// The same on the heap and in shared memory.
class SlotsTest : public testing::TestWithParam<bool> {
 protected:
  static constexpr uint32_t kMaxInstances = 2;

  std::unique_ptr<Router> MakeRouter(const std::vector<Instance>& instances) {
    RouterOptions options;
    options.max_instances = kMaxInstances;
    return GetParam() ? block_.MakeRouter(1, instances, options) : test::MakeRouter(options, instances);
  }

  test::SharedBlock block_{{kMaxInstances, 2, kMinPrefixEntries}};
};

TEST_P(SlotsTest, TheWholeFleetCanBeReplacedWhileOldRequestsGoOn) {
  const std::unique_ptr<Router> router = MakeRouter({{"a"}, {"b"}});
  std::vector<Lease> a = test::Occupy(*router, 0, 3);
  std::vector<Lease> b = test::Occupy(*router, 1, 1);
  ASSERT_THAT(router->SetInstances({{"c"}, {"d"}}), IsOk());
  EXPECT_EQ(OutstandingOf(*router), (std::vector<uint32_t>{0, 0}));
  EXPECT_EQ(router->Stats().outstanding, 4u);
  EXPECT_EQ(a[0].id(), "a");
  EXPECT_EQ(b[0].id(), "b");
}

TEST_P(SlotsTest, WithoutRoomNothingChanges) {
  const std::unique_ptr<Router> router = MakeRouter({{"a"}, {"b"}});
  std::vector<Lease> a = test::Occupy(*router, 0, 1);
  std::vector<Lease> b = test::Occupy(*router, 1, 1);
  ASSERT_THAT(router->SetInstances({{"c"}, {"d", 2}}), IsOk());
  std::vector<Lease> d = test::Occupy(*router, 1, 2);
  const uint64_t fingerprint = router->MembershipFingerprint();

  EXPECT_THAT(router->SetInstances({{"c"}, {"e"}}), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(router->SetInstances({{"a"}, {"d"}}), HasCode(absl::StatusCode::kResourceExhausted))
      << "a comes back as a new instance, which needs a slot too";
  EXPECT_EQ(router->MembershipFingerprint(), fingerprint);
  EXPECT_EQ(OutstandingOf(*router), (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(router->Stats().outstanding, 4u);
  EXPECT_THAT(AcquireOk(*router, {}).id(), testing::AnyOf("c", "d"));
  // What needs no new slot is still possible.
  ASSERT_THAT(router->SetInstances({{"d"}, {"c", 3}}), IsOk());
  EXPECT_EQ(OutstandingOf(*router), (std::vector<uint32_t>{2, 0})) << "kept ids keep their counts";

  a.clear();
  ASSERT_THAT(router->SetInstances({{"d"}, {"e"}}), IsOk()) << "a's last request has ended";
  EXPECT_EQ(OutstandingOf(*router), (std::vector<uint32_t>{2, 0}));
  EXPECT_EQ(b[0].id(), "b");
  EXPECT_EQ(d[0].id(), "d");
  b.clear();
  d.clear();
  EXPECT_EQ(router->Stats().outstanding, 0u);
}

TEST_P(SlotsTest, ARemovedIdComesBackAsANewInstanceAsOftenAsThereIsRoom) {
  const std::unique_ptr<Router> router = MakeRouter({{"a"}});
  std::vector<Lease> leases;
  for (uint32_t incarnation = 0; incarnation < 4; ++incarnation) {
    ASSERT_EQ(OutstandingOf(*router), (std::vector<uint32_t>{0}));
    leases.push_back(AcquireOk(*router, {}));
    ASSERT_EQ(OutstandingOf(*router), (std::vector<uint32_t>{1}));
    ASSERT_THAT(router->SetInstances({}), IsOk());
    ASSERT_EQ(router->Stats().outstanding, incarnation + 1);
    const absl::Status status = router->SetInstances({{"a"}});
    ASSERT_THAT(status, HasCode(incarnation < 3 ? absl::StatusCode::kOk : absl::StatusCode::kResourceExhausted));
  }
  // A slot is used again only when nobody can give back to it any more.
  for (Lease& lease : leases) {
    lease.Finish();
    ASSERT_THAT(router->SetInstances({{"a"}}), IsOk());
    ASSERT_EQ(OutstandingOf(*router), (std::vector<uint32_t>{0}));
    ASSERT_THAT(router->SetInstances({}), IsOk());
  }
  EXPECT_EQ(router->Stats().outstanding, 0u);
}

INSTANTIATE_TEST_SUITE_P(, SlotsTest, testing::Bool(),
                         [](const auto& param) { return param.param ? "Shared" : "Heap"; });

TEST(SlotsMemoryTest, FreshIdsWithoutEndTakeNoMemory) {
  const auto resident_bytes = [] {
    uint64_t total = 0;
    uint64_t resident = 0;
    std::ifstream("/proc/self/statm") >> total >> resident;
    return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  };
  RouterOptions options;
  options.max_instances = 3;
  const std::unique_ptr<Router> router = test::MakeRouter(options, {{"kept"}});
  const int cycles = test::Scaled(1'000'000);
  uint64_t resident = 0;
  Lease previous;
  for (int i = 0; i < cycles; ++i) {
    if (i == cycles / 10) resident = resident_bytes();
    ASSERT_THAT(router->SetInstances({{"kept"}, {"10.0.0.0:" + std::to_string(i), 1e6}}), IsOk());
    // Finished only after its instance is gone.
    previous = AcquireOk(*router, test::ForPrefix("prefix"));
    ASSERT_THAT(router->SetInstances({{"kept"}}), IsOk());
  }
  previous.Finish();
  EXPECT_EQ(router->Stats().outstanding, 0u);
  const int64_t grown = static_cast<int64_t>(resident_bytes()) - static_cast<int64_t>(resident);
  // A sanitizer keeps what was freed for a while.
  EXPECT_LT(grown, PREFIXROUTE_TEST_SANITIZED ? 512 << 20 : 1 << 20);
}

}  // namespace
}  // namespace prefixroute
