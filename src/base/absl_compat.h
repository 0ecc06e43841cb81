// SPDX-License-Identifier: Apache-2.0
//
// The one crossing from std::string_view to Abseil's, which is another class where Abseil was built so (Debian 12).

#ifndef PREFIXROUTE_SRC_BASE_ABSL_COMPAT_H_
#define PREFIXROUTE_SRC_BASE_ABSL_COMPAT_H_

#include <string_view>

#include "absl/strings/string_view.h"

// Abseil's newest sources don't define ABSL_LTS_RELEASE_VERSION, and are new enough.
#if defined(ABSL_LTS_RELEASE_VERSION) && ABSL_LTS_RELEASE_VERSION < 20220623
#error "prefixroute needs Abseil 20220623 or newer"
#endif

namespace prefixroute::internal {

inline absl::string_view ToAbsl(std::string_view text) { return absl::string_view(text.data(), text.size()); }

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_BASE_ABSL_COMPAT_H_
