// SPDX-License-Identifier: Apache-2.0
//
// Memory that forked processes share, and what tests do with it.

#ifndef PREFIXROUTE_TESTS_STATE_SHARED_BLOCK_H_
#define PREFIXROUTE_TESTS_STATE_SHARED_BLOCK_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "prefixroute/shared_state.h"
#include "src/state/layout.h"
#include "tests/testing/status_matchers.h"

namespace prefixroute::test {

// Zeros, shared with all processes that are forked later.
class SharedMemory {
 public:
  explicit SharedMemory(size_t bytes)
      : bytes_(bytes), memory_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    EXPECT_NE(memory_, MAP_FAILED);
  }
  ~SharedMemory() { munmap(memory_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void* data() const { return memory_; }
  size_t size() const { return bytes_; }

 private:
  size_t bytes_;
  void* memory_;
};

// A formatted block.
class SharedBlock {
 public:
  explicit SharedBlock(const SharedStateShape& shape) : memory_(SharedState::BytesNeeded(shape).value_or(0)) {
    EXPECT_THAT(SharedState::Format(memory_.data(), memory_.size(), shape), IsOk());
  }

  void* data() const { return memory_.data(); }
  size_t size() const { return memory_.size(); }

  absl::StatusOr<SharedState> Attach(uint64_t token) const {
    return SharedState::Attach(memory_.data(), memory_.size(), token);
  }
  // A router of its own on the block.
  std::unique_ptr<Router> MakeRouter(uint64_t token, absl::Span<const Instance> instances,
                                     RouterOptions options = {}) const {
    absl::StatusOr<SharedState> state = Attach(token);
    EXPECT_THAT(state, IsOk());
    if (!state.ok()) return nullptr;
    absl::StatusOr<std::unique_ptr<Router>> router = Router::Create(std::move(options), instances, *std::move(state));
    EXPECT_THAT(router, IsOk());
    return router.ok() ? *std::move(router) : nullptr;
  }

  // Who is changing membership; 0: nobody.
  uint64_t GuardHolder() const {
    return static_cast<const internal::BlockHeader*>(memory_.data())->membership_guard.load();
  }

 private:
  SharedMemory memory_;
};

// What the owner has outstanding; -1 if it isn't attached.
inline int64_t OutstandingOf(const SharedState& state, uint64_t token) {
  for (const SharedState::Owner& owner : state.Owners()) {
    if (owner.token == token) return static_cast<int64_t>(owner.outstanding);
  }
  return -1;
}

}  // namespace prefixroute::test

#endif  // PREFIXROUTE_TESTS_STATE_SHARED_BLOCK_H_
