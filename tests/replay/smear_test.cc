// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/smear.h"

#include <algorithm>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace prefixroute::replay {
namespace {

// So many requests at each time, in milliseconds; their tokens count them.
Trace TraceAt(const std::vector<std::pair<int64_t, int>>& times) {
  Trace trace;
  for (const auto& [ms, count] : times) {
    for (int i = 0; i < count; ++i) {
      TraceRequest request;
      request.arrival_us = ms * 1000;
      request.input_tokens = static_cast<uint32_t>(trace.requests.size());
      trace.requests.push_back(request);
    }
  }
  return trace;
}

TEST(SmearTest, SpreadsAQuantumTillTheNextInOrder) {
  Trace trace = TraceAt({{0, 100}, {3000, 100}, {9000, 50}, {12'000, 100}});
  EXPECT_EQ(SmearQuanta(&trace, 1), 3'000'000);
  std::set<int64_t> times;
  for (size_t i = 0; i < trace.requests.size(); ++i) {
    const TraceRequest& request = trace.requests[i];
    EXPECT_EQ(request.input_tokens, i);
    if (i > 0) {
      EXPECT_GE(request.arrival_us, trace.requests[i - 1].arrival_us);
    }
    times.insert(request.arrival_us);
  }
  EXPECT_GT(times.size(), 340u);
  EXPECT_LT(trace.requests[99].arrival_us, 3'000'000);
  EXPECT_GE(trace.requests[100].arrival_us, 3'000'000);
  EXPECT_GT(trace.requests[199].arrival_us, 6'000'000);  // The gap behind it is of 6 s.
  EXPECT_LT(trace.requests.back().arrival_us, 15'000'000);
}

TEST(SmearTest, LeavesOtherTracesAlone) {
  Trace trace = TraceAt({{0, 1}, {5, 2}, {6, 1}, {7, 1}});
  EXPECT_EQ(SmearQuanta(&trace, 1), 0);
  EXPECT_EQ(trace.requests[2].arrival_us, 5000);
  Trace one = TraceAt({{0, 9}});
  EXPECT_EQ(SmearQuanta(&one, 1), 0);
  Trace none;
  EXPECT_EQ(SmearQuanta(&none, 1), 0);
}

TEST(SmearTest, TheSeedDecides) {
  Trace first = TraceAt({{0, 50}, {3000, 50}});
  Trace again = first;
  Trace other = first;
  SmearQuanta(&first, 1);
  SmearQuanta(&again, 1);
  SmearQuanta(&other, 2);
  EXPECT_EQ(first.requests[7].arrival_us, again.requests[7].arrival_us);
  EXPECT_NE(first.requests[7].arrival_us, other.requests[7].arrival_us);
}

}  // namespace
}  // namespace prefixroute::replay
