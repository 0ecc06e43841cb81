// SPDX-License-Identifier: Apache-2.0
//
// The library's own src/state/count.h, compiled here on atomics that do one operation a step, so that a test can stop
// an actor before any of them, let others go on, or never let it go on at all: killed.
//
// How an actor is stopped without a thread: its call runs again from its beginning for each step. What it saw before is
// played back, its next operation is done for real, and the one after that ends the run by an exception.

#ifndef PREFIXROUTE_TESTS_STATE_STEPPED_COUNT_H_
#define PREFIXROUTE_TESTS_STATE_STEPPED_COUNT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "prefixroute/instance.h"

namespace prefixroute::stepped {

struct Stopped {};

// One step of one call. `seen` is what the call's operations returned so far.
class Step {
 public:
  explicit Step(::std::vector<uint64_t>& seen) : seen_(seen) { current = this; }
  ~Step() { current = nullptr; }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

  template <typename Operation>
  uint64_t Do(Operation operation) {
    if (played_ == seen_.size()) {
      if (stepped_) throw Stopped();
      stepped_ = true;
      seen_.push_back(operation());
    }
    return seen_[played_++];
  }

  static inline Step* current = nullptr;

 private:
  ::std::vector<uint64_t>& seen_;
  size_t played_ = 0;
  bool stepped_ = false;
};

// What count.h finds under the name of std.
namespace std {

using ::std::memory_order_acquire;

template <typename Value>
class atomic {
 public:
  static constexpr bool is_always_lock_free = true;

  Value load(::std::memory_order = ::std::memory_order_seq_cst) const {
    return Step::current->Do([&] { return value; });
  }
  Value fetch_or(Value bits) {
    return Step::current->Do([&] { return Exchange(value | bits); });
  }
  Value fetch_and(Value bits) {
    return Step::current->Do([&] { return Exchange(value & bits); });
  }
  Value fetch_sub(Value subtrahend) {
    return Step::current->Do([&] { return Exchange(value - subtrahend); });
  }
  // Never fails without cause: that would only be one more turn.
  bool compare_exchange_weak(Value& expected, Value desired) {
    const Value seen = Step::current->Do([&] { return value == expected ? Exchange(desired) : value; });
    const bool exchanged = seen == expected;
    expected = seen;
    return exchanged;
  }

  Value value = 0;  // Outside any step.

 private:
  Value Exchange(Value desired) {
    const Value old = value;
    value = desired;
    return old;
  }
};

}  // namespace std

namespace prefixroute {
using ::prefixroute::kMaxOutstanding;
}

#undef PREFIXROUTE_SRC_STATE_COUNT_H_
#include "src/state/count.h"

using Count = prefixroute::internal::Count;
using Atomic = std::atomic<uint64_t>;

}  // namespace prefixroute::stepped

#endif  // PREFIXROUTE_TESTS_STATE_STEPPED_COUNT_H_
