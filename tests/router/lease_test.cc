// SPDX-License-Identifier: Apache-2.0
//
// One lease is one request, given back once, whatever happens to the lease, the instance or the router.

#include <array>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/testing/fleet.h"
#include "tests/testing/scale.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::ForPrefix;
using test::MakeInstances;
using test::MakeRouter;

class LeaseTest : public ::testing::Test {
 protected:
  Lease Acquire() { return AcquireOk(*router_, ForPrefix("prompt")); }
  void ExpectOutstanding(uint64_t count) const {
    const RouterStats stats = router_->Stats();
    EXPECT_EQ(stats.outstanding, count);
    uint64_t sum = 0;
    for (const InstanceStats& instance : stats.instances) {
      EXPECT_LE(instance.outstanding, count) << instance.id;
      sum += instance.outstanding;
    }
    EXPECT_EQ(sum, count);
  }

  std::unique_ptr<Router> router_ = [] {
    RouterOptions options = test::WithStrategy(Strategy::kLeastOutstandingRequests);
    options.max_instances = 4;  // Statistics look at every place.
    return MakeRouter(options, MakeInstances(2));
  }();
};

static_assert(!std::is_copy_constructible_v<Lease> && !std::is_copy_assignable_v<Lease>);
static_assert(std::is_nothrow_move_constructible_v<Lease> && std::is_nothrow_move_assignable_v<Lease>);

TEST_F(LeaseTest, EmptyLeaseOwnsNothing) {
  Lease lease;
  EXPECT_FALSE(lease.active());
  EXPECT_EQ(lease.id(), "");
  lease.Finish();
  EXPECT_EQ(lease.decision().instance, kNoInstance);
}

TEST_F(LeaseTest, SecondFinishDoesNothing) {
  Lease other = Acquire();
  Lease lease = Acquire();
  ExpectOutstanding(2);
  EXPECT_TRUE(lease.active());
  EXPECT_NE(lease.id(), other.id());
  lease.Finish();
  ExpectOutstanding(1);
  EXPECT_FALSE(lease.active());
  EXPECT_EQ(lease.id(), "");
  lease.Finish();
  ExpectOutstanding(1);
}

TEST_F(LeaseTest, DestructorFinishes) {
  {
    Lease lease = Acquire();
    ExpectOutstanding(1);
  }
  ExpectOutstanding(0);
}

TEST_F(LeaseTest, DestructorAfterFinishDoesNothing) {
  Lease other = Acquire();
  {
    Lease lease = Acquire();
    lease.Finish();
  }
  ExpectOutstanding(1);
}

TEST_F(LeaseTest, MoveConstructionMovesTheRequest) {
  Lease from = Acquire();
  const std::string id(from.id());
  Lease to = std::move(from);
  ExpectOutstanding(1);
  EXPECT_EQ(to.id(), id);
  EXPECT_FALSE(from.active());  // As promised.
  from.Finish();
  ExpectOutstanding(1);
  to.Finish();
  ExpectOutstanding(0);
}

TEST_F(LeaseTest, MoveAssignmentFinishesWhatWasOwned) {
  Lease to = Acquire();
  Lease from = Acquire();
  const std::string id(from.id());
  to = std::move(from);
  ExpectOutstanding(1);
  EXPECT_EQ(to.id(), id);
  to = Lease();
  ExpectOutstanding(0);
}

TEST_F(LeaseTest, SelfMoveKeepsTheRequest) {
  Lease lease = Acquire();
  Lease& same = lease;
  lease = std::move(same);
  ExpectOutstanding(1);
  EXPECT_TRUE(lease.active());
  lease.Finish();
  ExpectOutstanding(0);
}

TEST_F(LeaseTest, ExceptionOnTheWayGivesBack) {
  try {
    const Lease lease = Acquire();
    ExpectOutstanding(1);
    throw std::runtime_error("the upstream broke");
  } catch (const std::runtime_error&) {
  }
  ExpectOutstanding(0);
}

TEST_F(LeaseTest, FinishesOnAnotherThreadAfterItsInstanceWasRemoved) {
  Lease lease = Acquire();
  const std::string id(lease.id());
  ASSERT_THAT(router_->SetInstances({{"other"}}), test::IsOk());
  EXPECT_EQ(router_->Stats().outstanding, 1u);
  EXPECT_EQ(lease.id(), id);
  std::thread([moved = std::move(lease)]() mutable { moved.Finish(); }).join();
  ExpectOutstanding(0);
}

TEST_F(LeaseTest, OutlivesTheRouter) {
  Lease lease = Acquire();
  Lease other = Acquire();
  const std::string id(lease.id());
  router_.reset();
  EXPECT_TRUE(lease.active());
  EXPECT_EQ(lease.id(), id);
  lease.Finish();
  EXPECT_FALSE(lease.active());
  // A new router begins at 0, whatever the old one's leases do.
  router_ = MakeRouter({}, MakeInstances(2));
  other.Finish();
  ExpectOutstanding(0);
}

TEST_F(LeaseTest, KeepsTheDecisionItWasMadeBy) {
  Lease lease = Acquire();
  const std::string id(lease.id());
  const Decision decision = lease.decision();
  EXPECT_EQ(router_->Stats().instances[decision.instance].id, id);
  ASSERT_THAT(router_->SetInstances({{"other"}, {"i-1"}, {"i-0"}}), test::IsOk());
  EXPECT_EQ(lease.decision().instance, decision.instance);
  EXPECT_EQ(lease.id(), id);
}

// At every step of a long random sequence, what is outstanding is what is live.
TEST_F(LeaseTest, OutstandingIsTheLiveLeasesAfterEveryStepOfARandomSequence) {
  std::mt19937_64 random(1);
  std::array<Lease, 64> leases;
  const int steps = test::Scaled(1'000'000);
  for (int step = 0; step < steps; ++step) {
    Lease& one = leases[random() % leases.size()];
    Lease& other = leases[random() % leases.size()];
    switch (random() % 8) {
      case 0:
      case 1:
      case 2:
        one = Acquire();
        break;
      case 3:
        one.Finish();
        break;
      case 4:
        one = std::move(other);  // At times a move to itself.
        break;
      case 5:
        one = Lease();
        break;
      case 6: {
        Lease moved(std::move(one));
        one = std::move(moved);
        break;
      }
      case 7:
        Lease(std::move(one)).Finish();
        break;
    }
    std::array<uint32_t, 2> live{};
    for (const Lease& lease : leases) {
      if (lease.active()) ++live[lease.decision().instance];
    }
    const RouterStats stats = router_->Stats();
    ASSERT_EQ(stats.instances[0].outstanding, live[0]) << "at step " << step;
    ASSERT_EQ(stats.instances[1].outstanding, live[1]) << "at step " << step;
    ASSERT_EQ(stats.outstanding, live[0] + live[1]) << "at step " << step;
  }
  leases = {};
  ExpectOutstanding(0);
}

}  // namespace
}  // namespace prefixroute
