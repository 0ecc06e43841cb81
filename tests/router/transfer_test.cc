// SPDX-License-Identifier: Apache-2.0
//
// A request that another instance serves in the end is counted there, and nowhere else.

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/state/shared_block.h"
#include "tests/testing/fleet.h"
#include "tests/testing/status_matchers.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::ForPrefix;
using test::IsOk;
using test::MakeInstances;
using test::MakeRouter;
using test::StatusIs;
using testing::HasSubstr;

uint64_t PendingOf(const Router& router, uint32_t index) { return router.Stats().instances[index].pending_bytes; }

class TransferTest : public ::testing::TestWithParam<bool> {
 protected:
  TransferTest()
      : router_(GetParam() ? block_.MakeRouter(1, MakeInstances(2, /*max_outstanding=*/1))
                           : MakeRouter({}, MakeInstances(2, /*max_outstanding=*/1))) {}

  test::SharedBlock block_{{4, 2, kMinPrefixEntries}};
  std::unique_ptr<Router> router_;
  const std::string prompt_ = std::string(10'000, 'x');
};
INSTANTIATE_TEST_SUITE_P(All, TransferTest, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "SharedBlock" : "Heap"; });

TEST_P(TransferTest, MovesTheRequestAndItsPendingBytesBeyondAnyBound) {
  Lease stays = AcquireOk(*router_, ForPrefix(prompt_));
  Lease moves = AcquireOk(*router_, ForPrefix(prompt_));
  const uint32_t from = moves.decision().instance;
  const uint32_t to = stays.decision().instance;
  ASSERT_NE(from, to);
  const uint64_t pending = PendingOf(*router_, from) + PendingOf(*router_, to);
  ASSERT_GT(PendingOf(*router_, from), 0u);

  EXPECT_THAT(router_->Transfer(moves, stays.id()), IsOk());
  EXPECT_EQ(moves.id(), stays.id());
  EXPECT_EQ(moves.decision().instance, from);
  EXPECT_EQ(test::OutstandingOf(*router_)[from], 0u);
  EXPECT_EQ(test::OutstandingOf(*router_)[to], 2u);
  EXPECT_EQ(PendingOf(*router_, from), 0u);
  EXPECT_EQ(PendingOf(*router_, to), pending);

  moves.Finish();
  stays.Finish();
  EXPECT_EQ(router_->Stats().outstanding, 0u);
  EXPECT_EQ(PendingOf(*router_, to), 0u);
}

TEST_P(TransferTest, AfterTheFirstTokenNothingIsPending) {
  Lease lease = AcquireOk(*router_, ForPrefix(prompt_));
  lease.FirstToken();
  const uint32_t to = 1 - lease.decision().instance;
  EXPECT_THAT(router_->Transfer(lease, "i-" + std::to_string(to)), IsOk());
  EXPECT_EQ(PendingOf(*router_, to), 0u);
  EXPECT_EQ(test::OutstandingOf(*router_)[to], 1u);
}

TEST_P(TransferTest, ToItsOwnInstanceChangesNothing) {
  Lease lease = AcquireOk(*router_, ForPrefix(prompt_));
  const uint64_t pending = PendingOf(*router_, lease.decision().instance);
  EXPECT_THAT(router_->Transfer(lease, lease.id()), IsOk());
  EXPECT_EQ(test::OutstandingOf(*router_)[lease.decision().instance], 1u);
  EXPECT_EQ(PendingOf(*router_, lease.decision().instance), pending);
}

TEST_P(TransferTest, WhatCannotBeMovedStaysWhereItWas) {
  Lease lease = AcquireOk(*router_, ForPrefix(prompt_));
  const std::string id(lease.id());
  EXPECT_THAT(router_->Transfer(lease, "nobody"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"nobody\"")));
  const auto other = MakeRouter({}, MakeInstances(2));
  EXPECT_THAT(other->Transfer(lease, "i-1"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("another router")));
  EXPECT_EQ(lease.id(), id);
  EXPECT_EQ(test::OutstandingOf(*router_)[lease.decision().instance], 1u);
  lease.Finish();
  EXPECT_THAT(router_->Transfer(lease, id), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("owns nothing")));
  EXPECT_EQ(router_->Stats().outstanding, 0u);
  EXPECT_EQ(other->Stats().outstanding, 0u);
}

TEST(TransferFromAReapedOwnerTest, IsRefused) {
  const test::SharedBlock block({4, 3, kMinPrefixEntries});
  const auto reaped = block.MakeRouter(1, MakeInstances(2));
  const auto other = block.MakeRouter(2, MakeInstances(2));
  Lease lease = AcquireOk(*reaped, ForPrefix("prompt"));
  ASSERT_THAT(other->shared_state()->Reap(1), IsOk());
  EXPECT_THAT(reaped->Transfer(lease, "i-0"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("can count no more")));
  EXPECT_EQ(other->Stats().outstanding, 0u);
}

}  // namespace
}  // namespace prefixroute
