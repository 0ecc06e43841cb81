// SPDX-License-Identifier: Apache-2.0

#include "src/router/validate.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <unordered_set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "src/base/absl_compat.h"
#include "src/state/state.h"

namespace prefixroute::internal {
namespace {

template <typename Value>
absl::Status CheckRange(const char* field, Value value, Value low, Value high) {
  if (value >= low && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, " is ", value, ", not within ", low, " to ", high));
}

// With all digits that tell it from other numbers: absl::StrCat has but six.
std::string ShortestText(double value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof(text), value).ptr);
}

absl::Status CheckInstance(const Instance& instance, size_t index) {
  const auto error = [&](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat("instances[", index, "].", what...));
  };
  if (instance.id.empty()) return error("id is empty");
  if (instance.id.size() > kMaxInstanceIdBytes) {
    return error("id is ", instance.id.size(), " bytes long, more than ", kMaxInstanceIdBytes, ": \"",
                 absl::CHexEscape(instance.id.substr(0, 40)), "...\"");
  }
  // Written so that NaN fails.
  if (!(instance.weight == 0 || (instance.weight >= kMinWeight && instance.weight <= kMaxWeight))) {
    return error("weight is ", ShortestText(instance.weight), ", neither 0 nor within ", kMinWeight, " to ",
                 kMaxWeight);
  }
  if (instance.max_outstanding > kMaxOutstanding) {
    return error("max_outstanding is ", instance.max_outstanding, ", more than ", kMaxOutstanding);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckStrategy(Strategy strategy) {
  if (!StrategyName(strategy).empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("strategy is ", static_cast<int>(strategy), ", which is none"));
}

absl::Status CheckOptions(const RouterOptions& options) {
  absl::Status status = CheckStrategy(options.strategy);
  if (status.ok()) {
    status = CheckRange<uint64_t>("max_prefix_bytes", options.max_prefix_bytes, 1, kMaxMaxPrefixBytes);
  }
  if (status.ok()) {
    status = CheckRange<uint64_t>("strict_prefix_bytes", options.strict_prefix_bytes, 0, kMaxMaxPrefixBytes);
  }
  if (status.ok()) status = CheckRange<uint32_t>("gateway_replicas", options.gateway_replicas, 1, kMaxGatewayReplicas);
  const RelativeBound& bound = options.relative_bound;
  if (status.ok() && bound.factor_percent != 0) {
    status = CheckRange<uint32_t>("relative_bound.factor_percent", bound.factor_percent, 100, 100'000);
  }
  if (status.ok()) status = CheckRange<uint32_t>("relative_bound.margin", bound.margin, 0, kMaxOutstanding);
  if (status.ok()) status = CheckRange<uint32_t>("relative_bound.floor", bound.floor, 0, kMaxOutstanding);
  if (status.ok()) status = CheckRange<uint32_t>("max_instances", options.max_instances, 1, kMaxInstances);
  if (status.ok()) status = State::CheckPrefixEntries(options.prefix_entries);
  return status;
}

absl::Status CheckInstances(absl::Span<const Instance> instances, uint32_t max_instances) {
  if (instances.size() > max_instances) {
    return absl::InvalidArgumentError(
        absl::StrCat("instances has ", instances.size(), " elements, more than max_instances, ", max_instances));
  }
  std::unordered_set<std::string_view> ids;
  for (size_t i = 0; i < instances.size(); ++i) {
    if (absl::Status status = CheckInstance(instances[i], i); !status.ok()) return status;
    if (!ids.insert(instances[i].id).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("instances[", i, "].id is given twice: \"", absl::CHexEscape(instances[i].id), "\""));
    }
  }
  const auto has_weight = [](const Instance& instance) { return instance.weight != 0; };
  if (!instances.empty() && std::none_of(instances.begin(), instances.end(), has_weight)) {
    return absl::InvalidArgumentError(absl::StrCat("weight is 0 for all ", instances.size(), " instances"));
  }
  return absl::OkStatus();
}

}  // namespace prefixroute::internal
