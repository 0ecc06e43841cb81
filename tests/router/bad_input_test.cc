// SPDX-License-Identifier: Apache-2.0
//
// Every call of a Router with every kind of bad input: the status names the field and the value, and nothing changes.

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prefixroute/router.h"
#include "prefixroute/shared_state.h"
#include "prefixroute/strategy.h"
#include "tests/testing/fleet.h"

namespace prefixroute {
namespace {

using test::IsOk;
using test::MakeInstances;
using test::MakeRouter;
using test::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// ---- What can be wrong with instances and options, for each call that takes them.

struct BadInstances {
  const char* name;
  std::vector<Instance> instances;
  const char* field;
  const char* value;
};

std::vector<BadInstances> AllBadInstances() {
  const std::string long_id = "long-" + std::string(251, 'x');
  return {
      {"EmptyId", {{"a"}, {""}}, "instances[1].id", "empty"},
      {"DuplicateId", {{"a"}, {"b"}, {"a"}}, "instances[2].id", "\"a\""},
      {"DuplicateBinaryId", {{std::string("\0\n", 2)}, {std::string("\0\n", 2)}}, "instances[1].id", "\"\\x00\\n\""},
      {"LongId", {{"a"}, {long_id}}, "instances[1].id", "256"},
      {"WeightNan", {{"a"}, {"b", kNan}}, "instances[1].weight", "nan"},
      {"WeightNegative", {{"a", -1.0}}, "instances[0].weight", "-1"},
      {"WeightInfinite", {{"a", kInfinity}}, "instances[0].weight", "inf"},
      {"WeightMinusInfinite", {{"a", -kInfinity}}, "instances[0].weight", "-inf"},
      {"WeightTiny", {{"a", 1e-300}}, "instances[0].weight", "1e-300"},
      {"WeightDenormal", {{"a", std::numeric_limits<double>::denorm_min()}}, "instances[0].weight", "e-324"},
      {"WeightBelowTheLeast", {{"a", 0.00099}}, "instances[0].weight", "0.00099"},
      {"WeightAboveTheGreatest", {{"a", 1'000'001}}, "instances[0].weight", "1000001"},
      {"WeightHuge", {{"a", 1e300}}, "instances[0].weight", "1e+300"},
      {"AllWeightsZero", {{"a", 0.0}, {"b", -0.0}}, "weight", "0"},
      {"MaxOutstandingTooGreat", {{"a", 1.0, kMaxOutstanding + 1}}, "instances[0].max_outstanding", "1048576"},
      {"MaxOutstandingGreatest", {{"a", 1.0, UINT32_MAX}}, "instances[0].max_outstanding", "4294967295"},
      {"TooMany", MakeInstances(9), "instances", "9"},
  };
}

struct BadOptions {
  const char* name;
  std::function<void(RouterOptions&)> spoil;
  const char* field;
  const char* value;
};

std::vector<BadOptions> AllBadOptions() {
  return {
      {"Strategy", [](auto& o) { o.strategy = static_cast<Strategy>(3); }, "strategy", "3"},
      {"Strategy255", [](auto& o) { o.strategy = static_cast<Strategy>(255); }, "strategy", "255"},
      {"NoPrefixBytes", [](auto& o) { o.max_prefix_bytes = 0; }, "max_prefix_bytes", "0"},
      {"TooManyPrefixBytes", [](auto& o) { o.max_prefix_bytes = kMaxMaxPrefixBytes + 1; }, "max_prefix_bytes",
       "16777217"},
      {"TooManyStrictPrefixBytes", [](auto& o) { o.strict_prefix_bytes = kMaxMaxPrefixBytes + 1; },
       "strict_prefix_bytes", "16777217"},
      {"Factor1", [](auto& o) { o.relative_bound.factor_percent = 1; }, "relative_bound.factor_percent", "1"},
      {"Factor99", [](auto& o) { o.relative_bound.factor_percent = 99; }, "relative_bound.factor_percent", "99"},
      {"FactorTooGreat", [](auto& o) { o.relative_bound.factor_percent = 100'001; }, "relative_bound.factor_percent",
       "100001"},
      {"MarginTooGreat", [](auto& o) { o.relative_bound.margin = kMaxOutstanding + 1; }, "relative_bound.margin",
       "1048576"},
      {"FloorTooGreat", [](auto& o) { o.relative_bound.floor = UINT32_MAX; }, "relative_bound.floor", "4294967295"},
      {"NoInstances", [](auto& o) { o.max_instances = 0; }, "max_instances", "0"},
      {"TooManyInstances", [](auto& o) { o.max_instances = kMaxInstances + 1; }, "max_instances", "65537"},
      {"NoGateways", [](auto& o) { o.gateway_replicas = 0; }, "gateway_replicas", " 0,"},
      {"TooManyGateways", [](auto& o) { o.gateway_replicas = kMaxGatewayReplicas + 1; }, "gateway_replicas", "1000001"},
      {"NoPrefixEntries", [](auto& o) { o.prefix_entries = 0; }, "prefix_entries", " 0,"},
      {"TooFewPrefixEntries", [](auto& o) { o.prefix_entries = 512; }, "prefix_entries", "512"},
      {"PrefixEntriesNoPowerOfTwo", [](auto& o) { o.prefix_entries = 1025; }, "prefix_entries", "1025"},
      {"TooManyPrefixEntries", [](auto& o) { o.prefix_entries = 2 * kMaxPrefixEntries; }, "prefix_entries",
       "134217728"},
  };
}

// ---- Create.

TEST(BadInputTest, CreateRefusesBadInstances) {
  RouterOptions options;
  options.max_instances = 8;
  for (const BadInstances& bad : AllBadInstances()) {
    EXPECT_THAT(Router::Create(options, bad.instances),
                StatusIs(kInvalid, AllOf(HasSubstr(bad.field), HasSubstr(bad.value))))
        << bad.name;
  }
}

TEST(BadInputTest, CreateRefusesBadOptions) {
  for (const BadOptions& bad : AllBadOptions()) {
    RouterOptions options;
    bad.spoil(options);
    EXPECT_THAT(Router::Create(options, MakeInstances(3)),
                StatusIs(kInvalid, AllOf(HasSubstr(bad.field), HasSubstr(bad.value))))
        << bad.name;
  }
}

TEST(BadInputTest, EndsOfEveryRangeAreFine) {
  for (bool greatest : {false, true}) {
    RouterOptions options;
    options.max_prefix_bytes = greatest ? kMaxMaxPrefixBytes : 1;
    options.strict_prefix_bytes = greatest ? kMaxMaxPrefixBytes : 0;
    options.gateway_replicas = greatest ? kMaxGatewayReplicas : 1;
    options.prefix_entries = greatest ? kDefaultPrefixEntries : kMinPrefixEntries;
    options.relative_bound =
        greatest ? RelativeBound{100'000, kMaxOutstanding, kMaxOutstanding} : RelativeBound{100, 0, 0};
    options.max_instances = greatest ? kMaxInstances : 1;
    const Instance instance{std::string(greatest ? kMaxInstanceIdBytes : 1, 'x'), greatest ? kMaxWeight : kMinWeight,
                            greatest ? kMaxOutstanding : 1};
    const auto router = MakeRouter(options, {instance});
    const Lease lease = test::AcquireOk(*router, test::ForPrefix("prompt"));
    EXPECT_EQ(lease.id(), instance.id);
  }
}

TEST(BadInputTest, CreateRefusesASharedStateThatWasMovedFrom) {
  const SharedStateShape shape{/*max_instances=*/8, /*max_owners=*/2};
  const absl::StatusOr<size_t> bytes = SharedState::BytesNeeded(shape);
  ASSERT_THAT(bytes, IsOk());
  std::vector<unsigned char> memory(*bytes + 64);
  unsigned char* block = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
  ASSERT_THAT(SharedState::Format(block, *bytes, shape), IsOk());
  absl::StatusOr<SharedState> state = SharedState::Attach(block, *bytes, /*token=*/1);
  ASSERT_THAT(state, IsOk());
  const SharedState owner = *std::move(state);
  EXPECT_THAT(Router::Create({}, MakeInstances(3), *std::move(state)), StatusIs(kInvalid, HasSubstr("shared_state")));
}

// ---- Calls of a router that works.

class BadCallTest : public ::testing::Test {
 protected:
  BadCallTest() {
    RouterOptions options = test::WithBound(150, 1, 2);  // What learns doesn't decide the same twice.
    options.max_instances = 8;
    router_ = MakeRouter(options, {{"a", 1.0, 4}, {"b", 2.0}, {"c"}});
    leases_ = test::Occupy(*router_, 1, 3);
    EXPECT_THAT(router_->SetDraining("c", true), IsOk());
  }

  // All that can be seen of the router, in words.
  std::string Look() const {
    std::ostringstream look;
    const RouterStats stats = router_->Stats();
    for (const InstanceStats& instance : stats.instances) {
      look << instance.id << " " << instance.weight << " " << instance.max_outstanding << " " << instance.outstanding
           << " " << instance.draining << "\n";
    }
    look << stats.outstanding << " " << stats.unavailable << " " << stats.exhausted << "\n";
    for (uint64_t count : stats.decisions) look << count << " ";
    const RouterOptions options = router_->options();
    look << "\n"
         << StrategyName(options.strategy) << " " << options.custom_strategy.get() << " " << options.max_prefix_bytes
         << " " << options.strict_prefix_bytes << " " << options.relative_bound.factor_percent << " "
         << options.relative_bound.margin << " " << options.relative_bound.floor << " " << options.fail_open << " "
         << options.max_instances << " " << options.prefix_entries << " " << options.gateway_replicas << "\n"
         << router_->MembershipFingerprint() << "\n";
    for (int i = 0; i < 50; ++i) {
      for (uint32_t index : test::OrderOf(*router_, test::ForPrefix(std::to_string(i)))) look << index << " ";
    }
    return look.str();
  }

  // Where requests go. Counts decisions, unlike Look().
  std::string Decisions() {
    std::ostringstream decisions;
    for (int i = 0; i < 50; ++i) {
      const std::string prefix = std::to_string(i);
      const Lease lease = test::AcquireOk(*router_, test::ForPrefix(prefix));
      decisions << lease.id() << " " << lease.decision().rank << " " << ReasonName(lease.decision().reason) << "\n";
    }
    return decisions.str();
  }

  void ExpectRefused(const std::string& name, const std::function<absl::Status()>& call, absl::StatusCode code,
                     const std::string& field, const std::string& value) {
    SCOPED_TRACE(name);
    const std::string decisions = Decisions();
    const std::string before = Look();
    EXPECT_THAT(call(), StatusIs(code, AllOf(HasSubstr(field), HasSubstr(value))));
    EXPECT_EQ(Look(), before);
    EXPECT_EQ(Decisions(), decisions);
  }

  std::unique_ptr<Router> router_;
  std::vector<Lease> leases_;
};

TEST_F(BadCallTest, SetInstances) {
  for (const BadInstances& bad : AllBadInstances()) {
    ExpectRefused(
        bad.name, [&] { return router_->SetInstances(bad.instances); }, kInvalid, bad.field, bad.value);
  }
}

TEST_F(BadCallTest, SetInstancesWithoutRoom) {
  RouterOptions options = test::StrictOptions();
  options.max_instances = 1;
  router_ = MakeRouter(options, {{"a"}});
  leases_ = test::Occupy(*router_, 0, 1);
  ASSERT_THAT(router_->SetInstances({{"b"}}), IsOk());
  ExpectRefused(
      "no room", [&] { return router_->SetInstances({{"c"}}); }, absl::StatusCode::kResourceExhausted, "open leases",
      "2 slots");
}

TEST_F(BadCallTest, SetOptions) {
  for (const BadOptions& bad : AllBadOptions()) {
    RouterOptions options = router_->options();
    options.fail_open = true;  // A good field beside the bad one stays as it was, too.
    options.max_prefix_bytes = 4711;
    bad.spoil(options);
    ExpectRefused(
        bad.name, [&] { return router_->SetOptions(options); }, kInvalid, bad.field, bad.value);
  }
  RouterOptions options = router_->options();
  options.max_instances = 9;
  ExpectRefused(
      "fixed", [&] { return router_->SetOptions(options); }, kInvalid, "max_instances", "9");
  options = router_->options();
  options.prefix_entries = 2048;
  ExpectRefused(
      "fixed", [&] { return router_->SetOptions(options); }, kInvalid, "prefix_entries", "2048");
}

TEST_F(BadCallTest, SetStrategy) {
  for (int value : {3, 200, 255}) {
    ExpectRefused(
        "strategy", [&] { return router_->SetStrategy(static_cast<Strategy>(value)); }, kInvalid, "strategy",
        std::to_string(value));
  }
}

TEST_F(BadCallTest, SetDraining) {
  for (const std::string& id : {std::string("d"), std::string("A"), std::string("a\n"), std::string(1000, 'x')}) {
    const std::string shown = id == "a\n" ? "a\\n" : id;
    ExpectRefused(
        "draining", [&] { return router_->SetDraining(id, true); }, absl::StatusCode::kNotFound, "id",
        "\"" + shown + "\"");
  }
  ExpectRefused(
      "empty", [&] { return router_->SetDraining("", true); }, absl::StatusCode::kNotFound, "id", "\"\"");
}

TEST_F(BadCallTest, LoadsOfTheWrongLength) {
  for (size_t length : {0u, 1u, 2u, 4u, 1000u}) {
    const std::vector<Load> loads(length);
    ExpectRefused(
        "loads", [&] { return router_->Route(test::ForPrefix("prompt"), loads).status(); }, kInvalid, "loads",
        std::to_string(length));
  }
}

// Route, Acquire and Rank with one request.
TEST_F(BadCallTest, Requests) {
  const std::vector<Load> loads(3);
  const auto expect_refused = [&](const Request& request, const char* field, const char* value) {
    ExpectRefused(
        "Route", [&] { return router_->Route(request, loads).status(); }, kInvalid, field, value);
    ExpectRefused(
        "Acquire", [&] { return router_->Acquire(request).status(); }, kInvalid, field, value);
    uint32_t order[3];
    ExpectRefused(
        "Rank", [&] { return router_->Rank(request, absl::MakeSpan(order)).status(); }, kInvalid, field, value);
  };
  Request request = test::ForPrefix("prompt");
  request.strategy = static_cast<Strategy>(3);
  expect_refused(request, "strategy", "3");
  request.strategy.reset();
  for (uint32_t index : {3u, 64u, 65'536u, kNoInstance}) {
    const std::vector<uint32_t> indexes = {0, index, 1};
    request.exclude_indexes = indexes;
    expect_refused(request, "exclude_indexes[1]", std::to_string(index).c_str());
  }
}

// ---- Names.

TEST(NamesTest, EveryStrategyHasANameThatIsParsed) {
  EXPECT_EQ(StrategyName(Strategy::kRandom), "RANDOM");
  EXPECT_EQ(StrategyName(Strategy::kLeastOutstandingRequests), "LEAST_OUTSTANDING_REQUESTS");
  EXPECT_EQ(StrategyName(Strategy::kPrefixAware), "PREFIX_AWARE");
  for (Strategy strategy : {Strategy::kRandom, Strategy::kLeastOutstandingRequests, Strategy::kPrefixAware}) {
    const absl::StatusOr<Strategy> parsed = ParseStrategy(StrategyName(strategy));
    ASSERT_THAT(parsed, IsOk());
    EXPECT_EQ(*parsed, strategy);
  }
  for (int none = 3; none < 256; ++none) EXPECT_EQ(StrategyName(static_cast<Strategy>(none)), "");
}

TEST(NamesTest, UnknownNameIsRefusedAndShown) {
  for (const char* name : {"", "random", "RANDOM ", "RAND", "LEAST_OUTSTANDING", "PREFIX_AWARE\n"}) {
    const std::string shown = std::string(name) == "PREFIX_AWARE\n" ? "PREFIX_AWARE\\n" : name;
    EXPECT_THAT(ParseStrategy(name), StatusIs(kInvalid, AllOf(HasSubstr("strategy"), HasSubstr("\"" + shown + "\""))));
  }
}

TEST(NamesTest, EveryReasonHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (size_t reason = 0; reason < kReasonCount; ++reason) names.insert(ReasonName(static_cast<Reason>(reason)));
  EXPECT_EQ(names.size(), kReasonCount);
  EXPECT_EQ(names.count(""), 0u);
  for (size_t none = kReasonCount; none < 256; ++none) EXPECT_EQ(ReasonName(static_cast<Reason>(none)), "");
}

}  // namespace
}  // namespace prefixroute
