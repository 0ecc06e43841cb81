// SPDX-License-Identifier: Apache-2.0
//
// What an engine had cached is gone when it was restarted, and what the others have stays.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "src/state/prefix_memory.h"
#include "tests/state/shared_block.h"
#include "tests/testing/fleet.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::ForPrefix;
using test::IsOk;
using test::MakeInstances;
using test::StatusIs;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;

class ForgetCacheTest : public ::testing::Test {
 protected:
  // Prompts of 10 bytes to 64 KiB that begin alike two by two, each sent to one or two instances.
  ForgetCacheTest() {
    for (uint32_t i = 0; i < 30; ++i) {
      prompts_.push_back(std::to_string(i / 2) + std::string(uint64_t{10} << i % 13, 'x') + std::to_string(i));
      Send(prompts_[i], i % 3);
      if (i % 4 == 0) Send(prompts_[i], (i + 1) % 3);
    }
  }

  void Send(const std::string& prompt, uint32_t instance) {
    const std::vector<uint32_t> others = test::AllBut(instance, 3);
    Request request = ForPrefix(prompt);
    request.exclude_indexes = others;
    AcquireOk(*router_, request);
  }
  static std::vector<uint64_t> MatchedBy(const Router& router, const std::string& prompt) {
    const absl::StatusOr<std::vector<InstanceCost>> costs = router.Explain(ForPrefix(prompt));
    EXPECT_THAT(costs, IsOk());
    std::vector<uint64_t> matched;
    for (const InstanceCost& cost : *costs) matched.push_back(cost.matched_bytes);
    return matched;
  }
  std::vector<uint64_t> Matched(const std::string& prompt) const { return MatchedBy(*router_, prompt); }

  std::vector<std::string> prompts_;
  std::unique_ptr<Router> router_ = test::MakeRouter({}, MakeInstances(3));
};

TEST_F(ForgetCacheTest, ThatInstanceHasNothingAndTheOthersKeepWhatTheyHave) {
  std::vector<std::vector<uint64_t>> before;
  uint64_t known = 0;
  for (const std::string& prompt : prompts_) {
    before.push_back(Matched(prompt));
    known += before.back()[1];
  }
  ASSERT_GT(known, 0u);
  ASSERT_THAT(router_->ForgetCache("i-1"), IsOk());
  for (size_t i = 0; i < prompts_.size(); ++i) {
    EXPECT_THAT(Matched(prompts_[i]), ElementsAre(before[i][0], 0, before[i][2])) << "prompt " << i;
  }
}

TEST_F(ForgetCacheTest, LearnsAnewAfterwards) {
  ASSERT_THAT(router_->ForgetCache("i-1"), IsOk());
  Send(prompts_[0], 1);
  EXPECT_THAT(Matched(prompts_[0])[1], Gt(0u));
  EXPECT_EQ(Matched(prompts_[4])[1], 0u);
}

TEST_F(ForgetCacheTest, KeepsLeasesAndPendingBytes) {
  const Lease lease = AcquireOk(*router_, ForPrefix("y"));
  const InstanceStats before = router_->Stats().instances[lease.decision().instance];
  ASSERT_THAT(router_->ForgetCache(lease.id()), IsOk());
  const InstanceStats after = router_->Stats().instances[lease.decision().instance];
  EXPECT_EQ(after.outstanding, 1u);
  EXPECT_EQ(after.pending_bytes, before.pending_bytes);
  EXPECT_TRUE(lease.active());
}

TEST_F(ForgetCacheTest, UnknownIdIsNamedAndNothingForgotten) {
  const std::vector<uint64_t> before = Matched(prompts_[0]);
  for (const char* id : {"nobody", "", "i-3"}) {
    EXPECT_THAT(router_->ForgetCache(id),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"" + std::string(id) + "\"")));
  }
  EXPECT_EQ(Matched(prompts_[0]), before);
}

TEST_F(ForgetCacheTest, AnIdThatWasRemovedAndComesBackHasNothing) {
  const std::vector<uint64_t> before = Matched(prompts_[0]);
  ASSERT_GT(before[0], 0u);
  ASSERT_GT(before[1], 0u);
  for (int i = 0; i < 5; ++i) {
    ASSERT_THAT(router_->SetInstances({{"i-1"}, {"i-2"}}), IsOk());
    ASSERT_THAT(router_->SetInstances(MakeInstances(3)), IsOk());
    EXPECT_THAT(Matched(prompts_[0]), ElementsAre(0, before[1], before[2]));
  }
}

// Nor has another instance in its place.
TEST_F(ForgetCacheTest, NobodyInheritsARemovedInstancesCache) {
  ASSERT_THAT(router_->SetInstances({{"new-0"}, {"new-1"}, {"new-2"}}), IsOk());
  for (const std::string& prompt : prompts_) EXPECT_THAT(Matched(prompt), ElementsAre(0, 0, 0));
}

// Generations wrap. What comes to life again by that is a wrong hint, and the next call takes it away.
TEST_F(ForgetCacheTest, SoManyCallsThatGenerationsWrapDoNoHarm) {
  const uint64_t before = Matched(prompts_[0])[1];
  for (uint32_t i = 0; i <= internal::Holder::kGenerationMask; ++i) {
    ASSERT_EQ(Matched(prompts_[0])[1], i == 0 ? before : 0);
    ASSERT_THAT(router_->ForgetCache("i-1"), IsOk());
  }
  EXPECT_LE(Matched(prompts_[0])[1], before);
  ASSERT_THAT(router_->ForgetCache("i-1"), IsOk());
  EXPECT_EQ(Matched(prompts_[0])[1], 0u);
  Send(prompts_[0], 1);
  EXPECT_EQ(Matched(prompts_[0])[1], before);
}

TEST_F(ForgetCacheTest, RoutersOfOneSharedStateForgetTogether) {
  const test::SharedBlock block({4, 3, kMinPrefixEntries});
  const auto one = block.MakeRouter(1, MakeInstances(3));
  const auto other = block.MakeRouter(2, MakeInstances(3));
  const std::string prompt(1'000, 'x');
  const Lease lease = AcquireOk(*one, ForPrefix(prompt));
  const uint32_t instance = lease.decision().instance;
  ASSERT_GT(MatchedBy(*other, prompt)[instance], 0u);
  ASSERT_THAT(other->ForgetCache(lease.id()), IsOk());
  for (const Router* router : {one.get(), other.get()}) EXPECT_THAT(MatchedBy(*router, prompt), ElementsAre(0, 0, 0));
}

}  // namespace
}  // namespace prefixroute
