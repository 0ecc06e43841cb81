// SPDX-License-Identifier: Apache-2.0
//
// Real processes on one block, some of them killed in the middle of what they do.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/state/child_process.h"
#include "tests/state/shared_block.h"
#include "tests/testing/fleet.h"
#include "tests/testing/scale.h"
#include "tests/testing/status_matchers.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::ChildProcess;
using test::HasCode;
using test::IsOk;
using test::MakeInstances;
using test::SharedBlock;
using testing::HasSubstr;

constexpr uint32_t kInstances = 3;
constexpr uint32_t kMaxOutstandingEach = 2;
constexpr uint32_t kWorkers = 4;
constexpr uint64_t kParent = 1'000'000;  // The parent's token.

// What the workers keep beside the library: how many leases each holds. A byte a worker and a word an instance, so that
// one atomic operation counts a lease and sees what all of them hold at that instant.
struct Account {
  std::array<std::atomic<uint64_t>, kInstances> holders{};
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> acquired{0};
  std::atomic<uint64_t> refused{0};
  std::atomic<uint64_t> to_reap{0};  // A token that any worker takes, and reaps.

  static uint32_t Sum(uint64_t holders) {
    uint32_t sum = 0;
    for (; holders != 0; holders >>= 8) sum += holders & 0xff;
    return sum;
  }
  // After Acquire and before Finish: a worker that is killed in between holds what it isn't seen to hold, never the
  // other way round.
  uint32_t Add(uint32_t instance, uint32_t worker) {
    return Sum(holders[instance].fetch_add(uint64_t{1} << (8 * worker)) + (uint64_t{1} << (8 * worker)));
  }
  void Remove(uint32_t instance, uint32_t worker) { holders[instance].fetch_sub(uint64_t{1} << (8 * worker)); }
  // Before the worker is reaped.
  void Forget(uint32_t worker) {
    for (std::atomic<uint64_t>& word : holders) word.fetch_and(~(uint64_t{0xff} << (8 * worker)));
  }
};

class SharedAccount {
 public:
  SharedAccount() : memory_(sizeof(Account)), account_(new (memory_.data()) Account) {}
  Account* operator->() const { return account_; }

 private:
  test::SharedMemory memory_;
  Account* account_;
};

std::vector<Instance> BoundedInstances() { return MakeInstances(kInstances, kMaxOutstandingEach); }

// Acquires and finishes at random, holding up to 3 leases, until the account says stop or `rounds` are over.
void Hammer(const SharedBlock& block, const SharedAccount& account, uint32_t worker, uint64_t token, uint64_t rounds) {
  const std::unique_ptr<Router> router = block.MakeRouter(token, BoundedInstances());
  ASSERT_NE(router, nullptr);
  std::mt19937_64 random(token);
  std::vector<Lease> held;
  const auto finish_last = [&] {
    account->Remove(held.back().decision().instance, worker);
    held.pop_back();
  };
  uint64_t acquired = 0;
  uint64_t refused = 0;
  for (uint64_t round = 0; round < rounds && !account->stop.load(std::memory_order_relaxed); ++round) {
    if (held.size() == 3 || (!held.empty() && random() % 2 == 0)) {
      finish_last();
    } else {
      const PrefixKey key = PrefixKey::FromHash(random());
      Request request;
      request.key = &key;
      absl::StatusOr<Lease> lease = router->Acquire(request);
      if (lease.ok()) {
        ASSERT_LE(account->Add(lease->decision().instance, worker), kMaxOutstandingEach) << "the bound was passed";
        held.push_back(*std::move(lease));
        ++acquired;
      } else {
        ASSERT_THAT(lease, HasCode(absl::StatusCode::kResourceExhausted));
        ++refused;
      }
    }
    if (account->to_reap.load(std::memory_order_relaxed) != 0) {
      if (const uint64_t dead = account->to_reap.exchange(0)) {
        ASSERT_THAT(router->shared_state()->Reap(dead), IsOk());
      }
    }
    if (round % 1024 == 0) {
      for (uint32_t outstanding : test::OutstandingOf(*router)) ASSERT_LE(outstanding, kMaxOutstandingEach);
    }
  }
  while (!held.empty()) finish_last();
  account->acquired.fetch_add(acquired);
  account->refused.fetch_add(refused);
}

// Nobody holds anything, and nobody but the parent is attached.
void ExpectAllGivenBack(Router& parent) {
  EXPECT_EQ(test::OutstandingOf(parent), std::vector<uint32_t>(kInstances, 0));
  EXPECT_EQ(parent.Stats().outstanding, 0u);
  const std::vector<SharedState::Owner> owners = parent.shared_state()->Owners();
  ASSERT_EQ(owners.size(), 1u);
  EXPECT_EQ(owners[0].token, kParent);
  EXPECT_EQ(owners[0].outstanding, 0u);
}

TEST(ProcessesTest, NeverPassTheBoundTogether) {
  const SharedBlock block({kInstances, kWorkers + 1, kMinPrefixEntries});
  const SharedAccount account;
  const std::unique_ptr<Router> parent = block.MakeRouter(kParent, BoundedInstances());
  const uint64_t rounds = test::Scaled(300'000);
  std::vector<ChildProcess> workers;
  for (uint32_t worker = 0; worker < kWorkers; ++worker) {
    workers.emplace_back([&] { Hammer(block, account, worker, worker + 1, rounds); });
  }
  for (ChildProcess& worker : workers) worker.Join();
  EXPECT_GT(account->acquired.load(), 0u);
  EXPECT_GT(account->refused.load(), 0u) << "the bound was never tried";
  ExpectAllGivenBack(*parent);
}

// Each victim is killed after a random time at full speed, wherever it then is, and its place taken by a new process.
TEST(ProcessesTest, KilledAtAnyPointNothingIsLost) {
  const SharedBlock block({kInstances, kWorkers + 2, kMinPrefixEntries});
  const SharedAccount account;
  const std::unique_ptr<Router> parent = block.MakeRouter(kParent, BoundedInstances());
  uint64_t next_token = 1;
  std::array<uint64_t, kWorkers> tokens{};
  std::vector<ChildProcess> workers;
  const auto make_worker = [&](uint32_t worker) {
    const uint64_t token = tokens[worker] = next_token++;
    return ChildProcess([&block, &account, worker, token] { Hammer(block, account, worker, token, UINT64_MAX); });
  };
  for (uint32_t worker = 0; worker < kWorkers; ++worker) workers.push_back(make_worker(worker));

  std::mt19937 random(1);
  uint64_t found_with_leases = 0;
  const int kills = test::Scaled(250);
  for (int kill = 0; kill < kills && !testing::Test::HasFailure(); ++kill) {
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3'000));
    const uint32_t victim = random() % kWorkers;
    workers[victim].Kill();
    account->Forget(victim);
    const int64_t left = test::OutstandingOf(*parent->shared_state(), tokens[victim]);
    if (left > 0) ++found_with_leases;
    if (left >= 0) {  // Else it was killed before it was attached.
      if (kill % 2 == 0) {
        ASSERT_THAT(parent->shared_state()->Reap(tokens[victim]), IsOk());
      } else {
        account->to_reap.store(tokens[victim]);
        while (test::OutstandingOf(*parent->shared_state(), tokens[victim]) >= 0) std::this_thread::yield();
      }
    }
    for (uint32_t outstanding : test::OutstandingOf(*parent)) ASSERT_LE(outstanding, kMaxOutstandingEach);
    workers[victim] = make_worker(victim);
  }
  account->stop.store(true);
  for (ChildProcess& worker : workers) worker.Join();
  EXPECT_GT(found_with_leases, 0u);
  EXPECT_GT(account->refused.load(), 0u) << "the bound was never tried";
  ExpectAllGivenBack(*parent);
  std::printf("%d killed, %d of them with leases\n", kills, static_cast<int>(found_with_leases));
}

// What one process left is whole, and is what the next goes on with.
TEST(ProcessesTest, AllKilledAtOnceLeaveABlockThatWorks) {
  const SharedBlock block({kInstances, kWorkers + 1, kMinPrefixEntries});
  for (uint64_t round = 0; round < 5; ++round) {
    const SharedAccount account;
    std::vector<ChildProcess> workers;
    for (uint32_t worker = 0; worker < kWorkers; ++worker) {
      workers.emplace_back([&] { Hammer(block, account, worker, round * kWorkers + worker + 1, UINT64_MAX); });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    workers.clear();
    const std::unique_ptr<Router> parent = block.MakeRouter(kParent, BoundedInstances());
    for (const SharedState::Owner& owner : parent->shared_state()->Owners()) {
      if (owner.token != kParent) {
        ASSERT_THAT(parent->shared_state()->Reap(owner.token), IsOk());
      }
    }
    ExpectAllGivenBack(*parent);
    std::vector<Lease> leases;
    for (uint32_t i = 0; i < kInstances * kMaxOutstandingEach; ++i) leases.push_back(test::AcquireOk(*parent, {}));
    EXPECT_THAT(parent->Acquire({}), HasCode(absl::StatusCode::kResourceExhausted));
  }
}

// Stops and starts the child until it is inside a change of membership; false if it never is.
bool StopUnderGuard(const SharedBlock& block, ChildProcess& child, uint64_t token) {
  for (int i = 0; i < 10'000; ++i) {
    while (block.GuardHolder() != token) std::this_thread::yield();
    child.Stop();
    if (block.GuardHolder() == token) return true;
    child.GoOn();
  }
  return false;
}

TEST(ProcessesTest, KilledWhileItChangesMembershipItIsReapedAndAllGoesOn) {
  constexpr uint64_t kVictim = 1;
  // So many that a change takes a while.
  const SharedBlock block({1'000, 4, kMinPrefixEntries});
  const std::vector<Instance> instances = MakeInstances(2);
  std::vector<Instance> its_own = MakeInstances(900);
  for (Instance& instance : its_own) instance.id += "/victim";
  const std::unique_ptr<Router> parent = block.MakeRouter(kParent, instances);
  const std::unique_ptr<Router> other = block.MakeRouter(kParent + 1, instances);
  const Lease lease = test::AcquireOk(*parent, {});
  for (int round = 0; round < 2; ++round) {
    ChildProcess victim([&] {
      const std::unique_ptr<Router> router = block.MakeRouter(kVictim, instances);
      const Lease own = test::AcquireOk(*router, {});
      for (;;) {
        ASSERT_THAT(router->SetInstances(its_own), IsOk());
        ASSERT_THAT(router->SetInstances(instances), IsOk());
      }
    });
    ASSERT_TRUE(StopUnderGuard(block, victim, kVictim));
    victim.Kill();
    ASSERT_EQ(block.GuardHolder(), kVictim);

    const uint64_t fingerprint = parent->MembershipFingerprint();
    EXPECT_THAT(parent->SetInstances(MakeInstances(3)),
                test::StatusIs(absl::StatusCode::kUnavailable, HasSubstr("token 1 ")));
    EXPECT_EQ(parent->MembershipFingerprint(), fingerprint);
    EXPECT_TRUE(test::AcquireOk(*parent, {}).active()) << "requests need no membership";

    EXPECT_THAT(other->shared_state()->Reap(kVictim), IsOk());
    EXPECT_EQ(block.GuardHolder(), 0u);
    EXPECT_THAT(parent->SetInstances(MakeInstances(3)), IsOk());
    EXPECT_THAT(parent->SetInstances(instances), IsOk());
    EXPECT_EQ(parent->Stats().outstanding, 1u);
  }
  // No slot was lost: there is room for as many as ever, beside those two.
  std::vector<Instance> others = MakeInstances(1'000);
  for (Instance& instance : others) instance.id += "/other";
  EXPECT_THAT(parent->SetInstances(MakeInstances(998)), IsOk());
  EXPECT_THAT(parent->SetInstances(others), IsOk());
}

TEST(ProcessesTest, AReaperKilledWhileItReapsIsReapedAndSoIsItsVictim) {
  constexpr uint64_t kVictim = 1;
  constexpr uint64_t kReaper = 2;
  // So many slots that a reaper takes a while to go through them.
  constexpr uint32_t kMany = 30'000;
  constexpr int64_t kLeases = 300;
  const SharedBlock block({kMany, 4, kMinPrefixEntries});
  const std::vector<Instance> instances = MakeInstances(kMany);
  const std::unique_ptr<Router> parent = block.MakeRouter(kParent, instances);
  const SharedState& state = *parent->shared_state();
  const test::SharedMemory memory(sizeof(std::atomic<bool>));
  auto& done = *new (memory.data()) std::atomic<bool>(false);
  int rounds = 0;
  int halfway = 0;
  while (halfway < 5 && rounds < 200) {
    ++rounds;
    done.store(false);
    ChildProcess victim([&] {
      const std::unique_ptr<Router> router = block.MakeRouter(kVictim, instances);
      std::vector<Lease> leases;
      for (int i = 0; i < kLeases; ++i) leases.push_back(test::AcquireOk(*router, test::ForPrefix(std::to_string(i))));
      done.store(true);
      for (;;) pause();
    });
    while (!done.load()) std::this_thread::yield();
    victim.Kill();
    ASSERT_EQ(test::OutstandingOf(state, kVictim), kLeases);

    done.store(false);
    ChildProcess reaper([&] {
      const std::unique_ptr<Router> router = block.MakeRouter(kReaper, {});
      EXPECT_THAT(router->shared_state()->Reap(kVictim), IsOk());
      done.store(true);
      for (;;) pause();
    });
    while (block.GuardHolder() != kReaper && !done.load()) std::this_thread::yield();
    reaper.Kill();

    const int64_t left = test::OutstandingOf(state, kVictim);  // -1: the reaper was done.
    ASSERT_EQ(parent->Stats().outstanding, static_cast<uint64_t>(std::max<int64_t>(left, 0)));
    if (left > 0 && left < kLeases) {
      ++halfway;
      ASSERT_EQ(block.GuardHolder(), kReaper);
      if (halfway == 1) {
        EXPECT_THAT(state.Reap(kVictim), test::StatusIs(absl::StatusCode::kUnavailable, HasSubstr("token 2 ")));
      }
    }
    EXPECT_THAT(state.Reap(kReaper), IsOk());
    EXPECT_THAT(state.Reap(kVictim), HasCode(left < 0 ? absl::StatusCode::kNotFound : absl::StatusCode::kOk));
    EXPECT_EQ(parent->Stats().outstanding, 0u);
    EXPECT_EQ(state.Owners().size(), 1u);
  }
  std::printf("%d of %d reapers were killed halfway\n", halfway, rounds);
  EXPECT_GT(halfway, 0);
}

TEST(ProcessesTest, AForkedChildGivesBackNothingOfItsParents) {
  const SharedBlock block({4, 2, kMinPrefixEntries});
  std::unique_ptr<Router> parent = block.MakeRouter(1, MakeInstances(2));
  ChildProcess child([&] { parent.reset(); });
  child.Join();
  EXPECT_EQ(test::OutstandingOf(*parent->shared_state(), 1), 0) << "still attached";
  EXPECT_EQ(AcquireOk(*parent, {}).id().substr(0, 2), "i-");
}

}  // namespace
}  // namespace prefixroute
