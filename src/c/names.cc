// SPDX-License-Identifier: Apache-2.0

#include "absl/status/statusor.h"
#include "prefixroute/version.h"
#include "src/c/call.h"
#include "src/c/strategies.h"

#define PREFIXROUTE_TEXT_OF(number) #number
#define PREFIXROUTE_VERSION_TEXT(major, minor, patch) \
  PREFIXROUTE_TEXT_OF(major) "." PREFIXROUTE_TEXT_OF(minor) "." PREFIXROUTE_TEXT_OF(patch)

using prefixroute::ReasonName;
using prefixroute::Strategy;
using prefixroute::StrategyName;
using prefixroute::c::CheckNotNull;
using prefixroute::c::Fail;
using prefixroute::c::Guarded;

static_assert(PREFIXROUTE_REASON_HOLDER == static_cast<int>(prefixroute::Reason::kHolder) &&
              PREFIXROUTE_REASON_HOLDER + 1 == prefixroute::kReasonCount &&
              prefixroute::kReasonCount <= PREFIXROUTE_REASON_COUNTS);

extern "C" {

uint32_t prefixroute_abi_version(void) noexcept { return PREFIXROUTE_ABI_VERSION; }

const char* prefixroute_version(void) noexcept {
  return PREFIXROUTE_VERSION_TEXT(PREFIXROUTE_VERSION_MAJOR, PREFIXROUTE_VERSION_MINOR, PREFIXROUTE_VERSION_PATCH);
}

const char* prefixroute_status_name(prefixroute_status status) noexcept {
  switch (status) {
    case PREFIXROUTE_OK:
      return "OK";
    case PREFIXROUTE_INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case PREFIXROUTE_NOT_FOUND:
      return "NOT_FOUND";
    case PREFIXROUTE_ALREADY_EXISTS:
      return "ALREADY_EXISTS";
    case PREFIXROUTE_RESOURCE_EXHAUSTED:
      return "RESOURCE_EXHAUSTED";
    case PREFIXROUTE_FAILED_PRECONDITION:
      return "FAILED_PRECONDITION";
    case PREFIXROUTE_INTERNAL:
      return "INTERNAL";
    case PREFIXROUTE_UNAVAILABLE:
      return "UNAVAILABLE";
    case PREFIXROUTE_OUT_OF_MEMORY:
      return "OUT_OF_MEMORY";
    case PREFIXROUTE_BUFFER_TOO_SMALL:
      return "BUFFER_TOO_SMALL";
  }
  return "";
}

// The views are of literals, and end with NUL.
const char* prefixroute_strategy_name(uint32_t strategy) noexcept {
  if (strategy == PREFIXROUTE_STRATEGY_DEFAULT || !prefixroute::c::IsStrategy(strategy)) return "";
  return StrategyName(prefixroute::c::StrategyOf(strategy)).data();
}

const char* prefixroute_reason_name(uint32_t reason) noexcept {
  return reason < prefixroute::kReasonCount ? ReasonName(static_cast<prefixroute::Reason>(reason)).data() : "";
}

prefixroute_status prefixroute_parse_strategy(const char* name, size_t name_size, uint32_t* strategy,
                                              prefixroute_error* error) noexcept {
  return Guarded(error, [&] {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "name", name, "strategy", strategy));
    const absl::StatusOr<Strategy> parsed = prefixroute::ParseStrategy(std::string_view(name, name_size));
    if (!parsed.ok()) return Fail(error, parsed.status());
    *strategy = prefixroute::c::NumberOf(*parsed);
    return prefixroute_status{PREFIXROUTE_OK};
  });
}

}  // extern "C"
