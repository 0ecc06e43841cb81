// SPDX-License-Identifier: Apache-2.0
//
// Choosing and reserving are one step, however many threads race. On few cores races are rare: here strategies give way
// to other threads between what they see and what they say.

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "prefixroute/strategy.h"
#include "src/strategy/least_outstanding.h"
#include "src/strategy/random.h"
#include "src/strategy/strict.h"
#include "tests/testing/fleet.h"
#include "tests/testing/scale.h"

namespace prefixroute {
namespace {

using test::IsOk;
using test::MakeInstances;
using test::MakeRouter;
using test::OutstandingOf;
using ::testing::ElementsAre;

// A strategy of the library's, with a pause between what it sees and what it says.
template <typename BuiltIn>
class Slow final : public RoutingStrategy {
 public:
  template <typename... Arguments>
  explicit Slow(Arguments... arguments) : built_in_(arguments...) {}

  Choice Choose(const FleetView& fleet) const noexcept override {
    const Choice choice = built_in_.Choose(fleet);
    std::this_thread::yield();
    return choice;
  }

 private:
  BuiltIn built_in_;
};

// `count` threads that run every round at once.
class Crowd {
 public:
  explicit Crowd(unsigned count) {
    pthread_barrier_init(&barrier_, nullptr, count + 1);
    for (unsigned i = 0; i < count; ++i) threads_.emplace_back([this, i] { Run(i); });
  }
  ~Crowd() {
    work_ = nullptr;
    pthread_barrier_wait(&barrier_);
    for (std::thread& thread : threads_) thread.join();
    pthread_barrier_destroy(&barrier_);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  void Round(std::function<void(unsigned)> work) {
    work_ = std::move(work);
    pthread_barrier_wait(&barrier_);  // They begin.
    pthread_barrier_wait(&barrier_);  // They have ended.
  }

 private:
  void Run(unsigned index) {
    while (true) {
      pthread_barrier_wait(&barrier_);
      if (work_ == nullptr) return;
      work_(index);
      pthread_barrier_wait(&barrier_);
    }
  }

  pthread_barrier_t barrier_;
  std::function<void(unsigned)> work_;
  std::vector<std::thread> threads_;
};

// Does `work` over and over on a thread of its own, from construction to destruction.
class Meanwhile {
 public:
  explicit Meanwhile(std::function<void()> work)
      : thread_([this, work = std::move(work)] {
          while (!stop_) work();
        }) {}
  ~Meanwhile() {
    stop_ = true;
    thread_.join();
  }
  Meanwhile(const Meanwhile&) = delete;
  Meanwhile& operator=(const Meanwhile&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

constexpr unsigned kThreads = 256;

// `count`, fewer under a sanitizer, or what the environment's PREFIXROUTE_RACE_ROUNDS asks for: `tools/check.sh races`.
int Rounds(int count) {
  const char* asked = std::getenv("PREFIXROUTE_RACE_ROUNDS");
  return asked == nullptr ? test::Scaled(count) : std::atoi(asked);
}

struct Rule {
  const char* name;
  RouterOptions built_in;
  std::shared_ptr<const RoutingStrategy> custom;
};

class RaceTest : public ::testing::TestWithParam<Rule> {
 protected:
  RouterOptions Options() const {
    RouterOptions options = GetParam().built_in;
    options.custom_strategy = GetParam().custom;
    return options;
  }
};

Rule LeastOutstanding() {
  return {"LeastOutstanding", test::WithStrategy(Strategy::kLeastOutstandingRequests), nullptr};
}
Rule SlowLeastOutstanding() {
  return {"SlowLeastOutstanding", {}, std::make_shared<Slow<internal::LeastOutstandingStrategy>>()};
}
Rule SlowRandom() { return {"SlowRandom", {}, std::make_shared<Slow<internal::RandomStrategy>>()}; }
Rule PrefixAware() { return {"PrefixAware", {}, nullptr}; }
Rule Strict() { return {"Strict", test::StrictOptions(), nullptr}; }
Rule SlowStrict() {
  return {"SlowStrict", {}, std::make_shared<Slow<internal::StrictStrategy>>(RelativeBound{125, 0, 0})};
}

std::string NameOf(const ::testing::TestParamInfo<Rule>& rule) { return rule.param.name; }
INSTANTIATE_TEST_SUITE_P(, RaceTest,
                         ::testing::Values(LeastOutstanding(), SlowLeastOutstanding(), SlowRandom(), PrefixAware(),
                                           Strict(), SlowStrict()),
                         NameOf);

class LevelRaceTest : public RaceTest {};
INSTANTIATE_TEST_SUITE_P(, LevelRaceTest, ::testing::Values(LeastOutstanding(), SlowLeastOutstanding()), NameOf);

class RelativeBoundRaceTest : public RaceTest {};
INSTANTIATE_TEST_SUITE_P(, RelativeBoundRaceTest, ::testing::Values(Strict(), SlowStrict()), NameOf);

// Changes of membership, draining and options that leave the choice among the four as it is.
class HarmlessWriter {
 public:
  explicit HarmlessWriter(Router& router, uint32_t max_outstanding) : router_(router) {
    with_guest_ = MakeInstances(4, max_outstanding);
    with_guest_.push_back({"guest", 0.0});
    without_guest_ = MakeInstances(4, max_outstanding);
  }
  void operator()() {
    EXPECT_THAT(router_.SetInstances(with_guest_), IsOk());
    EXPECT_THAT(router_.SetDraining("guest", true), IsOk());
    RouterOptions options = router_.options();
    options.max_prefix_bytes = 1 + options.max_prefix_bytes % 1000;
    EXPECT_THAT(router_.SetOptions(options), IsOk());
    EXPECT_THAT(router_.SetInstances(without_guest_), IsOk());
  }

 private:
  Router& router_;
  std::vector<Instance> with_guest_;
  std::vector<Instance> without_guest_;
};

TEST_P(RaceTest, NobodyPassesTheHardBoundAndEveryPlaceIsTaken) {
  constexpr uint32_t kBound = 10;
  const auto router = MakeRouter(Options(), MakeInstances(4, kBound));
  std::atomic<uint32_t> greatest{0};
  const Meanwhile writer(HarmlessWriter(*router, kBound));
  const Meanwhile reader([&] {
    for (const InstanceStats& instance : router->Stats().instances) {
      if (instance.outstanding > greatest) greatest = instance.outstanding;
    }
  });
  Crowd crowd(kThreads);
  std::vector<Lease> leases(kThreads);
  const int rounds = Rounds(60);
  for (int round = 0; round < rounds; ++round) {
    std::atomic<int> refused{0};
    crowd.Round([&](unsigned thread) {
      const std::string prefix = std::to_string(thread);
      absl::StatusOr<Lease> lease = router->Acquire(test::ForPrefix(prefix));
      if (lease.ok()) {
        leases[thread] = *std::move(lease);
      } else if (lease.status().code() == absl::StatusCode::kResourceExhausted) {
        ++refused;
      }
    });
    ASSERT_EQ(refused, 216) << "round " << round;
    ASSERT_EQ(router->Stats().outstanding, 40u) << "round " << round;
    for (uint32_t i = 0; i < 4; ++i) ASSERT_EQ(OutstandingOf(*router)[i], 10u) << "round " << round;
    crowd.Round([&](unsigned thread) { leases[thread].Finish(); });
    ASSERT_EQ(router->Stats().outstanding, 0u) << "round " << round;
  }
  EXPECT_LE(greatest, kBound);
  EXPECT_GT(greatest, 0u);
}

TEST_P(LevelRaceTest, LeastOutstandingKeepsTheIdleLevel) {
  const auto router = MakeRouter(Options(), MakeInstances(4));
  const Meanwhile writer(HarmlessWriter(*router, /*max_outstanding=*/0));
  Crowd crowd(kThreads);
  std::vector<Lease> leases(kThreads);
  const int rounds = Rounds(40);
  for (int round = 0; round < rounds; ++round) {
    crowd.Round([&](unsigned thread) { leases[thread] = test::AcquireOk(*router, {}); });
    const std::vector<uint32_t> outstanding = OutstandingOf(*router);
    ASSERT_THAT(std::vector<uint32_t>(outstanding.begin(), outstanding.begin() + 4), ElementsAre(64, 64, 64, 64))
        << "round " << round;
    crowd.Round([&](unsigned thread) { leases[thread] = Lease(); });
  }
}

TEST_P(RelativeBoundRaceTest, HotPrefixPassesNoInstancesShare) {
  RouterOptions options = Options();
  options.relative_bound = {125, 0, 0};
  const auto router = MakeRouter(options, MakeInstances(4));
  const Meanwhile writer(HarmlessWriter(*router, /*max_outstanding=*/0));
  Crowd crowd(kThreads);
  std::vector<Lease> leases(kThreads);
  const int rounds = Rounds(40);
  for (int round = 0; round < rounds; ++round) {
    crowd.Round([&](unsigned thread) { leases[thread] = test::AcquireOk(*router, test::ForPrefix("hot")); });
    std::vector<uint32_t> outstanding = OutstandingOf(*router);
    outstanding.resize(4);
    std::sort(outstanding.begin(), outstanding.end());
    ASSERT_EQ(outstanding[0] + outstanding[1] + outstanding[2] + outstanding[3], 256u) << "round " << round;
    ASSERT_LE(outstanding[3], 80u) << "round " << round;  // 1.25 * 256 / 4.
    crowd.Round([&](unsigned thread) { leases[thread].Finish(); });
  }
}

// All at once: every kind of request, leases that are held, moved and dropped on other threads, a fleet that comes and
// goes, strategies and options that change. In the end every lease has been given back, and every call was counted.
TEST(ChurnTest, BoundsHoldAndEveryLeaseIsGivenBack) {
  constexpr uint32_t kBound = 3;
  constexpr uint32_t kIds = 12;
  constexpr unsigned kWorkers = 8;
  constexpr uint64_t kChanges = 200;
  RouterOptions options;
  options.max_instances = 64;
  const auto router = MakeRouter(options, MakeInstances(kIds, kBound));
  std::atomic<uint64_t> granted{0};
  std::atomic<uint64_t> exhausted{0};
  std::atomic<uint64_t> unavailable{0};
  std::atomic<uint64_t> others{0};
  std::atomic<uint64_t> reads{0};
  std::atomic<uint64_t> above_bound{0};
  std::atomic<uint64_t> more_than_live{0};
  std::atomic<uint64_t> changes{0};
  {
    const Meanwhile reader([&] {
      const RouterStats stats = router->Stats();
      for (const InstanceStats& instance : stats.instances) {
        if (instance.outstanding > kBound) ++above_bound;
      }
      if (stats.outstanding > kWorkers * 10) ++more_than_live;
      ++reads;
    });
    std::mt19937_64 writer_random(1);
    const auto slow = std::make_shared<Slow<internal::RandomStrategy>>();
    const Meanwhile writer([&] {
      // Lists some of the ids in some order, at times none.
      std::vector<Instance> all = MakeInstances(kIds, kBound);
      std::shuffle(all.begin(), all.end(), writer_random);
      all.resize(writer_random() % (kIds + 1));
      for (Instance& instance : all) instance.weight = static_cast<double>(1 + writer_random() % 3);
      EXPECT_THAT(router->SetInstances(all), IsOk());
      if (!all.empty()) {
        EXPECT_THAT(router->SetDraining(all[writer_random() % all.size()].id, writer_random() % 2 == 0), IsOk());
      }
      RouterOptions changed = router->options();
      changed.custom_strategy = writer_random() % 2 == 0 ? slow : nullptr;
      changed.strategy = static_cast<Strategy>(writer_random() % 3);
      changed.strict_prefix_bytes = writer_random() % 2 * 8192;
      changed.relative_bound = {100 + static_cast<uint32_t>(writer_random() % 100), 0, 0};
      EXPECT_THAT(router->SetOptions(changed), IsOk());
      if (writer_random() % 4 == 0) {
        EXPECT_THAT(router->SetStrategy(static_cast<Strategy>(writer_random() % 3)), IsOk());
      }
      ++changes;
      std::this_thread::yield();
    });

    std::vector<std::thread> workers;
    const int steps = test::Scaled(50'000);
    for (unsigned worker = 0; worker < kWorkers; ++worker) {
      workers.emplace_back([&, worker] {
        std::mt19937_64 random(worker);
        std::vector<Lease> leases(9);
        for (int step = 0; step < steps || changes < kChanges; ++step) {
          if (step % 16 == 0) std::this_thread::yield();  // Or few others run on few cores.
          const std::string prefix = random() % 8 == 0 ? "" : std::to_string(random() % 20);
          const std::string excluded = "i-" + std::to_string(random() % kIds);
          const std::string_view excluded_view = excluded;
          Request request = test::ForPrefix(prefix);
          if (random() % 2 == 0) request.strategy = static_cast<Strategy>(random() % 3);
          if (random() % 2 == 0) request.exclude = absl::MakeConstSpan(&excluded_view, 1);
          absl::StatusOr<Lease> lease = router->Acquire(request);
          if (lease.ok()) {
            ++granted;
            ASSERT_EQ(lease->id().substr(0, 2), "i-");
            if (!request.exclude.empty()) {
              ASSERT_NE(lease->id(), excluded);
            }
            leases[random() % leases.size()] = *std::move(lease);
          } else if (lease.status().code() == absl::StatusCode::kResourceExhausted) {
            ++exhausted;
          } else if (lease.status().code() == absl::StatusCode::kUnavailable) {
            ++unavailable;
          } else {
            ++others;
          }
          if (random() % 4 == 0) leases[random() % leases.size()].Finish();
        }
        // The rest is given back on another thread, half of it by destruction.
        std::thread([leases = std::move(leases)]() mutable {
          for (size_t i = 0; i < leases.size(); i += 2) leases[i].Finish();
        }).join();
      });
    }
    for (std::thread& worker : workers) worker.join();
  }
  const RouterStats stats = router->Stats();
  EXPECT_EQ(stats.outstanding, 0u);
  for (const InstanceStats& instance : stats.instances) EXPECT_EQ(instance.outstanding, 0u);
  uint64_t decisions = 0;
  for (uint64_t count : stats.decisions) decisions += count;
  EXPECT_EQ(decisions, granted);
  EXPECT_EQ(stats.exhausted, exhausted);
  EXPECT_EQ(stats.unavailable, unavailable);
  EXPECT_EQ(others, 0u);
  EXPECT_EQ(above_bound, 0u);
  EXPECT_EQ(more_than_live, 0u);
  // The test has had what it is about.
  EXPECT_GT(reads, 0u);
  EXPECT_GT(granted, 0u);
  EXPECT_GT(exhausted, 0u);
}

}  // namespace
}  // namespace prefixroute
