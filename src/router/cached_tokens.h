// SPDX-License-Identifier: Apache-2.0
//
// What an engine found cached, set beside what was expected of it.

#ifndef PREFIXROUTE_SRC_ROUTER_CACHED_TOKENS_H_
#define PREFIXROUTE_SRC_ROUTER_CACHED_TOKENS_H_

#include <algorithm>
#include <cstdint>

#include "src/state/state.h"

namespace prefixroute::internal {

inline constexpr uint64_t kMaxPromptTokens = uint64_t{1} << 32;  // What is more is no number of tokens.

// Of a request that was expected to prefill `uncached_bytes` of its `prefix_bytes`.
inline void ReportCachedTokens(State& state, uint32_t slot, uint64_t prefix_bytes, uint64_t uncached_bytes,
                               uint64_t cached_tokens, uint64_t prompt_tokens) {
  prompt_tokens = std::min(prompt_tokens, kMaxPromptTokens);
  cached_tokens = std::min(cached_tokens, prompt_tokens);
  // A prompt may be longer than the prefix that the router saw: by its share of it.
  const double expected =
      prefix_bytes == 0 ? 0 : static_cast<double>(prefix_bytes - uncached_bytes) / static_cast<double>(prefix_bytes);
  state.ReportCache(slot, prompt_tokens, cached_tokens,
                    static_cast<uint64_t>(expected * static_cast<double>(prompt_tokens)));
}

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_ROUTER_CACHED_TOKENS_H_
