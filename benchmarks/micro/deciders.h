// SPDX-License-Identifier: Apache-2.0
//
// The two verbs, as functions from a prompt to an instance; kNoInstance where the request is refused. Each is for one
// thread.

#ifndef PREFIXROUTE_BENCHMARKS_MICRO_DECIDERS_H_
#define PREFIXROUTE_BENCHMARKS_MICRO_DECIDERS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "prefixroute/router.h"

namespace prefixroute {

// Route, where all instances have the same load.
class ByRoute {
 public:
  ByRoute(Router& router, int64_t instances) : router_(router), loads_(static_cast<size_t>(instances), Load{4}) {}

  uint32_t operator()(std::string_view prompt) {
    request_.prefix = prompt;
    const absl::StatusOr<Decision> decision = router_.Route(request_, loads_);
    return decision.ok() ? decision->instance : kNoInstance;
  }

 private:
  Router& router_;
  std::vector<Load> loads_;
  Request request_;
};

// Acquire, and Finish of the oldest of those in flight, of which there are four an instance.
class ByAcquire {
 public:
  ByAcquire(Router& router, int64_t instances)
      : router_(router), in_flight_(static_cast<size_t>(std::min<int64_t>(4 * instances, 4096))) {}

  uint32_t operator()(std::string_view prompt) {
    request_.prefix = prompt;
    absl::StatusOr<Lease> lease = router_.Acquire(request_);
    if (!lease.ok()) return kNoInstance;
    const uint32_t instance = lease->decision().instance;
    in_flight_[oldest_].lease = *std::move(lease);
    oldest_ = oldest_ + 1 == in_flight_.size() ? 0 : oldest_ + 1;
    return instance;
  }

 private:
  struct alignas(128) Place {  // In no line that another thread writes.
    Lease lease;
  };

  Router& router_;
  std::vector<Place> in_flight_;
  size_t oldest_ = 0;
  Request request_;
};

}  // namespace prefixroute

#endif  // PREFIXROUTE_BENCHMARKS_MICRO_DECIDERS_H_
