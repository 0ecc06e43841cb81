// SPDX-License-Identifier: Apache-2.0

#include "src/router/thread_stripe.h"

#include <cstdint>
#include <future>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace prefixroute::internal {
namespace {

// The stripes of so many threads that live at once.
std::vector<uint32_t> StripesOf(uint32_t threads) {
  std::vector<uint32_t> stripes(threads);
  std::promise<void> all_have_one;
  const std::shared_future<void> go = all_have_one.get_future().share();
  std::vector<std::promise<void>> has_one(threads);
  std::vector<std::thread> running;
  for (uint32_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i, go] {
      stripes[i] = ThreadStripe();
      has_one[i].set_value();
      go.wait();
      EXPECT_EQ(ThreadStripe(), stripes[i]) << "a thread keeps its own";
    });
  }
  for (std::promise<void>& each : has_one) each.get_future().wait();
  all_have_one.set_value();
  for (std::thread& thread : running) thread.join();
  return stripes;
}

TEST(ThreadStripeTest, LivingThreadsOwnDifferentOnesAndTheRestShare) {
  const std::vector<uint32_t> stripes = StripesOf(3 * kOwnStripes);
  std::set<uint32_t> owned;
  uint32_t sharing = 0;
  for (const uint32_t stripe : stripes) {
    ASSERT_LT(stripe, kStripes);
    if (stripe < kOwnStripes) {
      EXPECT_TRUE(owned.insert(stripe).second) << stripe << " has two owners";
    } else {
      ++sharing;
    }
  }
  EXPECT_GE(owned.size(), kOwnStripes - 1) << "but for the main thread's";
  EXPECT_EQ(sharing, stripes.size() - owned.size());
}

TEST(ThreadStripeTest, OnesOfEndedThreadsAreOwnedAgain) {
  for (uint32_t i = 0; i < 10 * kOwnStripes; ++i) {
    ASSERT_LT(StripesOf(1).front(), kOwnStripes) << "thread " << i;
  }
}

// Destructors of a thread's own objects may route yet, when its stripe is another's already.
struct RoutesAtTheEnd {
  ~RoutesAtTheEnd() { *stripe = ThreadStripe(); }
  uint32_t* stripe = nullptr;
};

TEST(ThreadStripeTest, AThreadThatIsEndingShares) {
  uint32_t at_the_end = 0;
  std::thread([&] {
    thread_local RoutesAtTheEnd last;  // Constructed before the stripe is taken, so destroyed after it was given back.
    last.stripe = &at_the_end;
    EXPECT_LT(ThreadStripe(), kOwnStripes);
  }).join();
  EXPECT_GE(at_the_end, kOwnStripes);
  EXPECT_LT(at_the_end, kStripes);
}

}  // namespace
}  // namespace prefixroute::internal
