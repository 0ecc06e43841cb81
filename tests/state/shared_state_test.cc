// SPDX-License-Identifier: Apache-2.0
//
// Several routers on one block, within one process: what processes do to each other is in processes_test.cc.

#include "prefixroute/shared_state.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "src/state/layout.h"
#include "tests/state/shared_block.h"
#include "tests/testing/fleet.h"
#include "tests/testing/status_matchers.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::HasCode;
using test::IsOk;
using test::MakeInstances;
using test::SharedBlock;
using test::SharedMemory;
using test::StatusIs;
using testing::AllOf;
using testing::HasSubstr;

constexpr SharedStateShape kSmall{4, 3, kMinPrefixEntries};

std::string BytesOf(const SharedMemory& memory) {
  return std::string(static_cast<const char*>(memory.data()), memory.size());
}

// Any eligible instance, after a pause in which others come in between.
class FirstAfterAPause final : public RoutingStrategy {
 public:
  Choice Choose(const FleetView& fleet) const noexcept override {
    Choice choice;
    choice.instance = RendezvousFirst(fleet.nodes(), fleet.random(), [&](uint32_t i) { return fleet.eligible(i); });
    std::this_thread::yield();
    return choice;
  }
};

internal::BlockHeader& HeaderOf(void* memory) { return *static_cast<internal::BlockHeader*>(memory); }

TEST(SharedStateShapeTest, OutOfRangeIsNamedWithItsValue) {
  const auto expect_refused = [](const SharedStateShape& shape, const char* field, const char* value) {
    SharedMemory memory(1 << 20);
    const std::string before = BytesOf(memory);
    const auto matcher = StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr(field), HasSubstr(value)));
    EXPECT_THAT(SharedState::BytesNeeded(shape), matcher);
    EXPECT_THAT(SharedState::Format(memory.data(), memory.size(), shape), matcher);
    EXPECT_EQ(BytesOf(memory), before);
  };
  expect_refused({0, 2}, "max_instances", " 0,");
  expect_refused({65'537, 2}, "max_instances", "65537");
  expect_refused({UINT32_MAX, 2}, "max_instances", "4294967295");
  expect_refused({1, 0}, "max_owners", " 0,");
  expect_refused({1, 1}, "max_owners", " 1,");
  expect_refused({1, 1'025}, "max_owners", "1025");
  expect_refused({1, 2, 0}, "prefix_entries", " 0,");
  expect_refused({1, 2, 512}, "prefix_entries", "512");
  expect_refused({1, 2, 1'025}, "prefix_entries", "1025");
  expect_refused({1, 2, 2 * kMaxPrefixEntries}, "prefix_entries", "134217728");
}

TEST(SharedStateShapeTest, BytesAreAboutWhatTheHeaderSays) {
  for (uint32_t instances : {1u, 100u, 65'536u}) {
    for (uint32_t owners : {2u, 64u, 1'024u}) {
      for (uint32_t entries : {kMinPrefixEntries, kDefaultPrefixEntries, kMaxPrefixEntries}) {
        const absl::StatusOr<size_t> bytes = SharedState::BytesNeeded({instances, owners, entries});
        ASSERT_THAT(bytes, IsOk());
        const size_t expected = instances * (740 + 32 * size_t{owners}) + 64 * size_t{entries};
        EXPECT_GE(*bytes, expected) << instances << " " << owners;
        // Two slots are rounded up to cache lines; and there is a header, with a word for each owner.
        EXPECT_LE(*bytes, expected + 2 * 64 * size_t{instances} + 512 + 8 * size_t{owners})
            << instances << " " << owners;
      }
    }
  }
}

TEST(SharedStateFormatTest, BadMemoryIsNamedAndNotTouched) {
  SharedMemory memory(1 << 20);
  auto* bytes = static_cast<unsigned char*>(memory.data());
  std::memset(bytes, 0x5a, memory.size());
  const std::string before = BytesOf(memory);
  const size_t needed = *SharedState::BytesNeeded(kSmall);

  EXPECT_THAT(SharedState::Format(nullptr, needed, kSmall),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("memory is null")));
  for (size_t offset : {1, 8, 32, 63}) {
    EXPECT_THAT(SharedState::Format(bytes + offset, needed, kSmall),
                StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr("memory is at"), HasSubstr("64"))));
  }
  for (size_t too_small : {size_t{0}, size_t{1}, sizeof(internal::BlockHeader), needed - 1}) {
    EXPECT_THAT(SharedState::Format(bytes, too_small, kSmall),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("bytes is " + std::to_string(too_small)), HasSubstr(std::to_string(needed)))));
  }
  EXPECT_EQ(BytesOf(memory), before);
}

TEST(SharedStateFormatTest, StaysWithinTheBytesItNeeds) {
  SharedMemory memory(1 << 20);
  auto* bytes = static_cast<unsigned char*>(memory.data());
  std::memset(bytes, 0x5a, memory.size());
  const size_t needed = *SharedState::BytesNeeded(kSmall);
  ASSERT_THAT(SharedState::Format(bytes, memory.size(), kSmall), IsOk());
  for (size_t i = needed; i < memory.size(); ++i) ASSERT_EQ(bytes[i], 0x5a);
  EXPECT_THAT(SharedState::Attach(bytes, needed, 1), IsOk()) << "what lay there before doesn't matter";
}

TEST(SharedStateFormatTest, ABlockInUseIsNotFormattedAgain) {
  const SharedBlock block(kSmall);
  const std::unique_ptr<Router> router = block.MakeRouter(1, MakeInstances(2));
  const Lease lease = AcquireOk(*router, {});
  EXPECT_THAT(SharedState::Format(block.data(), block.size(), kSmall),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("memory holds a block already")));
  EXPECT_THAT(SharedState::Format(block.data(), block.size(), {2, 2, kMinPrefixEntries}),
              HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(router->Stats().outstanding, 1u);
}

TEST(SharedStateAttachTest, WhatIsNoBlockIsNamedAndNotTouched) {
  const SharedBlock block(kSmall);
  const std::string formatted(static_cast<const char*>(block.data()), block.size());
  SharedMemory memory(block.size() + 64);
  auto* bytes = static_cast<unsigned char*>(memory.data());

  struct Case {
    const char* name;
    std::function<void(internal::BlockHeader&)> break_header;
    absl::StatusCode code;
    const char* message;
  };
  const std::vector<Case> cases{
      {"not formatted", [](auto& header) { header.magic.store(0); }, absl::StatusCode::kInvalidArgument,
       "not formatted"},
      {"something else", [](auto& header) { header.magic.fetch_xor(1); }, absl::StatusCode::kInvalidArgument,
       "not formatted"},
      {"an older layout", [](auto& header) { header.layout_version = 1; }, absl::StatusCode::kFailedPrecondition,
       "layout version is 1"},
      {"a newer layout", [](auto& header) { header.layout_version = 77; }, absl::StatusCode::kFailedPrecondition,
       "layout version is 77"},
      {"more instances than bytes", [](auto& header) { ++header.max_instances; }, absl::StatusCode::kInvalidArgument,
       "contradicts itself"},
      {"no instances", [](auto& header) { header.max_instances = 0; }, absl::StatusCode::kInvalidArgument,
       "contradicts itself"},
      {"too many instances", [](auto& header) { header.max_instances = UINT32_MAX; },
       absl::StatusCode::kInvalidArgument, "contradicts itself"},
      {"more owners than bytes", [](auto& header) { header.max_owners += 100; }, absl::StatusCode::kInvalidArgument,
       "contradicts itself"},
      {"one owner", [](auto& header) { header.max_owners = 1; }, absl::StatusCode::kInvalidArgument,
       "contradicts itself"},
      {"too many owners", [](auto& header) { header.max_owners = UINT32_MAX; }, absl::StatusCode::kInvalidArgument,
       "contradicts itself"},
      {"other prefix entries", [](auto& header) { header.prefix_entries *= 2; }, absl::StatusCode::kInvalidArgument,
       "contradicts itself"},
      {"prefix entries that are none", [](auto& header) { --header.prefix_entries; },
       absl::StatusCode::kInvalidArgument, "contradicts itself"},
      {"other bytes", [](auto& header) { header.bytes += 64; }, absl::StatusCode::kInvalidArgument,
       "contradicts itself"},
  };
  for (const Case& bad : cases) {
    std::memcpy(bytes, formatted.data(), formatted.size());
    bad.break_header(HeaderOf(bytes));
    const std::string before = BytesOf(memory);
    EXPECT_THAT(SharedState::Attach(bytes, memory.size(), 1), StatusIs(bad.code, HasSubstr(bad.message))) << bad.name;
    EXPECT_EQ(BytesOf(memory), before) << bad.name;
  }

  std::memcpy(bytes, formatted.data(), formatted.size());
  const std::string before = BytesOf(memory);
  EXPECT_THAT(SharedState::Attach(nullptr, block.size(), 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("memory is null")));
  EXPECT_THAT(SharedState::Attach(bytes + 8, block.size(), 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not aligned to 64")));
  EXPECT_THAT(SharedState::Attach(bytes, block.size(), 0),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("token is 0")));
  for (size_t truncated : {size_t{0}, size_t{8}, sizeof(internal::BlockHeader), block.size() - 1}) {
    EXPECT_THAT(SharedState::Attach(bytes, truncated, 1),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bytes is " + std::to_string(truncated))));
  }
  EXPECT_EQ(BytesOf(memory), before);
}

TEST(SharedStateAttachTest, ATokenIsAttachedOnce) {
  const SharedBlock block(kSmall);
  absl::StatusOr<SharedState> first = block.Attach(77);
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ(first->token(), 77u);
  EXPECT_THAT(block.Attach(77), StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("token 77")));
  EXPECT_EQ(first->Owners().size(), 1u);
  { const SharedState gone = *std::move(first); }
  EXPECT_THAT(block.Attach(77), IsOk()) << "the destructor gives the column back";
}

TEST(SharedStateAttachTest, AsManyAsTheShapeHasOwners) {
  const SharedBlock block(kSmall);
  std::vector<SharedState> states;
  for (uint64_t token : {UINT64_MAX, uint64_t{1}, uint64_t{2}}) {
    absl::StatusOr<SharedState> state = block.Attach(token);
    ASSERT_THAT(state, IsOk());
    states.push_back(*std::move(state));
  }
  EXPECT_THAT(block.Attach(4), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("all 3 owners")));
  EXPECT_EQ(states[0].Owners().size(), 3u);
  states.pop_back();
  EXPECT_THAT(block.Attach(4), IsOk());
}

TEST(SharedStateAttachTest, AssignmentGivesTheOldColumnBack) {
  const SharedBlock block(kSmall);
  absl::StatusOr<SharedState> first = block.Attach(1);
  absl::StatusOr<SharedState> second = block.Attach(2);
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(second, IsOk());
  *first = *std::move(second);
  EXPECT_EQ(first->token(), 2u);
  ASSERT_EQ(first->Owners().size(), 1u);
  EXPECT_EQ(first->Owners()[0].token, 2u);
}

TEST(SharedStateTest, BoundsHoldForAllRoutersTogether) {
  const SharedBlock block(kSmall);
  const std::vector<Instance> instances = MakeInstances(2, /*max_outstanding=*/3);
  const std::unique_ptr<Router> one = block.MakeRouter(1, instances);
  const std::unique_ptr<Router> two = block.MakeRouter(2, {instances[1], instances[0]});
  std::vector<Lease> leases;
  for (int i = 0; i < 6; ++i) leases.push_back(AcquireOk(i % 2 == 0 ? *one : *two, {}));
  EXPECT_THAT(one->Acquire({}), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(two->Acquire({}), HasCode(absl::StatusCode::kResourceExhausted));
  for (const Router* router : {one.get(), two.get()}) {
    EXPECT_EQ(test::OutstandingOf(*router), (std::vector<uint32_t>{3, 3})) << "all owners' requests count";
    EXPECT_EQ(router->Stats().outstanding, 6u);
  }
  EXPECT_EQ(test::OutstandingOf(*one->shared_state(), 1), 3);
  EXPECT_EQ(test::OutstandingOf(*one->shared_state(), 2), 3);
  leases.pop_back();
  EXPECT_TRUE(AcquireOk(*one, {}).active());
}

TEST(SharedStateTest, ARouterOfItsOwnHasNone) {
  EXPECT_EQ(test::MakeRouter({}, MakeInstances(1))->shared_state(), nullptr);
}

TEST(SharedStateTest, ReapTakesBackWhatIsLeftAndFreesTheColumn) {
  const SharedBlock block(kSmall);
  const std::vector<Instance> instances = MakeInstances(2);
  const std::unique_ptr<Router> survivor = block.MakeRouter(1, instances);
  std::vector<Lease> kept;
  for (int i = 0; i < 3; ++i) kept.push_back(AcquireOk(*survivor, {}));
  std::vector<Lease> lost;
  {
    const std::unique_ptr<Router> dead = block.MakeRouter(2, instances);
    for (int i = 0; i < 5; ++i) lost.push_back(AcquireOk(*dead, {}));
  }
  const SharedState& state = *survivor->shared_state();
  EXPECT_EQ(test::OutstandingOf(state, 2), 5) << "open leases keep the column";
  EXPECT_THAT(block.Attach(2), HasCode(absl::StatusCode::kAlreadyExists));
  EXPECT_EQ(survivor->Stats().outstanding, 8u);

  EXPECT_THAT(state.Reap(2), IsOk());
  EXPECT_EQ(test::OutstandingOf(state, 2), -1);
  EXPECT_EQ(survivor->Stats().outstanding, 3u);
  lost.clear();
  EXPECT_EQ(survivor->Stats().outstanding, 3u) << "what a reaped owner gives back is ignored";
  EXPECT_THAT(block.Attach(2), IsOk());
}

TEST(SharedStateTest, ReapFreesTheSlotsOfWhatOnlyTheDeadHad) {
  const SharedBlock block({2, 2, kMinPrefixEntries});  // Room for four.
  const std::unique_ptr<Router> survivor = block.MakeRouter(1, {{"a"}, {"b"}});
  const Lease lost = AcquireOk(*block.MakeRouter(2, {{"c"}, {"d"}}), {});
  EXPECT_THAT(survivor->SetInstances({{"e"}, {"f"}}), HasCode(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(survivor->shared_state()->Reap(2), IsOk());
  EXPECT_THAT(survivor->SetInstances({{"e"}, {"f"}}), IsOk());
  EXPECT_THAT(survivor->SetInstances({{"c"}, {"d"}}), IsOk());
  EXPECT_EQ(test::OutstandingOf(*survivor), (std::vector<uint32_t>{0, 0}));
}

TEST(SharedStateTest, ReapRefusesWhomItMustNot) {
  const SharedBlock block(kSmall);
  const std::unique_ptr<Router> router = block.MakeRouter(7, MakeInstances(1));
  const Lease lease = AcquireOk(*router, {});
  const SharedState& state = *router->shared_state();
  EXPECT_THAT(state.Reap(7), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("token 7")));
  EXPECT_THAT(state.Reap(0), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("token is 0")));
  EXPECT_THAT(state.Reap(8), StatusIs(absl::StatusCode::kNotFound, HasSubstr("token 8")));
  EXPECT_EQ(router->Stats().outstanding, 1u);
  EXPECT_EQ(block.GuardHolder(), 0u) << "a refusal leaves nothing locked";
}

TEST(SharedStateTest, AReloadKeepsTheCountsOfOpenRequests) {
  const SharedBlock block(kSmall);
  const std::vector<Instance> instances = MakeInstances(2, /*max_outstanding=*/2);
  std::unique_ptr<Router> old_router = block.MakeRouter(1, instances);
  std::vector<Lease> old_leases;
  for (int i = 0; i < 3; ++i) old_leases.push_back(AcquireOk(*old_router, {}));

  const std::unique_ptr<Router> new_router = block.MakeRouter(2, instances);
  EXPECT_EQ(new_router->Stats().outstanding, 3u);
  const Lease lease = AcquireOk(*new_router, {});
  EXPECT_THAT(new_router->Acquire({}), HasCode(absl::StatusCode::kResourceExhausted));

  // The old router goes, while its requests go on.
  old_router.reset();
  EXPECT_EQ(new_router->Stats().outstanding, 4u);
  EXPECT_EQ(old_leases[0].id().substr(0, 2), "i-") << "a lease outlives its router";
  old_leases.clear();
  EXPECT_EQ(new_router->Stats().outstanding, 1u);
  EXPECT_THAT(new_router->shared_state()->Reap(1), IsOk());
  EXPECT_EQ(new_router->shared_state()->Owners().size(), 1u);
  EXPECT_EQ(new_router->Stats().outstanding, 1u);
}

TEST(SharedStateTest, ALeaseOfAReapedRouterTakesNothingFromWhoHasItsColumnNow) {
  const SharedBlock block({4, 2, kMinPrefixEntries});
  const std::vector<Instance> instances = MakeInstances(1, /*max_outstanding=*/1);
  const std::unique_ptr<Router> reaper = block.MakeRouter(1, instances);
  std::unique_ptr<Router> old_router = block.MakeRouter(2, instances);
  Lease old_lease = AcquireOk(*old_router, {});
  old_router.reset();
  EXPECT_THAT(reaper->shared_state()->Reap(2), IsOk());

  const std::unique_ptr<Router> new_router = block.MakeRouter(3, instances);
  const Lease lease = AcquireOk(*new_router, {});
  old_lease.Finish();
  EXPECT_EQ(new_router->Stats().outstanding, 1u);
  EXPECT_THAT(new_router->Acquire({}), HasCode(absl::StatusCode::kResourceExhausted));
}

TEST(SharedStateTest, AReapedRouterThatLivesReservesNothing) {
  const SharedBlock block({4, 2, kMinPrefixEntries});
  const std::unique_ptr<Router> reaper = block.MakeRouter(1, MakeInstances(1));
  std::unique_ptr<Router> reaped = block.MakeRouter(2, MakeInstances(1));
  EXPECT_THAT(reaper->shared_state()->Reap(2), IsOk());
  const std::unique_ptr<Router> heir = block.MakeRouter(3, MakeInstances(1));
  EXPECT_THAT(reaped->Acquire({}), HasCode(absl::StatusCode::kResourceExhausted));
  reaped.reset();
  EXPECT_EQ(heir->shared_state()->Owners().size(), 2u) << "it gives back no column but its own";
}

TEST(SharedStateTest, MovedFromItAnswersEveryCall) {
  const SharedBlock block(kSmall);
  absl::StatusOr<SharedState> state = block.Attach(1);
  ASSERT_THAT(state, IsOk());
  const SharedState moved_to = *std::move(state);
  EXPECT_EQ(state->token(), 0u);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(state->Owners().empty());
  EXPECT_THAT(state->Reap(2), HasCode(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(moved_to.token(), 1u);
}

// Each router changes its fleet while its own threads acquire. A slot that is given up while somebody can still reserve
// there would be the other's by the time the lease reads its id.
TEST(SharedStateTest, ASlotIsGivenUpOnlyWhenNobodyCanReserveThere) {
  const SharedBlock block({4, 2, kMinPrefixEntries});
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> acquired{0};
  std::atomic<uint64_t> strange{0};
  RouterOptions options;
  options.custom_strategy = std::make_shared<FirstAfterAPause>();
  const std::unique_ptr<Router> routers[] = {block.MakeRouter(1, {{"a"}}, options),
                                             block.MakeRouter(2, {{"b"}}, options)};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    Router& router = *routers[i];
    const char own = i == 0 ? 'a' : 'b';
    for (int thread = 0; thread < 2; ++thread) {
      threads.emplace_back([&, own] {
        while (!stop) {
          const absl::StatusOr<Lease> lease = router.Acquire({});
          if (!lease.ok()) continue;
          ++acquired;
          if (lease->id().empty() || lease->id()[0] != own) ++strange;
        }
      });
    }
    threads.emplace_back([&, own] {
      for (int change = 0; change < 3'000; ++change) {
        const Instance fleet[] = {{own + std::to_string(2 * change)}, {own + std::to_string(2 * change + 1)}};
        (void)router.SetInstances(fleet);
      }
      stop = true;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(acquired, 0u);
  EXPECT_EQ(strange, 0u);
}

TEST(SharedStateTest, AnOwnersRemovalIsItsOwn) {
  const SharedBlock block(kSmall);
  const std::vector<Instance> instances = MakeInstances(2);
  const std::unique_ptr<Router> one = block.MakeRouter(1, instances);
  const std::unique_ptr<Router> two = block.MakeRouter(2, instances);
  const std::vector<Lease> leases = test::Occupy(*two, 1, 2);
  ASSERT_THAT(one->SetInstances({instances[0]}), IsOk());
  EXPECT_EQ(test::OutstandingOf(*two), (std::vector<uint32_t>{0, 2}));
  // It is still the other's instance, and one instance to all of them.
  ASSERT_THAT(one->SetInstances(instances), IsOk());
  EXPECT_EQ(test::OutstandingOf(*one), (std::vector<uint32_t>{0, 2}));
}

TEST(SharedStateTest, AnIdThatEveryoneRemovedComesBackAtZero) {
  const SharedBlock block(kSmall);
  const std::vector<Instance> instances = MakeInstances(2);
  const std::unique_ptr<Router> one = block.MakeRouter(1, instances);
  const std::unique_ptr<Router> two = block.MakeRouter(2, instances);
  std::vector<Lease> leases = test::Occupy(*two, 1, 2);
  ASSERT_THAT(one->SetInstances({instances[0]}), IsOk());
  ASSERT_THAT(two->SetInstances({instances[0]}), IsOk());
  ASSERT_THAT(one->SetInstances(instances), IsOk());
  EXPECT_EQ(test::OutstandingOf(*one), (std::vector<uint32_t>{0, 0}));
  EXPECT_EQ(one->Stats().outstanding, 2u) << "the old requests still go on";
  const std::vector<Lease> new_leases = test::Occupy(*one, 1, 1);
  EXPECT_EQ(leases[0].id(), "i-1");
  leases.clear();
  EXPECT_EQ(test::OutstandingOf(*one), (std::vector<uint32_t>{0, 1})) << "old leases give back to the old count";
  EXPECT_EQ(one->Stats().outstanding, 1u);
}

}  // namespace
}  // namespace prefixroute
