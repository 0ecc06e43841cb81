// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/trace.h"

#include <algorithm>
#include <cstring>

#include "benchmarks/replay/split_mix.h"
#include "prefixroute/rendezvous.h"

namespace prefixroute::replay {

BlockId ChainBlock(BlockId parent, uint64_t content) {
  // An odd constant and a rotation, so that neither zeros nor swapped words give equal ids.
  return MixBits(((parent << 23) | (parent >> 41)) + 0x9e3779b97f4a7c15ULL + MixBits(content ^ parent));
}

std::vector<BlockId> ChainText(std::string_view text, uint32_t block_tokens) {
  const size_t block_bytes = size_t{block_tokens} * kBytesPerToken;
  std::vector<BlockId> ids;
  ids.reserve(text.size() / block_bytes);
  BlockId id = 0;
  for (size_t end = block_bytes; end <= text.size(); end += block_bytes) {
    for (size_t at = end - block_bytes; at < end; at += kBytesPerToken) {
      uint32_t token;
      static_assert(sizeof(token) == kBytesPerToken);
      std::memcpy(&token, text.data() + at, sizeof(token));
      id = ChainBlock(id, token);
    }
    ids.push_back(id);
  }
  return ids;
}

uint64_t Trace::SortByArrival() {
  uint64_t disordered = 0;
  for (size_t i = 1; i < requests.size(); ++i) {
    if (requests[i].arrival_us < requests[i - 1].arrival_us) ++disordered;
  }
  if (disordered > 0) {
    std::stable_sort(requests.begin(), requests.end(),
                     [](const TraceRequest& a, const TraceRequest& b) { return a.arrival_us < b.arrival_us; });
  }
  if (!requests.empty()) {
    const int64_t start_us = requests.front().arrival_us;
    for (TraceRequest& request : requests) request.arrival_us -= start_us;
  }
  return disordered;
}

void Trace::SpeedUp(double factor) {
  for (TraceRequest& request : requests) {
    request.arrival_us = static_cast<int64_t>(static_cast<double>(request.arrival_us) / factor);
  }
}

uint64_t Trace::InputTokens() const {
  uint64_t tokens = 0;
  for (const TraceRequest& request : requests) tokens += request.input_tokens;
  return tokens;
}

absl::Span<const BlockId> Trace::FullBlocks(const TraceRequest& request) const {
  return absl::MakeConstSpan(request.blocks).first(request.input_tokens / block_tokens);
}

std::string_view Trace::Prefix(const TraceRequest& request, uint64_t max_bytes, std::string* buffer) const {
  const std::string_view text = request.text;
  if (!text.empty()) return text.substr(0, max_bytes);
  const size_t bytes = std::min<uint64_t>(max_bytes, uint64_t{request.input_tokens} * kBytesPerToken);
  const size_t block_bytes = size_t{block_tokens} * kBytesPerToken;
  buffer->resize(bytes);
  for (size_t block = 0; block * block_bytes < bytes; ++block) {
    SplitMix content(request.blocks[block]);
    const size_t end = std::min(bytes, (block + 1) * block_bytes);
    for (size_t at = block * block_bytes; at < end; at += sizeof(uint64_t)) {
      const uint64_t word = content.Next();
      std::memcpy(buffer->data() + at, &word, std::min(sizeof(word), end - at));
    }
  }
  return *buffer;
}

}  // namespace prefixroute::replay
