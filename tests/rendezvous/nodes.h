// SPDX-License-Identifier: Apache-2.0
//
// Nodes that own their arrays, for tests of rendezvous.h alone: hashes, weights and ties can be forced.

#ifndef PREFIXROUTE_TESTS_RENDEZVOUS_NODES_H_
#define PREFIXROUTE_TESTS_RENDEZVOUS_NODES_H_

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "prefixroute/rendezvous.h"

namespace prefixroute {

struct OwnedNodes {
  std::vector<uint64_t> hashes;
  std::vector<uint64_t> weights;
  std::vector<uint32_t> ties;

  RendezvousNodes view() const {
    return {hashes.data(), weights.data(), ties.data(), static_cast<uint32_t>(hashes.size())};
  }
};

// Few different hashes and weights, so that ties of every kind come up; some weights are 0.
inline OwnedNodes RandomNodes(uint32_t size, std::mt19937_64& random) {
  OwnedNodes nodes;
  for (uint32_t i = 0; i < size; ++i) {
    nodes.hashes.push_back(random() % 4 == 0 ? random() % 3 : random());
    nodes.weights.push_back(random() % 5 * (uint64_t{1} << (random() % 40)));
    nodes.ties.push_back(i);
  }
  std::shuffle(nodes.ties.begin(), nodes.ties.end(), random);
  return nodes;
}

}  // namespace prefixroute

#endif  // PREFIXROUTE_TESTS_RENDEZVOUS_NODES_H_
