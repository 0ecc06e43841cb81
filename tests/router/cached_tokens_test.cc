// SPDX-License-Identifier: Apache-2.0
//
// What engines found cached, summed in Stats() beside what was expected.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/state/shared_block.h"
#include "tests/testing/fleet.h"

namespace prefixroute {
namespace {

using test::AcquireOk;
using test::ForPrefix;
using test::IsOk;
using test::MakeInstances;
using test::MakeRouter;

class CachedTokensTest : public ::testing::Test {
 protected:
  Lease AcquireAt(uint32_t instance, const std::string& prompt) {
    const std::vector<uint32_t> others =
        test::AllBut(instance, static_cast<uint32_t>(router_->Stats().instances.size()));
    Request request = ForPrefix(prompt);
    request.exclude_indexes = others;
    return AcquireOk(*router_, request);
  }
  static void ExpectTokens(const Router& router, uint32_t instance, uint64_t prompt, uint64_t cached,
                           uint64_t expected) {
    const InstanceStats stats = router.Stats().instances[instance];
    EXPECT_EQ(stats.prompt_tokens, prompt) << stats.id;
    EXPECT_EQ(stats.cached_tokens, cached) << stats.id;
    EXPECT_EQ(stats.expected_cached_tokens, expected) << stats.id;
  }
  void ExpectTokens(uint32_t instance, uint64_t prompt, uint64_t cached, uint64_t expected) const {
    ExpectTokens(*router_, instance, prompt, cached, expected);
  }

  // All of it is found again, for it ends at a depth.
  const std::string prompt_ = std::string(kPrefixDepths[10], 'x');
  std::unique_ptr<Router> router_ = MakeRouter({}, MakeInstances(2));
};

TEST_F(CachedTokensTest, SumsByInstanceBesideWhatWasExpected) {
  AcquireAt(0, prompt_);  // Says nothing.
  ExpectTokens(0, 0, 0, 0);
  Lease again = AcquireAt(0, prompt_);
  ASSERT_EQ(again.decision().uncached_bytes, 0u);
  again.ReportCachedTokens(300, 400);
  ExpectTokens(0, 400, 300, 400);
  again.Finish();
  ExpectTokens(0, 400, 300, 400);
  AcquireAt(0, prompt_).ReportCachedTokens(0, 1'000);
  ExpectTokens(0, 1'400, 300, 1'400);
  ExpectTokens(1, 0, 0, 0);
}

TEST_F(CachedTokensTest, ExpectedIsTheShareOfThePrefixThatWasExpected) {
  const std::string longer = prompt_ + std::string(2 * prompt_.size(), 'y');
  AcquireAt(1, prompt_);
  Lease lease = AcquireAt(1, longer);
  const Decision decision = lease.decision();
  ASSERT_EQ(decision.matched_bytes, prompt_.size());
  lease.ReportCachedTokens(7, 3'000'000);
  const InstanceStats stats = router_->Stats().instances[1];
  // Bytes and tokens of like shares, up to a byte.
  const uint64_t expected_bytes = stats.expected_cached_tokens * decision.prefix_bytes / stats.prompt_tokens;
  EXPECT_LE(expected_bytes, decision.prefix_bytes - decision.uncached_bytes);
  EXPECT_GE(expected_bytes + 1, decision.prefix_bytes - decision.uncached_bytes);
}

TEST_F(CachedTokensTest, NothingIsExpectedWhereNothingIsRemembered) {
  const RouterOptions strict = test::StrictOptions();
  for (Strategy strategy : {Strategy::kRandom, Strategy::kLeastOutstandingRequests, Strategy::kPrefixAware}) {
    router_ = MakeRouter(strict, MakeInstances(1));
    for (const char* prefix : {"", "prompt"}) {
      Request request = ForPrefix(prefix);
      request.strategy = strategy;
      AcquireOk(*router_, request).ReportCachedTokens(10, 20);
    }
    ExpectTokens(0, 40, 20, 0);
  }
}

TEST_F(CachedTokensTest, CountOncePerLease) {
  Lease lease = AcquireAt(0, "prompt");
  lease.ReportCachedTokens(1, 2);
  const uint64_t expected = router_->Stats().instances[0].expected_cached_tokens;
  lease.ReportCachedTokens(100, 200);
  Lease moved = std::move(lease);
  moved.ReportCachedTokens(100, 200);
  ExpectTokens(0, 2, 1, expected);
}

TEST_F(CachedTokensTest, FinishedAndEmptyLeasesSayNothing) {
  Lease lease = AcquireAt(0, "prompt");
  lease.Finish();
  lease.ReportCachedTokens(100, 200);
  Lease().ReportCachedTokens(100, 200);
  ExpectTokens(0, 0, 0, 0);
}

TEST_F(CachedTokensTest, AMovedLeaseTakesItsReportWithIt) {
  Lease from = AcquireAt(1, prompt_);
  Lease to = std::move(from);
  from.ReportCachedTokens(100, 200);  // NOLINT(bugprone-use-after-move): it owns nothing.
  ExpectTokens(1, 0, 0, 0);
  to.ReportCachedTokens(3, 4);
  // One that had its say takes over one that hasn't.
  to = AcquireAt(0, prompt_);
  to.ReportCachedTokens(5, 6);
  EXPECT_EQ(router_->Stats().instances[1].prompt_tokens, 4u);
  EXPECT_EQ(router_->Stats().instances[0].prompt_tokens, 6u);
}

TEST_F(CachedTokensTest, AnIdThatWasRemovedAndComesBackStartsAnew) {
  AcquireAt(0, prompt_).ReportCachedTokens(1, 2);
  AcquireAt(1, prompt_).ReportCachedTokens(3, 4);
  Lease old = AcquireAt(0, prompt_);
  const uint64_t kept = router_->Stats().instances[1].expected_cached_tokens;
  ASSERT_THAT(router_->SetInstances({{"i-1"}}), IsOk());
  ExpectTokens(0, 4, 3, kept);
  ASSERT_THAT(router_->SetInstances(MakeInstances(2)), IsOk());
  old.ReportCachedTokens(100, 200);
  ExpectTokens(0, 0, 0, 0);
  ExpectTokens(1, 4, 3, kept);
}

TEST_F(CachedTokensTest, ReportsOfAllThreadsAddUp) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([this] {
      for (int i = 0; i < 500; ++i) AcquireOk(*router_, ForPrefix("prompt")).ReportCachedTokens(1, 3);
    });
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t prompt = 0;
  uint64_t cached = 0;
  for (const InstanceStats& instance : router_->Stats().instances) {
    prompt += instance.prompt_tokens;
    cached += instance.cached_tokens;
  }
  EXPECT_EQ(prompt, 12'000u);
  EXPECT_EQ(cached, 4'000u);
}

TEST_F(CachedTokensTest, AreThoseOfAllOwnersOfASharedState) {
  const test::SharedBlock block({4, 3, kMinPrefixEntries});
  const auto one = block.MakeRouter(1, MakeInstances(1), test::StrictOptions());
  const auto other = block.MakeRouter(2, MakeInstances(1), test::StrictOptions());
  AcquireOk(*one, ForPrefix("prompt")).ReportCachedTokens(1, 2);
  AcquireOk(*other, ForPrefix("prompt")).ReportCachedTokens(3, 4);
  ExpectTokens(*one, 0, 6, 4, 0);
  ExpectTokens(*other, 0, 6, 4, 0);
}

TEST_F(CachedTokensTest, GreatestNumbersDoNoHarm) {
  constexpr uint64_t kGreatest = std::numeric_limits<uint64_t>::max();
  AcquireAt(0, prompt_);
  AcquireAt(0, prompt_).ReportCachedTokens(kGreatest, kGreatest);
  const InstanceStats stats = router_->Stats().instances[0];
  EXPECT_GT(stats.prompt_tokens, 0u);
  EXPECT_LE(stats.cached_tokens, stats.prompt_tokens);
  EXPECT_LE(stats.expected_cached_tokens, stats.prompt_tokens);
  ExpectTokens(1, 0, 0, 0);
}

}  // namespace
}  // namespace prefixroute
