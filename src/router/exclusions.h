// SPDX-License-Identifier: Apache-2.0
//
// The instances that a request excludes, as a bit each, on the stack.

#ifndef PREFIXROUTE_SRC_ROUTER_EXCLUSIONS_H_
#define PREFIXROUTE_SRC_ROUTER_EXCLUSIONS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "prefixroute/router.h"
#include "src/fleet/fleet.h"

namespace prefixroute::internal {

class Exclusions {
 public:
  absl::Status Mark(const Fleet& fleet, const Request& request) {
    if (request.exclude.empty() && request.exclude_indexes.empty()) return absl::OkStatus();
    any_ = true;
    std::fill_n(bits_.begin(), (fleet.size() + 63) / 64, 0);
    for (std::string_view id : request.exclude) {
      if (const uint32_t index = fleet.Find(id); index != kNoInstance) Set(index);
    }
    for (size_t i = 0; i < request.exclude_indexes.size(); ++i) {
      const uint32_t index = request.exclude_indexes[i];
      if (index >= fleet.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("exclude_indexes[", i, "] is ", index, ", but there are ", fleet.size(), " instances"));
      }
      Set(index);
    }
    return absl::OkStatus();
  }

  // For FleetViewBuilder.
  const uint64_t* bits() const { return any_ ? bits_.data() : nullptr; }

 private:
  void Set(uint32_t index) { bits_[index / 64] |= uint64_t{1} << (index % 64); }

  bool any_ = false;
  // Only what the fleet needs is ever written.
  std::array<uint64_t, kMaxInstances / 64> bits_;
};

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_ROUTER_EXCLUSIONS_H_
