// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/trace.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace prefixroute::replay {
namespace {

TraceRequest HashRequest(const std::vector<uint64_t>& hash_ids, uint32_t input_tokens) {
  TraceRequest request;
  request.input_tokens = input_tokens;
  BlockId id = 0;
  for (const uint64_t hash_id : hash_ids) request.blocks.push_back(id = ChainBlock(id, hash_id));
  return request;
}

Trace HashTrace() {
  Trace trace;
  trace.block_tokens = kHashBlockTokens;
  return trace;
}

TEST(TraceTest, ABlockIsFourBytesAToken) {
  const Trace trace = HashTrace();
  std::string buffer;
  EXPECT_EQ(trace.Prefix(HashRequest({7}, 512), UINT64_MAX, &buffer).size(), 2048u);
  EXPECT_EQ(trace.Prefix(HashRequest({7, 8}, 513), UINT64_MAX, &buffer).size(), 2052u);
  EXPECT_EQ(trace.Prefix(HashRequest({7, 8}, 1024), UINT64_MAX, &buffer).size(), 4096u);
  EXPECT_EQ(trace.Prefix(HashRequest({}, 0), UINT64_MAX, &buffer).size(), 0u);
}

TEST(TraceTest, EqualHashesAreEqualTextAndOthersAreNot) {
  const Trace trace = HashTrace();
  std::string first_buffer, second_buffer;
  const auto first = trace.Prefix(HashRequest({1, 2, 3}, 1500), UINT64_MAX, &first_buffer);
  const auto second = trace.Prefix(HashRequest({1, 2, 4}, 1536), UINT64_MAX, &second_buffer);
  EXPECT_EQ(first.substr(0, 4096), second.substr(0, 4096));
  EXPECT_NE(first.substr(4096, 8), second.substr(4096, 8));
  EXPECT_NE(first.substr(0, 2048), first.substr(2048, 2048));
}

TEST(TraceTest, ALimitCutsThePrefixAndChangesNoByte) {
  const Trace trace = HashTrace();
  const TraceRequest request = HashRequest({1, 2, 3}, 1300);
  std::string whole_buffer, buffer(100000, 'x');
  const std::string_view whole = trace.Prefix(request, UINT64_MAX, &whole_buffer);
  for (const uint64_t limit : {0, 1, 7, 8, 2047, 2048, 2049, 4096, 5199, 5200, 9999}) {
    EXPECT_EQ(trace.Prefix(request, limit, &buffer), whole.substr(0, limit)) << limit;
  }
}

TEST(TraceTest, TextIsItsOwnPrefix) {
  const Trace trace;
  TraceRequest request;
  request.text = std::string("a\0b", 3);
  std::string buffer;
  EXPECT_EQ(trace.Prefix(request, UINT64_MAX, &buffer), request.text);
  EXPECT_EQ(trace.Prefix(request, 2, &buffer), request.text.substr(0, 2));
}

TEST(TraceTest, TextIsChainedBySixteenTokens) {
  const std::string a(64, 'a'), b(64, 'b');
  EXPECT_EQ(ChainText("").size(), 0u);
  EXPECT_EQ(ChainText(a.substr(1)).size(), 0u);
  EXPECT_EQ(ChainText(a + "partial").size(), 1u);
  EXPECT_EQ(ChainText(a + b + a).size(), 3u);
  EXPECT_EQ(ChainText(a + b)[0], ChainText(a + a)[0]);
  EXPECT_NE(ChainText(a + b)[1], ChainText(a + a)[1]);
  // One block at three places and after two parents, and a block of zeros.
  const std::string zeros(64, '\0');
  std::set<BlockId> ids;
  const std::vector<std::string> texts = {a + a + a, b + a, zeros + zeros};
  for (const std::string& text : texts) {
    for (const BlockId id : ChainText(text)) ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 7u);
}

TEST(TraceTest, EveryByteOfATextCounts) {
  const std::string text(128, '\0');
  std::set<BlockId> ids = {ChainText(text)[1]};
  for (size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = 1;
    ids.insert(ChainText(other)[1]);
  }
  EXPECT_EQ(ids.size(), 129u);
}

TEST(TraceTest, APartialLastBlockIsNotCached) {
  const Trace trace = HashTrace();
  EXPECT_EQ(trace.FullBlocks(HashRequest({1, 2}, 1023)).size(), 1u);
  EXPECT_EQ(trace.FullBlocks(HashRequest({1, 2}, 1024)).size(), 2u);
  EXPECT_EQ(trace.FullBlocks(HashRequest({1}, 1)).size(), 0u);
}

TEST(TraceTest, SortsByArrivalAndKeepsTheOrderOfEqualOnes) {
  Trace trace;
  for (const auto& [arrival_us, tokens] :
       {std::pair<int64_t, uint32_t>{500, 1}, {700, 2}, {500, 3}, {400, 4}, {700, 5}}) {
    TraceRequest request;
    request.arrival_us = arrival_us;
    request.input_tokens = tokens;
    trace.requests.push_back(request);
  }
  EXPECT_EQ(trace.SortByArrival(), 2u);
  std::vector<std::pair<int64_t, uint32_t>> order;
  for (const TraceRequest& request : trace.requests) order.emplace_back(request.arrival_us, request.input_tokens);
  EXPECT_EQ(order, (std::vector<std::pair<int64_t, uint32_t>>{{0, 4}, {100, 1}, {100, 3}, {300, 2}, {300, 5}}));
  EXPECT_EQ(trace.SortByArrival(), 0u);
  EXPECT_EQ(trace.InputTokens(), 15u);
}

}  // namespace
}  // namespace prefixroute::replay
