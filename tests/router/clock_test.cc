// SPDX-License-Identifier: Apache-2.0
//
// Nothing in a router goes by time. The program has a clock of its own, in place of the C library's.

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/testing/fleet.h"

namespace {

std::atomic<int64_t> seconds_ahead{0};
std::atomic<uint64_t> clock_reads{0};

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  ++clock_reads;
  const int result = static_cast<int>(syscall(SYS_clock_gettime, clock, now));
  now->tv_sec += seconds_ahead;
  return result;
}
extern "C" int gettimeofday(timeval* now, void*) noexcept {
  timespec precise{};
  const int result = clock_gettime(CLOCK_REALTIME, &precise);
  *now = {precise.tv_sec, precise.tv_nsec / 1000};
  return result;
}
extern "C" time_t time(time_t* now) noexcept {
  timespec precise{};
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now != nullptr) *now = precise.tv_sec;
  return precise.tv_sec;
}

namespace prefixroute {
namespace {

constexpr std::chrono::hours kDay(24);

TEST(ClockTest, TheTestsClockIsTheOneThatIsRead) {
  const uint64_t reads = clock_reads;
  const auto before = std::chrono::steady_clock::now();
  seconds_ahead += std::chrono::seconds(kDay).count();
  EXPECT_GE(std::chrono::steady_clock::now() - before, kDay);
  EXPECT_EQ(clock_reads, reads + 2);
}

TEST(ClockTest, LeaseThatIsHeldForADayStillCounts) {
  const auto router = test::MakeRouter({}, test::MakeInstances(3, /*max_outstanding=*/2));
  const std::vector<Lease> held = test::Occupy(*router, 1, 2);
  for (int day = 0; day < 7; ++day) {
    seconds_ahead += std::chrono::seconds(kDay).count();
    for (int i = 0; i < 1000; ++i) {
      const Lease lease = test::AcquireOk(*router, test::ForPrefix("prompt " + std::to_string(i)));
      ASSERT_NE(lease.decision().instance, 1u);
    }
    ASSERT_THAT(router->SetInstances(test::MakeInstances(day % 2 == 0 ? 4 : 3, 2)), test::IsOk());
    EXPECT_EQ(router->Stats().instances[1].outstanding, 2u);
    EXPECT_EQ(router->Stats().outstanding, 2u);
  }
}

TEST(ClockTest, NoCallReadsTheClock) {
  const uint64_t reads = clock_reads;
  {
    const auto router = test::MakeRouter({}, test::MakeInstances(3));
    const std::vector<Load> loads(3);
    for (Strategy strategy :
         {Strategy::kRandom, Strategy::kLeastOutstandingRequests, Strategy::kPrefixAware, Strategy::kRandom}) {
      const Lease lease = test::AcquireOk(*router, test::ForPrefix("prompt"));
      test::RouteOk(*router, test::ForPrefix("prompt"), loads);
      test::OrderOf(*router, test::ForPrefix("prompt"));
      ASSERT_THAT(router->SetStrategy(strategy), test::IsOk());
      ASSERT_THAT(router->SetDraining("i-1", strategy == Strategy::kRandom), test::IsOk());
    }
    ASSERT_THAT(router->SetInstances(test::MakeInstances(2)), test::IsOk());
  }
  EXPECT_EQ(clock_reads, reads);
}

}  // namespace
}  // namespace prefixroute
