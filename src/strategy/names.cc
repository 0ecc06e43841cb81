// SPDX-License-Identifier: Apache-2.0

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "prefixroute/strategy.h"
#include "src/base/absl_compat.h"

namespace prefixroute {

RoutingStrategy::~RoutingStrategy() = default;

std::string_view StrategyName(Strategy strategy) {
  switch (strategy) {
    case Strategy::kRandom:
      return "RANDOM";
    case Strategy::kLeastOutstandingRequests:
      return "LEAST_OUTSTANDING_REQUESTS";
    case Strategy::kPrefixAware:
      return "PREFIX_AWARE";
  }
  return "";
}

absl::StatusOr<Strategy> ParseStrategy(std::string_view name) {
  for (Strategy strategy : {Strategy::kRandom, Strategy::kLeastOutstandingRequests, Strategy::kPrefixAware}) {
    if (name == StrategyName(strategy)) return strategy;
  }
  return absl::InvalidArgumentError(absl::StrCat("strategy is \"", absl::CHexEscape(internal::ToAbsl(name)),
                                                 "\", not RANDOM, LEAST_OUTSTANDING_REQUESTS or PREFIX_AWARE"));
}

std::string_view ReasonName(Reason reason) {
  switch (reason) {
    case Reason::kHome:
      return "home";
    case Reason::kDivertedByLoad:
      return "diverted_by_load";
    case Reason::kDivertedUnavailable:
      return "diverted_unavailable";
    case Reason::kNoPrefix:
      return "no_prefix";
    case Reason::kLeastOutstanding:
      return "least_outstanding";
    case Reason::kRandom:
      return "random";
    case Reason::kCustom:
      return "custom";
    case Reason::kFailOpen:
      return "fail_open";
    case Reason::kHolder:
      return "holder";
  }
  return "";
}

}  // namespace prefixroute
