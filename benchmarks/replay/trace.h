// SPDX-License-Identifier: Apache-2.0
//
// A trace in memory: requests in the order of their arrival, each prompt cut into blocks as an engine's cache cuts it.

#ifndef PREFIXROUTE_BENCHMARKS_REPLAY_TRACE_H_
#define PREFIXROUTE_BENCHMARKS_REPLAY_TRACE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace prefixroute::replay {

inline constexpr uint32_t kBytesPerToken = 4;
// Tokens a block, where the trace gives hashes.
inline constexpr uint32_t kHashBlockTokens = 512;
// The same where it gives text, and nobody says otherwise: what vLLM has by default.
inline constexpr uint32_t kTextBlockTokens = 16;
inline constexpr uint32_t kMaxTokens = uint32_t{1} << 30;

// Names a block together with all that precede it: equal ids, equal prompts up to the block's end.
using BlockId = uint64_t;

// The id of the block of this content that follows `parent`; 0 stands for "nothing precedes". Feeding a block's
// content in several words gives one id for all of them.
BlockId ChainBlock(BlockId parent, uint64_t content);

// The ids of the full blocks of a text.
std::vector<BlockId> ChainText(std::string_view text, uint32_t block_tokens = kTextBlockTokens);

struct TraceRequest {
  int64_t arrival_us = 0;
  uint32_t input_tokens = 0;
  uint32_t output_tokens = 0;
  std::vector<BlockId> blocks;
  // Empty where the trace gives no text: then every block's text follows from its id.
  std::string text;
};

struct Trace {
  uint32_t block_tokens = kTextBlockTokens;
  std::vector<TraceRequest> requests;

  // Puts the requests in the order of their arrival, keeping that of equal ones, and has the first arrive at 0.
  // Returns how many arrived before the request that stood ahead of them.
  uint64_t SortByArrival();

  // Has requests arrive so many times as fast.
  void SpeedUp(double factor);

  uint64_t InputTokens() const;

  // The blocks that a cache can hold: a partial last one is never cached.
  absl::Span<const BlockId> FullBlocks(const TraceRequest& request) const;

  // The first `max_bytes` of the prompt. Lies in the request, or in `buffer`, which can be used again and again.
  std::string_view Prefix(const TraceRequest& request, uint64_t max_bytes, std::string* buffer) const;
};

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_BENCHMARKS_REPLAY_TRACE_H_
