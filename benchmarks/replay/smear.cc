// SPDX-License-Identifier: Apache-2.0

#include "benchmarks/replay/smear.h"

#include <algorithm>
#include <vector>

#include "benchmarks/replay/split_mix.h"

namespace prefixroute::replay {

int64_t SmearQuanta(Trace* trace, uint64_t seed) {
  std::vector<TraceRequest>& requests = trace->requests;
  std::vector<size_t> starts;  // The first request of each timestamp.
  for (size_t i = 0; i < requests.size(); ++i) {
    if (i == 0 || requests[i].arrival_us != requests[i - 1].arrival_us) starts.push_back(i);
  }
  if (starts.size() < 2 || starts.size() * 2 > requests.size()) return 0;
  std::vector<int64_t> gaps;
  for (size_t i = 1; i < starts.size(); ++i) {
    gaps.push_back(requests[starts[i]].arrival_us - requests[starts[i - 1]].arrival_us);
  }
  std::vector<int64_t> sorted_gaps = gaps;
  std::nth_element(sorted_gaps.begin(), sorted_gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2),
                   sorted_gaps.end());
  const int64_t quantum_us = sorted_gaps[gaps.size() / 2];
  gaps.push_back(quantum_us);
  starts.push_back(requests.size());

  SplitMix random(seed);
  std::vector<int64_t> offsets_us;
  for (size_t group = 0; group < gaps.size(); ++group) {
    offsets_us.clear();
    for (size_t i = starts[group]; i < starts[group + 1]; ++i) {
      offsets_us.push_back(static_cast<int64_t>(random.Next() % static_cast<uint64_t>(gaps[group])));
    }
    std::sort(offsets_us.begin(), offsets_us.end());
    for (size_t i = 0; i < offsets_us.size(); ++i) requests[starts[group] + i].arrival_us += offsets_us[i];
  }
  return quantum_us;
}

}  // namespace prefixroute::replay
