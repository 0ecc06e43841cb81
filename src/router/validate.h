// SPDX-License-Identifier: Apache-2.0
//
// What a user gives is checked here, once: InvalidArgument names the field and the value.

#ifndef PREFIXROUTE_SRC_ROUTER_VALIDATE_H_
#define PREFIXROUTE_SRC_ROUTER_VALIDATE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "prefixroute/router.h"

namespace prefixroute::internal {

absl::Status CheckOptions(const RouterOptions& options);
absl::Status CheckStrategy(Strategy strategy);
absl::Status CheckInstances(absl::Span<const Instance> instances, uint32_t max_instances);

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_ROUTER_VALIDATE_H_
