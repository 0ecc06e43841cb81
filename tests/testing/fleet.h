// SPDX-License-Identifier: Apache-2.0
//
// Short forms of what nearly every test of a Router does.

#ifndef PREFIXROUTE_TESTS_TESTING_FLEET_H_
#define PREFIXROUTE_TESTS_TESTING_FLEET_H_

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "tests/testing/status_matchers.h"

namespace prefixroute::test {

// Instances "i-0", "i-1" and so on, of weight 1.
inline std::vector<Instance> MakeInstances(uint32_t count, uint32_t max_outstanding = 0) {
  std::vector<Instance> instances;
  for (uint32_t i = 0; i < count; ++i) instances.push_back({"i-" + std::to_string(i), 1.0, max_outstanding});
  return instances;
}

inline RouterOptions WithStrategy(Strategy strategy) {
  RouterOptions options;
  options.strategy = strategy;
  return options;
}

// PREFIX_AWARE in strict mode.
inline RouterOptions StrictOptions(uint64_t strict_prefix_bytes = 8192) {
  RouterOptions options;
  options.strict_prefix_bytes = strict_prefix_bytes;
  return options;
}

// In strict mode too, for the relative bound is of that alone.
inline RouterOptions WithBound(uint32_t factor_percent, uint32_t margin, uint32_t floor) {
  RouterOptions options = StrictOptions();
  options.relative_bound = {factor_percent, margin, floor};
  return options;
}

inline std::unique_ptr<Router> MakeRouter(RouterOptions options, absl::Span<const Instance> instances) {
  absl::StatusOr<std::unique_ptr<Router>> router = Router::Create(std::move(options), instances);
  EXPECT_THAT(router, IsOk());
  return *std::move(router);
}

// What tests that hold for each mode of PREFIX_AWARE, or each strategy, are run with.
struct NamedOptions {
  std::string name;
  RouterOptions options;
};
inline std::vector<NamedOptions> PrefixAwareModes() { return {{"PREFIX_AWARE", {}}, {"STRICT", StrictOptions()}}; }
inline std::vector<NamedOptions> AllStrategies() {
  std::vector<NamedOptions> all = PrefixAwareModes();
  for (Strategy strategy : {Strategy::kRandom, Strategy::kLeastOutstandingRequests}) {
    all.push_back({std::string(StrategyName(strategy)), WithStrategy(strategy)});
  }
  return all;
}
inline std::string NameOf(const ::testing::TestParamInfo<NamedOptions>& info) { return info.param.name; }
// How a failed test names its parameter.
inline void PrintTo(const NamedOptions& named, std::ostream* out) { *out << named.name; }

// `prefix` must outlive the request.
inline Request ForPrefix(std::string_view prefix) {
  Request request;
  request.prefix = prefix;
  return request;
}

inline Lease AcquireOk(Router& router, const Request& request) {
  absl::StatusOr<Lease> lease = router.Acquire(request);
  EXPECT_THAT(lease, IsOk());
  return lease.ok() ? *std::move(lease) : Lease();
}

inline Decision RouteOk(Router& router, const Request& request, absl::Span<const Load> loads) {
  absl::StatusOr<Decision> decision = router.Route(request, loads);
  EXPECT_THAT(decision, IsOk());
  return decision.ok() ? *decision : Decision();
}

// The prefix's whole order, draining and excluded instances and those of weight 0 left out.
inline std::vector<uint32_t> OrderOf(const Router& router, const Request& request) {
  std::vector<uint32_t> order(router.Stats().instances.size());
  const absl::StatusOr<size_t> ranked = router.Rank(request, absl::MakeSpan(order));
  EXPECT_THAT(ranked, IsOk());
  order.resize(ranked.value_or(0));
  return order;
}

// The first `count` of the prefixes "prompt 0", "prompt 1" and so on whose home is the instance `home`.
inline std::vector<std::string> PrefixesWithHome(const Router& router, uint32_t home, size_t count) {
  std::vector<std::string> prefixes;
  for (int i = 0; prefixes.size() < count; ++i) {
    std::string prefix = "prompt " + std::to_string(i);
    uint32_t first = kNoInstance;
    EXPECT_THAT(router.Rank(ForPrefix(prefix), absl::MakeSpan(&first, 1)), IsOk());
    if (first == home) prefixes.push_back(std::move(prefix));
  }
  return prefixes;
}

// All indexes below `size` but `index`: excluded, they leave a request no choice.
inline std::vector<uint32_t> AllBut(uint32_t index, uint32_t size) {
  std::vector<uint32_t> others;
  for (uint32_t i = 0; i < size; ++i) {
    if (i != index) others.push_back(i);
  }
  return others;
}

// Opens `count` leases on the instance `index`, whatever the router's strategy.
inline std::vector<Lease> Occupy(Router& router, uint32_t index, uint32_t count) {
  const std::vector<uint32_t> others = AllBut(index, static_cast<uint32_t>(router.Stats().instances.size()));
  Request request;
  request.strategy = Strategy::kLeastOutstandingRequests;
  request.exclude_indexes = others;
  std::vector<Lease> leases;
  for (uint32_t i = 0; i < count; ++i) leases.push_back(AcquireOk(router, request));
  return leases;
}

// What each instance has outstanding, in the order of SetInstances().
inline std::vector<uint32_t> OutstandingOf(const Router& router) {
  std::vector<uint32_t> outstanding;
  for (const InstanceStats& instance : router.Stats().instances) outstanding.push_back(instance.outstanding);
  return outstanding;
}

inline uint64_t CountOf(const RouterStats& stats, Reason reason) {
  return stats.decisions[static_cast<size_t>(reason)];
}

}  // namespace prefixroute::test

#endif  // PREFIXROUTE_TESTS_TESTING_FLEET_H_
