// SPDX-License-Identifier: Apache-2.0
//
// Bytes that an instance has yet to prefill: added by Acquire, taken away once, whatever happens meanwhile.

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "src/state/state.h"
#include "tests/state/shared_block.h"
#include "tests/testing/fleet.h"
#include "tests/testing/scale.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::ForPrefix;
using test::IsOk;
using test::MakeInstances;
using test::OutstandingOf;
using ::testing::Each;
using ::testing::ElementsAre;

// Chooses nobody, and keeps what it sees.
class Probe final : public RoutingStrategy {
 public:
  Choice Choose(const FleetView& fleet) const noexcept override {
    pending.clear();
    for (uint32_t i = 0; i < fleet.size(); ++i) pending.push_back(fleet.pending_bytes(i));
    return {};
  }
  mutable std::vector<uint64_t> pending;
};

RouterOptions WithProbe(std::shared_ptr<const Probe> probe) {
  RouterOptions options;
  options.custom_strategy = std::move(probe);
  options.prefix_entries = kMinPrefixEntries;
  return options;
}

class PendingTest : public ::testing::Test {
 protected:
  // By PREFIX_AWARE, a prompt that nobody has sent yet; at `instance`, if given.
  Lease Acquire(Router& router, size_t bytes, uint32_t instance = kNoInstance) {
    const std::string prefix = std::to_string(++prompts_) + std::string(bytes, 'x');
    const std::vector<uint32_t> others =
        instance == kNoInstance ? std::vector<uint32_t>()
                                : test::AllBut(instance, static_cast<uint32_t>(OutstandingOf(router).size()));
    Request request = ForPrefix(prefix);
    request.strategy = Strategy::kPrefixAware;
    request.exclude_indexes = others;
    return AcquireOk(router, request);
  }
  Lease Acquire(size_t bytes, uint32_t instance = kNoInstance) { return Acquire(*router_, bytes, instance); }
  std::vector<uint64_t> PendingOf(Router& router) {
    EXPECT_THAT(router.Acquire({}), test::HasCode(absl::StatusCode::kResourceExhausted));
    return probe_->pending;
  }
  std::vector<uint64_t> Pending() { return PendingOf(*router_); }

  int prompts_ = 0;
  std::shared_ptr<Probe> probe_ = std::make_shared<Probe>();
  std::unique_ptr<Router> router_ = test::MakeRouter(WithProbe(probe_), MakeInstances(3));
};

TEST_F(PendingTest, AcquireAddsWhatIsExpectedToBeUncached) {
  EXPECT_THAT(Pending(), Each(0u));
  std::vector<uint64_t> expected(3);
  std::vector<Lease> leases;
  for (size_t bytes : {100, 10'000, 50'000, 300'000}) {
    leases.push_back(Acquire(bytes));
    const Decision& decision = leases.back().decision();
    EXPECT_GT(decision.uncached_bytes, 0u);
    EXPECT_LE(decision.uncached_bytes, bytes + 1);
    expected[decision.instance] += decision.uncached_bytes;
    EXPECT_EQ(Pending(), expected);
  }
  leases.clear();
  EXPECT_THAT(Pending(), Each(0u));
}

TEST_F(PendingTest, WhatWasSentBeforeIsNotAddedAgain) {
  const std::string prefix(10'000, 'x');
  Request request = ForPrefix(prefix);
  request.strategy = Strategy::kPrefixAware;
  const std::vector<uint32_t> others = {1, 2};
  request.exclude_indexes = others;
  Lease first = AcquireOk(*router_, request);
  first.FirstToken();
  const Lease second = AcquireOk(*router_, request);
  EXPECT_EQ(second.decision().matched_bytes, MakePrefixKey(prefix).depth(MakePrefixKey(prefix).depth_count() - 1));
  EXPECT_LE(second.decision().uncached_bytes, prefix.size() - second.decision().matched_bytes);
  EXPECT_THAT(Pending(), ElementsAre(second.decision().uncached_bytes, 0, 0));
}

TEST_F(PendingTest, FirstTokenTakesThemAwayOnceAndNoRequest) {
  Lease one = Acquire(10'000, 1);
  const Lease other = Acquire(20'000, 1);
  const uint64_t rest = other.decision().uncached_bytes;
  one.FirstToken();
  EXPECT_THAT(Pending(), ElementsAre(0, rest, 0));
  EXPECT_THAT(OutstandingOf(*router_), ElementsAre(0, 2, 0));
  EXPECT_TRUE(one.active());
  one.FirstToken();
  EXPECT_THAT(Pending(), ElementsAre(0, rest, 0));
  one.Finish();
  EXPECT_THAT(Pending(), ElementsAre(0, rest, 0));
  one.FirstToken();
  EXPECT_THAT(Pending(), ElementsAre(0, rest, 0));
  EXPECT_THAT(OutstandingOf(*router_), ElementsAre(0, 1, 0));
}

TEST_F(PendingTest, FinishTakesThemAwayWhereNoTokenCame) {
  Lease finished = Acquire(10'000, 0);
  { const Lease destroyed = Acquire(10'000, 1); }
  EXPECT_THAT(Pending(), ElementsAre(finished.decision().uncached_bytes, 0, 0));
  finished.Finish();
  finished.Finish();
  EXPECT_THAT(Pending(), Each(0u));
  Lease().FirstToken();
}

TEST_F(PendingTest, MovedLeasesTakeTheirBytesWithThem) {
  Lease from = Acquire(10'000, 0);
  const uint64_t bytes = from.decision().uncached_bytes;
  Lease to = std::move(from);
  from.FirstToken();  // NOLINT(bugprone-use-after-move): it owns nothing.
  from.Finish();
  EXPECT_THAT(Pending(), ElementsAre(bytes, 0, 0));

  Lease assigned = Acquire(20'000, 1);
  assigned = std::move(to);
  EXPECT_THAT(Pending(), ElementsAre(bytes, 0, 0)) << "what was assigned to is finished";
  to.FirstToken();  // NOLINT(bugprone-use-after-move)
  EXPECT_THAT(Pending(), ElementsAre(bytes, 0, 0));
  assigned.FirstToken();
  EXPECT_THAT(Pending(), Each(0u));
  Lease moved_after_its_token = std::move(assigned);
  moved_after_its_token.Finish();
  EXPECT_THAT(Pending(), Each(0u));
}

TEST_F(PendingTest, OnlyWhatLearnsAddsAny) {
  const std::string prefix(10'000, 'x');
  Request request = ForPrefix(prefix);
  for (Strategy strategy : {Strategy::kRandom, Strategy::kLeastOutstandingRequests}) {
    request.strategy = strategy;
    Lease lease = AcquireOk(*router_, request);
    EXPECT_EQ(lease.decision().uncached_bytes, 0u);
    EXPECT_THAT(Pending(), Each(0u));
    lease.FirstToken();
    EXPECT_THAT(Pending(), Each(0u));
  }
  RouterOptions strict = router_->options();
  strict.strict_prefix_bytes = 8192;
  ASSERT_THAT(router_->SetOptions(strict), IsOk());
  const Lease lease = Acquire(10'000);
  EXPECT_EQ(lease.decision().uncached_bytes, 0u);
  EXPECT_THAT(Pending(), Each(0u));
}

TEST_F(PendingTest, ARemovedInstancesBytesAreNotThoseOfItsSuccessor) {
  Lease old = Acquire(10'000, 0);
  ASSERT_THAT(router_->SetInstances({{"i-1"}, {"i-2"}}), IsOk());
  EXPECT_THAT(Pending(), ElementsAre(0, 0));
  ASSERT_THAT(router_->SetInstances(MakeInstances(3)), IsOk());
  EXPECT_THAT(Pending(), ElementsAre(0, 0, 0));
  const Lease fresh = Acquire(20'000, 0);
  const uint64_t bytes = fresh.decision().uncached_bytes;
  EXPECT_THAT(Pending(), ElementsAre(bytes, 0, 0));
  old.FirstToken();
  EXPECT_THAT(Pending(), ElementsAre(bytes, 0, 0));
  old.Finish();
  EXPECT_THAT(Pending(), ElementsAre(bytes, 0, 0));
}

TEST_F(PendingTest, AKeptInstanceKeepsItsBytesWhereverItIsListed) {
  Lease lease = Acquire(10'000, 0);
  ASSERT_THAT(router_->SetInstances({{"i-2"}, {"i-0", 5.0}}), IsOk());
  EXPECT_THAT(Pending(), ElementsAre(0, lease.decision().uncached_bytes));
  lease.FirstToken();
  EXPECT_THAT(Pending(), ElementsAre(0, 0));
}

TEST_F(PendingTest, AReusedSlotBeginsAtZero) {
  RouterOptions options = WithProbe(probe_);
  options.max_instances = 1;  // Two slots.
  router_ = test::MakeRouter(options, {{"a"}});
  for (int i = 0; i < 10; ++i) {
    ASSERT_THAT(router_->SetInstances({{"b" + std::to_string(i)}}), IsOk());
    EXPECT_THAT(Pending(), ElementsAre(0));
    const Lease lease = Acquire(10'000);
    EXPECT_THAT(Pending(), ElementsAre(lease.decision().uncached_bytes));
  }
}

TEST_F(PendingTest, FirstTokenAfterTheRouterIsGone) {
  Lease lease = Acquire(10'000);
  router_.reset();
  lease.FirstToken();
  EXPECT_TRUE(lease.active());
  lease.Finish();
}

TEST_F(PendingTest, RouteGoesByTheCallersBytes) {
  const std::vector<Load> loads = {{1, 5'000'000'000'000}, {0, 0}, {7, 3}};
  EXPECT_THAT(router_->Route({}, loads), test::HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(probe_->pending, ElementsAre(5'000'000'000'000, 0, 3));
  // Who has much to prefill is avoided.
  for (uint32_t busy = 0; busy < 3; ++busy) {
    const std::string prefix = test::PrefixesWithHome(*router_, busy, 1)[0];
    Request request = ForPrefix(prefix);
    request.strategy = Strategy::kPrefixAware;
    std::vector<Load> busy_loads(3, {4, 0});
    busy_loads[busy].pending_bytes = 10'000'000;
    const Decision decision = test::RouteOk(*router_, request, busy_loads);
    EXPECT_NE(decision.instance, busy);
    EXPECT_EQ(decision.home, busy);
    EXPECT_EQ(decision.reason, Reason::kDivertedByLoad);
  }
  EXPECT_THAT(Pending(), Each(0u)) << "it keeps nothing";
}

TEST_F(PendingTest, ThreadsLeaveNothing) {
  std::vector<std::thread> threads;
  const int rounds = test::Scaled(20'000);
  for (uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937_64 random(thread);
      const std::string text(5'000, 'x');
      std::vector<Lease> leases(8);
      for (int i = 0; i < rounds; ++i) {
        Request request = ForPrefix(std::string_view(text).substr(random() % 5'000));
        request.strategy = Strategy::kPrefixAware;
        Lease& lease = leases[random() % leases.size()];
        lease = AcquireOk(*router_, request);
        if (random() % 2 == 0) leases[random() % leases.size()].FirstToken();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(Pending(), Each(0u));
  EXPECT_THAT(OutstandingOf(*router_), Each(0u));
}

TEST_F(PendingTest, RoutersOfOneBlockSeeTheSumAndADeadOnesBytesAreTakenBack) {
  const test::SharedBlock block({4, 3, kMinPrefixEntries});
  const std::unique_ptr<Router> survivor = block.MakeRouter(1, MakeInstances(3), WithProbe(probe_));
  std::unique_ptr<Router> dead = block.MakeRouter(2, MakeInstances(3), WithProbe(probe_));
  Lease own = Acquire(*survivor, 10'000, 1);
  Lease lost = Acquire(*dead, 20'000, 1);
  Lease also_lost = Acquire(*dead, 30'000, 2);
  const uint64_t own_bytes = own.decision().uncached_bytes;
  const std::vector<uint64_t> sum = {0, own_bytes + lost.decision().uncached_bytes,
                                     also_lost.decision().uncached_bytes};
  EXPECT_EQ(PendingOf(*survivor), sum);
  EXPECT_EQ(PendingOf(*dead), sum);
  also_lost.FirstToken();
  EXPECT_EQ(PendingOf(*survivor)[2], 0u);

  dead.reset();
  ASSERT_THAT(survivor->shared_state()->Reap(2), IsOk());
  EXPECT_THAT(PendingOf(*survivor), ElementsAre(0, own_bytes, 0));
  lost.FirstToken();
  lost.Finish();
  also_lost.Finish();
  EXPECT_THAT(PendingOf(*survivor), ElementsAre(0, own_bytes, 0)) << "what a reaped owner gives back is ignored";
  own.Finish();
  EXPECT_THAT(PendingOf(*survivor), Each(0u));
}

// Reaped by mistake, or by a process that dies between two writes: less than nothing counts as nothing.
TEST(PendingStateTest, IsNeverBelowZero) {
  const auto state = internal::State::OnHeap(2, kMinPrefixEntries);
  state->AddPending(1, 100);
  state->RemovePending(1, 300);
  EXPECT_EQ(state->Pending(1), 0u);
  state->AddPending(1, 250);
  EXPECT_EQ(state->Pending(1), 50u);
  EXPECT_EQ(state->Pending(0), 0u);
}

}  // namespace
}  // namespace prefixroute
