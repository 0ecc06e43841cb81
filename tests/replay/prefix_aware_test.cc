// SPDX-License-Identifier: Apache-2.0
//
// What PREFIX_AWARE is worth on generated traffic, against the other rules on the same arrivals. Orders of size, not
// decimals: docs/prefix_aware.md has those.

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/replay/fleet_simulator.h"
#include "benchmarks/replay/report.h"
#include "benchmarks/replay/rules/rules.h"
#include "benchmarks/replay/workload_generator.h"
#include "gtest/gtest.h"
#include "tests/testing/scale.h"

namespace prefixroute::replay {
namespace {

FleetResult SimulateRule(const Trace& trace, const std::string& rule, const FleetOptions& options) {
  Progress progress(Progress::Mode::kOff);
  const RuleMaker make_rule = FindRules(rule, {}, {512})->front().make;
  absl::StatusOr<FleetResult> result = SimulateFleet(trace, options, make_rule, "test", &progress);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.ok() ? *result : FleetResult();
}

double HitRate(const FleetResult& result) {
  return static_cast<double>(result.hit_tokens) / static_cast<double>(result.input_tokens);
}

double Busiest(const FleetResult& result) {
  const std::vector<uint64_t>& requests = result.requests_by_instance;
  const uint64_t all = std::accumulate(requests.begin(), requests.end(), uint64_t{0});
  return static_cast<double>(*std::max_element(requests.begin(), requests.end())) *
         static_cast<double>(requests.size()) / static_cast<double>(all);
}

constexpr char kSlow[] = "a sanitizer would make minutes of it, and the simulator runs in other tests";

// Cold caches are the same to all rules, and would be all of a short run's tails.
FleetOptions Warm() {
  FleetOptions options;
  options.warm_up_us = 150'000'000;
  return options;
}

struct Workload {
  const char* name;
  Trace trace;
};

Trace LongTrace(double rate) {
  LongContext workload;
  workload.rate = rate;
  workload.seconds = 450;
  return GenerateLongContext(workload);
}

Trace ShortTrace(double rate) {
  ShortContext workload;
  workload.rate = rate;
  workload.seconds = 300;
  return GenerateShortContext(workload);
}

// From what RANDOM carries easily to what it can't.
const std::vector<Workload>& Workloads() {
  static const auto* workloads = new std::vector<Workload>{{"long, light", LongTrace(12)},
                                                           {"long, heavy", LongTrace(30)},
                                                           {"short, light", ShortTrace(40)},
                                                           {"short, heavy", ShortTrace(110)}};
  return *workloads;
}

TEST(PrefixAwareTest, IsAsFastAsWhoKnowsAllCachesAndQueues) {
  if (PREFIXROUTE_TEST_SANITIZED != 0) GTEST_SKIP() << kSlow;
  for (const auto& [name, trace] : Workloads()) {
    SCOPED_TRACE(name);
    const FleetResult own = SimulateRule(trace, "prefix_aware", Warm());
    for (const char* rule : {"precise", "precise_2", "prefix_tree", "prefix_score", "bounded_hash"}) {
      const FleetResult other = SimulateRule(trace, rule, Warm());
      EXPECT_LE(own.MeanTtftUs(), 1.05 * other.MeanTtftUs()) << rule;
      for (const double share : {0.5, 0.9}) {
        EXPECT_LE(static_cast<double>(own.TtftPercentile(share)),
                  1.05 * static_cast<double>(other.TtftPercentile(share)))
            << rule << " " << share;
      }
    }
  }
}

TEST(PrefixAwareTest, IsFarAheadOfRulesThatDoNotLookAtPrefixes) {
  if (PREFIXROUTE_TEST_SANITIZED != 0) GTEST_SKIP() << kSlow;
  for (const auto& [name, trace] : Workloads()) {
    SCOPED_TRACE(name);
    const FleetResult own = SimulateRule(trace, "prefix_aware", Warm());
    for (const char* rule : {"random", "least_outstanding"}) {
      const FleetResult other = SimulateRule(trace, rule, Warm());
      EXPECT_LE(own.MeanTtftUs(), 0.8 * other.MeanTtftUs()) << rule;
      EXPECT_LE(static_cast<double>(own.TtftPercentile(0.9)), 0.8 * static_cast<double>(other.TtftPercentile(0.9)))
          << rule;
      EXPECT_GE(HitRate(own), 1.5 * HitRate(other)) << rule;
    }
  }
}

// Where all is cached everywhere, or nearly all, only the load is left to go by.
TEST(PrefixAwareTest, APromptThatAllSendDoesNotPileUp) {
  for (const uint32_t own_tokens : {0, 64}) {
    SCOPED_TRACE("tokens of its own: " + std::to_string(own_tokens));
    LongContext workload;
    workload.applications = 1;
    workload.prefix_tokens = own_tokens == 0 ? 200 : 4000;
    workload.mean_question_tokens = own_tokens;
    workload.mean_output_tokens = 300;
    workload.rate = 180;
    workload.seconds = 60;
    const Trace trace = GenerateLongContext(workload);
    const FleetResult own = SimulateRule(trace, "prefix_aware", {});
    EXPECT_LE(own.MeanTtftUs(), 1.05 * SimulateRule(trace, "least_outstanding", {}).MeanTtftUs());
    EXPECT_LE(Busiest(own), 1.1);
  }
}

// Engines that keep four or five of the prompts each: who takes a prompt to two engines for no need drives another out.
TEST(PrefixAwareTest, KeepsPromptsApartWhereCachesAreSmall) {
  for (const auto& [applications, cache_tokens] : {std::pair(24U, 45'000U), std::pair(5U, 40'000U)}) {
    SCOPED_TRACE("applications: " + std::to_string(applications));
    LongContext workload;
    workload.applications = applications;
    workload.rate = 10;
    workload.seconds = 300;
    const Trace trace = GenerateLongContext(workload);
    FleetOptions small;
    small.engine.cache_tokens = cache_tokens;
    const FleetResult own = SimulateRule(trace, "prefix_aware", small);
    EXPECT_GE(HitRate(own), 0.9 * HitRate(SimulateRule(trace, "precise", small)));
    EXPECT_LE(own.MeanTtftUs(), 0.1 * SimulateRule(trace, "least_outstanding", small).MeanTtftUs());
  }
}

TEST(PrefixAwareTest, LoadsInstancesEvenly) {
  for (const auto& [name, trace] : Workloads()) {
    EXPECT_LE(Busiest(SimulateRule(trace, "prefix_aware", Warm())), 1.15) << name;
  }
}

TEST(PrefixAwareTest, GatewaysThatShareNothingKeepTheHits) {
  if (PREFIXROUTE_TEST_SANITIZED != 0) GTEST_SKIP() << kSlow;
  FleetOptions several = Warm();
  for (const uint32_t gateways : {4, 16}) {
    several.gateways = gateways;
    for (const auto& [name, trace] : Workloads()) {
      SCOPED_TRACE(std::string(name) + ", gateways: " + std::to_string(gateways));
      const FleetResult own = SimulateRule(trace, "prefix_aware", several);
      EXPECT_GE(HitRate(own), 0.9 * HitRate(SimulateRule(trace, "prefix_aware", Warm())));
      EXPECT_LE(own.TtftPercentile(0.99), SimulateRule(trace, "least_outstanding", several).TtftPercentile(0.99));
      EXPECT_GE(HitRate(own), HitRate(SimulateRule(trace, "prefix_tree", several)));
    }
  }
}

TEST(PrefixAwareTest, HitsAreBackSoonAfterTheFleetChanged) {
  const Trace trace = LongTrace(20);
  for (const auto kind : {ScaleEvent::Kind::kAdd, ScaleEvent::Kind::kRemove}) {
    FleetOptions options;
    options.events = {{300'000'000, kind, 3}};
    const FleetResult result = SimulateRule(trace, "prefix_aware", options);
    const auto hits_of = [&](size_t begin, size_t end) {
      uint64_t hits = 0;
      uint64_t tokens = 0;
      for (size_t i = begin; i < end; ++i) {
        hits += result.series[i].hit_tokens;
        tokens += result.series[i].input_tokens;
      }
      return static_cast<double>(hits) / static_cast<double>(tokens);
    };
    // Buckets of ten seconds: the third minute from the start on, and the second after the change.
    EXPECT_GE(hits_of(36, 42), 0.98 * hits_of(18, 30)) << (kind == ScaleEvent::Kind::kAdd ? "add" : "remove");
    EXPECT_EQ(result.failed, 0u);
  }
}

}  // namespace
}  // namespace prefixroute::replay
