// SPDX-License-Identifier: Apache-2.0
//
// Wherever memory runs out in a call of C, the call says so, and the router goes on.

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/c.h"

namespace {

// How many allocations are left before one fails; negative: all succeed.
int64_t allocations_left = -1;

void* Allocate(size_t bytes, size_t alignment) {
  if (allocations_left >= 0 && allocations_left-- == 0) return nullptr;
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, bytes) == 0 ? memory : nullptr;
}
// Inlined, GCC would warn that free() gets what operator new gave.
[[gnu::noinline]] void Free(void* memory) { std::free(memory); }

}  // namespace

void* operator new(size_t bytes) {
  if (void* memory = Allocate(bytes, alignof(std::max_align_t))) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  if (void* memory = Allocate(bytes, static_cast<size_t>(alignment))) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { Free(memory); }

namespace {

// Calls with the first allocation failing, then the second, and so on, until none fails; returns how many did.
int FailEachAllocationOf(const std::function<prefixroute_status(prefixroute_error*)>& call) {
  for (int failing = 0;; ++failing) {
    prefixroute_error error{};
    allocations_left = failing;
    const prefixroute_status status = call(&error);
    const bool all_succeeded = allocations_left >= 0;
    allocations_left = -1;
    if (status == PREFIXROUTE_OK && all_succeeded) return failing;
    EXPECT_EQ(status, PREFIXROUTE_OUT_OF_MEMORY) << "at allocation " << failing << ": " << error.text;
    EXPECT_STREQ(error.text, "out of memory");
    if (status != PREFIXROUTE_OUT_OF_MEMORY) return failing;
  }
}

class OutOfMemoryTest : public ::testing::Test {
 protected:
  OutOfMemoryTest() {
    for (int i = 0; i < 20; ++i) ids_.push_back("an instance with a long id " + std::to_string(i));
    for (const std::string& id : ids_) {
      instances_.push_back({sizeof(prefixroute_instance), 0, 1.0, id.data(), id.size()});
    }
  }
  ~OutOfMemoryTest() override { prefixroute_destroy(router_); }

  void Create() {
    ASSERT_EQ(prefixroute_create(nullptr, instances_.data(), instances_.size(), &router_, nullptr), PREFIXROUTE_OK);
  }

  std::vector<std::string> ids_;
  std::vector<prefixroute_instance> instances_;
  prefixroute_router* router_ = nullptr;
};

TEST_F(OutOfMemoryTest, Create) {
  EXPECT_GT(FailEachAllocationOf([&](prefixroute_error* error) {
              return prefixroute_create(nullptr, instances_.data(), instances_.size(), &router_, error);
            }),
            10);
}

TEST_F(OutOfMemoryTest, StatsExplainAndOptions) {
  Create();
  std::vector<prefixroute_instance_stats> stats(20);
  stats[0].struct_size = sizeof(stats[0]);
  EXPECT_GT(FailEachAllocationOf([&](prefixroute_error* error) {
              return prefixroute_get_stats(router_, nullptr, stats.data(), stats.size(), nullptr, error);
            }),
            0);
  std::vector<prefixroute_instance_cost> costs(20);
  costs[0].struct_size = sizeof(costs[0]);
  prefixroute_request request{};
  request.struct_size = sizeof(request);
  request.prefix = "prompt";
  request.prefix_size = 6;
  EXPECT_GT(FailEachAllocationOf([&](prefixroute_error* error) {
              return prefixroute_explain(router_, &request, nullptr, 0, costs.data(), costs.size(), nullptr, error);
            }),
            0);
  EXPECT_GT(FailEachAllocationOf([&](prefixroute_error* error) {
              return prefixroute_set_strategy(router_, PREFIXROUTE_STRATEGY_RANDOM, error);
            }),
            0);
}

TEST_F(OutOfMemoryTest, SetInstancesAndDraining) {
  Create();
  EXPECT_GT(FailEachAllocationOf(
                [&](prefixroute_error* error) { return prefixroute_set_instances(router_, nullptr, 0, error); }),
            0);
  EXPECT_GT(FailEachAllocationOf([&](prefixroute_error* error) {
              return prefixroute_set_instances(router_, instances_.data(), instances_.size(), error);
            }),
            10);
  EXPECT_GT(FailEachAllocationOf([&](prefixroute_error* error) {
              return prefixroute_set_draining(router_, ids_[0].data(), ids_[0].size(), 1, error);
            }),
            0);
  size_t count = 0;
  ASSERT_EQ(prefixroute_get_stats(router_, nullptr, nullptr, 0, &count, nullptr), PREFIXROUTE_OK);
  EXPECT_EQ(count, 20u);
}

}  // namespace
