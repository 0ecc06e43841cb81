// SPDX-License-Identifier: Apache-2.0
//
// Both verbs through c.h, in turns with the same through router.h: what the crossing costs.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "benchmarks/micro/deciders.h"
#include "benchmarks/micro/decisions.h"
#include "benchmarks/micro/inputs.h"
#include "benchmarks/micro/turns.h"
#include "prefixroute/c.h"
#include "prefixroute/router.h"

namespace prefixroute {
namespace {

class CRouter {
 public:
  CRouter(Rule rule, int64_t instance_count, int64_t prefix_bytes) {
    const RouterOptions from = OptionsFor(rule, instance_count, prefix_bytes);
    prefixroute_options options;
    prefixroute_options_init(&options, sizeof(options));
    options.strict_prefix_bytes = from.strict_prefix_bytes;
    options.max_instances = from.max_instances;
    const std::vector<Instance> fleet = BenchmarkFleet(instance_count);
    std::vector<prefixroute_instance> instances;
    instances.reserve(fleet.size());
    for (const Instance& instance : fleet) {
      instances.push_back({sizeof(prefixroute_instance), instance.max_outstanding, instance.weight, instance.id.data(),
                           instance.id.size()});
    }
    prefixroute_create(&options, instances.data(), instances.size(), &router_, nullptr);
  }
  ~CRouter() { prefixroute_destroy(router_); }
  CRouter(const CRouter&) = delete;
  CRouter& operator=(const CRouter&) = delete;

  // Null: it could not be made.
  prefixroute_router* get() const { return router_; }

 private:
  prefixroute_router* router_ = nullptr;
};

prefixroute_request RequestFor(std::string_view prompt) {
  prefixroute_request request{};
  request.struct_size = sizeof(request);
  request.prefix = prompt.data();
  request.prefix_size = prompt.size();
  return request;
}

// ByRoute of deciders.h, in C.
class ByCRoute {
 public:
  ByCRoute(const CRouter& router, int64_t instances)
      : router_(router.get()), loads_(static_cast<size_t>(instances), prefixroute_load{4, 0, 0}) {}

  uint32_t operator()(std::string_view prompt) {
    const prefixroute_request request = RequestFor(prompt);
    prefixroute_decision decision;
    decision.struct_size = sizeof(decision);
    const prefixroute_status status =
        prefixroute_route(router_, &request, loads_.data(), loads_.size(), &decision, nullptr);
    return status == PREFIXROUTE_OK ? decision.instance : kNoInstance;
  }

 private:
  prefixroute_router* router_;
  std::vector<prefixroute_load> loads_;
};

// ByAcquire of deciders.h, in C.
class ByCAcquire {
 public:
  ByCAcquire(const CRouter& router, int64_t instances)
      : router_(router.get()), in_flight_(static_cast<size_t>(std::min<int64_t>(4 * instances, 4096))) {}

  uint32_t operator()(std::string_view prompt) {
    const prefixroute_request request = RequestFor(prompt);
    prefixroute_decision decision;
    decision.struct_size = sizeof(decision);
    prefixroute_lease lease;
    if (prefixroute_acquire(router_, &request, &lease, &decision, nullptr) != PREFIXROUTE_OK) return kNoInstance;
    std::swap(lease, in_flight_[oldest_]);
    oldest_ = oldest_ + 1 == in_flight_.size() ? 0 : oldest_ + 1;
    prefixroute_finish(router_, &lease);
    return decision.instance;
  }

 private:
  prefixroute_router* router_;
  std::vector<prefixroute_lease> in_flight_;
  size_t oldest_ = 0;
};

// Counters: ns of C, cpp_ns, and their ratio.
template <typename InC, typename InCpp>
void MeasureBoth(benchmark::State& state, InC in_c, InCpp in_cpp) {
  ShowPrefixes(0, kWarmPrefixes, state.range(1), in_c);
  ShowPrefixes(0, kWarmPrefixes, state.range(1), in_cpp);
  Prompts prompts(static_cast<size_t>(state.range(1)), MostDecisions(state.range(0)), AnyOf(kWarmPrefixes));
  Choices choices(state.range(0));
  uint64_t allocations = 0;
  Turns turns(state, prompts.size(), {"cpp"});
  while (turns.Next()) {
    allocations += TimeDecisions(turns, prompts, in_c, choices);
    allocations += TimeDecisions(turns, prompts, in_cpp, choices);
  }
  turns.Report();
  choices.Report(state);
  if (allocations != 0) state.SkipWithError("a decision allocated memory");
}

void BM_CRoute(benchmark::State& state, Rule rule) {
  const CRouter in_c(rule, state.range(0), state.range(1));
  if (in_c.get() == nullptr) return state.SkipWithError("the router can't be made");
  const auto in_cpp = MakeRouter(rule, state.range(0), state.range(1));
  MeasureBoth(state, ByCRoute(in_c, state.range(0)), ByRoute(*in_cpp, state.range(0)));
}
void BM_CAcquireFinish(benchmark::State& state, Rule rule) {
  const CRouter in_c(rule, state.range(0), state.range(1));
  if (in_c.get() == nullptr) return state.SkipWithError("the router can't be made");
  const auto in_cpp = MakeRouter(rule, state.range(0), state.range(1));
  MeasureBoth(state, ByCAcquire(in_c, state.range(0)), ByAcquire(*in_cpp, state.range(0)));
}

void Few(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"instances", "bytes"})->UseManualTime();
  for (const int64_t instances : {7, 1024}) benchmark->Args({instances, 2 << 10});
}

BENCHMARK_CAPTURE(BM_CRoute, strict, Rule::kStrict)->Apply(Few);
BENCHMARK_CAPTURE(BM_CRoute, prefix_aware, Rule::kPrefixAware)->Apply(Few);
BENCHMARK_CAPTURE(BM_CAcquireFinish, strict, Rule::kStrict)->Apply(Few);
BENCHMARK_CAPTURE(BM_CAcquireFinish, prefix_aware, Rule::kPrefixAware)->Apply(Few);

}  // namespace
}  // namespace prefixroute
