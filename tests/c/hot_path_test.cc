// SPDX-License-Identifier: Apache-2.0
//
// The hot functions of the C API take no memory and give none back.

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/c.h"
#include "tests/testing/allocations.h"

namespace {

constexpr uint32_t kInstances = 70;

class CHotPathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<prefixroute_instance> instances;
    for (uint32_t i = 0; i < kInstances; ++i) ids_.push_back("i-" + std::to_string(i));
    for (const std::string& id : ids_)
      instances.push_back({sizeof(prefixroute_instance), 2, 1.0, id.data(), id.size()});
    ASSERT_EQ(prefixroute_create(nullptr, instances.data(), instances.size(), &router_, nullptr), PREFIXROUTE_OK);
  }
  void TearDown() override { prefixroute_destroy(router_); }

  // Everything that is hot; the first round of a thread may allocate.
  void ExpectNoHeapCalls() {
    const std::string prompt(100'000, 'x');
    const std::vector<prefixroute_load> loads(kInstances, {1, 0, 0});
    const std::vector<prefixroute_load> full(kInstances, {2, 0, 0});
    const uint32_t exclude[] = {1, 2, 69};
    prefixroute_request request{};
    request.struct_size = sizeof(request);
    request.prefix = prompt.data();
    request.prefix_size = prompt.size();
    request.scope = "model";
    request.scope_size = 5;
    request.exclude_indexes = exclude;
    request.exclude_count = 3;
    prefixroute_decision decision{};
    decision.struct_size = sizeof(decision);
    int bad = 0;
    const auto is = [&](prefixroute_status status, prefixroute_status expected) { bad += status != expected ? 1 : 0; };
    const auto calls = [&] {
      prefixroute_error error;
      is(prefixroute_route(router_, &request, loads.data(), kInstances, &decision, &error), PREFIXROUTE_OK);
      is(prefixroute_route(router_, &request, full.data(), kInstances, &decision, &error),
         PREFIXROUTE_RESOURCE_EXHAUSTED);
      prefixroute_lease lease;
      is(prefixroute_acquire(router_, &request, &lease, &decision, &error), PREFIXROUTE_OK);
      char id[PREFIXROUTE_MAX_ID_BYTES + 1];
      is(prefixroute_lease_id(router_, &lease, id, sizeof(id), nullptr), PREFIXROUTE_OK);
      is(prefixroute_transfer(router_, &lease, "i-5", 3, &error), PREFIXROUTE_OK);
      is(prefixroute_first_token(router_, &lease), PREFIXROUTE_OK);
      is(prefixroute_report_cached_tokens(router_, &lease, 1, 2), PREFIXROUTE_OK);
      is(prefixroute_finish(router_, &lease), PREFIXROUTE_OK);
      is(prefixroute_finish(router_, &lease), PREFIXROUTE_NOT_FOUND);
      uint32_t order[3];
      size_t ranked;
      is(prefixroute_rank(router_, &request, order, 3, &ranked, &error), PREFIXROUTE_OK);
      is(prefixroute_report_load(router_, "i-0", 3, 5, 1, &error), PREFIXROUTE_OK);
      is(prefixroute_forget_cache(router_, "i-0", 3, &error), PREFIXROUTE_OK);
      prefixroute_hasher hasher;
      prefixroute_key key;
      is(prefixroute_hasher_init(&hasher, 1 << 20), PREFIXROUTE_OK);
      is(prefixroute_hasher_add_scope(&hasher, "model", 5), PREFIXROUTE_OK);
      is(prefixroute_hasher_update(&hasher, prompt.data(), prompt.size()), PREFIXROUTE_OK);
      is(prefixroute_hasher_key(&hasher, &key), PREFIXROUTE_OK);
      is(prefixroute_key_make(prompt.data(), prompt.size(), nullptr, 0, 1 << 20, &key), PREFIXROUTE_OK);
    };
    calls();
    EXPECT_EQ(prefixroute::test::HeapCallsOf([&] {
                for (int i = 0; i < 10; ++i) calls();
              }),
              0u);
    EXPECT_EQ(bad, 0);
  }

  std::vector<std::string> ids_;
  prefixroute_router* router_ = nullptr;
};

TEST_F(CHotPathTest, NothingHotTouchesTheHeap) { ExpectNoHeapCalls(); }

TEST_F(CHotPathTest, NorInAnotherThread) {
  std::thread([&] { ExpectNoHeapCalls(); }).join();
}

}  // namespace
