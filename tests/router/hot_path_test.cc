// SPDX-License-Identifier: Apache-2.0
//
// The hot path takes no memory and gives none back.

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/prefix_key.h"
#include "prefixroute/router.h"
#include "tests/testing/allocations.h"
#include "tests/testing/fleet.h"

namespace prefixroute {
namespace {

using test::HeapCallsOf;
using test::IsOk;
using test::MakeInstances;
using test::MakeRouter;

TEST(AllocationCountTest, SeesEveryWayToTheHeap) {
  struct alignas(128) Aligned {
    char bytes[128];
  };
  static void* volatile memory;  // Or the compiler leaves out what it knows to be in vain.
  EXPECT_EQ(HeapCallsOf([] {
              memory = new char[1000];
              delete[] static_cast<char*>(memory);
            }),
            2u);
  EXPECT_EQ(HeapCallsOf([] {
              memory = new Aligned;
              delete static_cast<Aligned*>(memory);
            }),
            2u);
  EXPECT_EQ(HeapCallsOf([] {
              memory = malloc(1000);
              free(memory);
            }),
            2u);
  EXPECT_EQ(HeapCallsOf([] {
              memory = calloc(10, 100);
              free(memory);
            }),
            2u);
}

// A least-outstanding rule from outside.
class CustomStrategy final : public RoutingStrategy {
 public:
  Choice Choose(const FleetView& fleet) const noexcept override {
    Choice choice;
    for (uint32_t i = 0; i < fleet.size(); ++i) {
      if (fleet.eligible(i) && fleet.outstanding(i) < choice.limit) choice = {fleet.outstanding(i) + 1, i};
    }
    return choice;
  }
};

class HotPathTest : public ::testing::Test {
 protected:
  // Route, Acquire, Finish, Rank; their results are checked when nobody counts any more.
  void ExpectNoHeapCalls(const char* what, Router& router, const Request& request, absl::Span<const Load> loads,
                         absl::StatusCode code = absl::StatusCode::kOk) {
    uint64_t heap_calls = 0;
    absl::StatusCode route_code{};
    absl::StatusCode acquire_code{};
    const auto calls = [&] {
      absl::StatusOr<Decision> decision = router.Route(request, loads);
      route_code = decision.status().code();
      absl::StatusOr<Lease> lease = router.Acquire(request);
      acquire_code = lease.status().code();
      if (lease.ok()) {
        Lease moved = *std::move(lease);
        moved.FirstToken();
        moved.Finish();
      }
      uint32_t order[3];
      (void)router.Rank(request, absl::MakeSpan(order));
    };
    calls();  // The first of a thread may.
    heap_calls = HeapCallsOf([&] {
      for (int i = 0; i < 10; ++i) calls();
    });
    EXPECT_EQ(heap_calls, 0u) << what;
    EXPECT_EQ(route_code, code) << what;
    EXPECT_EQ(acquire_code, code) << what;
  }

  void ExpectNoHeapCallsForAnyRequest(const RouterOptions& options) {
    std::vector<Instance> instances = MakeInstances(200, /*max_outstanding=*/4);
    for (size_t i = 0; i < instances.size(); ++i) instances[i].weight = 1.0 + static_cast<double>(i % 3);
    const auto router = MakeRouter(options, instances);
    const std::string prefix(100'000, 'x');
    const std::string_view ids[] = {"i-7", "i-8", "nobody"};
    const uint32_t indexes[] = {0, 64, 199};
    std::vector<uint32_t> all = test::AllBut(200, 200);
    std::vector<Load> loads(200, {1});

    Request request = test::ForPrefix(prefix);
    request.scope = "model";
    ExpectNoHeapCalls("prefix", *router, request, loads);
    ExpectNoHeapCalls("no prefix", *router, {}, loads);
    request.exclude = ids;
    request.exclude_indexes = indexes;
    ExpectNoHeapCalls("exclusions", *router, request, loads);
    const uint32_t home = test::OrderOf(*router, test::ForPrefix(prefix))[0];
    request.exclude_indexes = absl::MakeConstSpan(&home, 1);
    ExpectNoHeapCalls("home excluded", *router, request, loads);
    request.exclude_indexes = all;
    ExpectNoHeapCalls("all excluded", *router, request, loads, absl::StatusCode::kUnavailable);
    for (Strategy strategy : {Strategy::kRandom, Strategy::kLeastOutstandingRequests, Strategy::kPrefixAware}) {
      Request override_request = test::ForPrefix(prefix);
      override_request.strategy = strategy;
      ExpectNoHeapCalls("override", *router, override_request, loads);
    }

    std::vector<std::vector<Lease>> leases;
    const uint32_t hot = test::OrderOf(*router, test::ForPrefix("hot"))[0];
    loads[hot] = {4};
    leases.push_back(test::Occupy(*router, hot, 4));
    ExpectNoHeapCalls("home full", *router, test::ForPrefix("hot"), loads);
    for (uint32_t i = 0; i < 200; ++i) {
      if (i != hot) leases.push_back(test::Occupy(*router, i, 4));
    }
    loads.assign(200, {4});
    ExpectNoHeapCalls("all full", *router, test::ForPrefix(prefix), loads,
                      options.fail_open ? absl::StatusCode::kOk : absl::StatusCode::kResourceExhausted);
    leases.clear();
  }
};

TEST_F(HotPathTest, NoStrategyTouchesTheHeap) {
  for (const auto& [name, options] : test::AllStrategies()) {
    SCOPED_TRACE(name);
    ExpectNoHeapCallsForAnyRequest(options);
  }
}

TEST_F(HotPathTest, NoOptionMakesItTouchTheHeap) {
  RouterOptions options = test::WithBound(100, 0, 0);  // Diverts as often as can be.
  ExpectNoHeapCallsForAnyRequest(options);
  options.fail_open = true;
  ExpectNoHeapCallsForAnyRequest(options);
  options.strict_prefix_bytes = 0;
  ExpectNoHeapCallsForAnyRequest(options);
  options.custom_strategy = std::make_shared<CustomStrategy>();
  ExpectNoHeapCallsForAnyRequest(options);
}

TEST_F(HotPathTest, EveryThreadIsFreeOfTheHeapAfterItsFirstCall) {
  const auto router = MakeRouter({}, MakeInstances(3));
  for (int i = 0; i < 3; ++i) {
    std::thread([&] { ExpectNoHeapCalls("thread", *router, test::ForPrefix("prompt"), std::vector<Load>(3)); }).join();
  }
}

TEST_F(HotPathTest, KeyOfAPrefixInPiecesIsFreeOfTheHeap) {
  const std::string piece(10'000, 'x');
  PrefixKey key;
  EXPECT_EQ(HeapCallsOf([&] {
              PrefixHasher hasher;
              hasher.AddScope("model");
              for (int i = 0; i < 10; ++i) hasher.Update(piece);
              key = hasher.Key();
            }),
            0u);
  EXPECT_FALSE(key.empty());
}

// A weight is a number and not so many points on a ring.
TEST_F(HotPathTest, GreatestWeightTakesTheMemoryOfWeightOne) {
  const auto bytes_of = [](double weight) {
    std::vector<Instance> instances = MakeInstances(10);
    for (Instance& instance : instances) instance.weight = weight;
    const auto router = MakeRouter({}, {});
    const uint64_t before = test::bytes_taken;
    EXPECT_THAT(router->SetInstances(instances), IsOk());
    return test::bytes_taken - before;
  };
  bytes_of(1.0);
  EXPECT_EQ(bytes_of(kMaxWeight), bytes_of(1.0));
}

}  // namespace
}  // namespace prefixroute
