// SPDX-License-Identifier: Apache-2.0
//
// The fixed history of decisions.golden: some conversations that begin alike, requests under way, loads of the
// caller's, and what else happens to a fleet. Whoever plays it, through whatever API, must print the same.

#ifndef PREFIXROUTE_TESTS_GOLDEN_HISTORY_H_
#define PREFIXROUTE_TESTS_GOLDEN_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "prefixroute/instance.h"
#include "prefixroute/rendezvous.h"
#include "prefixroute/router.h"
#include "tests/golden/golden_main.h"

namespace prefixroute::test {

// The same numbers everywhere.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : seed_(seed) {}
  uint64_t Below(uint64_t end) { return MixBits(seed_ * 1'000'003 + ++drawn_) % end; }
  std::string Text(size_t size) {
    std::string text(size, '\0');
    for (char& byte : text) byte = static_cast<char>(Below(256));
    return text;
  }

 private:
  uint64_t seed_;
  uint64_t drawn_ = 0;
};

inline std::string BitsOf(double number) {
  uint64_t bits;
  static_assert(sizeof(bits) == sizeof(number));
  std::memcpy(&bits, &number, sizeof(bits));
  return Hex(bits);
}

inline std::vector<Instance> Equals() {
  std::vector<Instance> instances;
  for (int i = 0; i < 7; ++i) instances.push_back({"10.0.0." + std::to_string(i) + ":8000"});
  return instances;
}

inline std::vector<Instance> Weights() {
  std::vector<Instance> instances = Equals();
  const double weights[] = {1, 2, 5, 7, 10, 3, 1};
  for (size_t i = 0; i < instances.size(); ++i) instances[i].weight = weights[i];
  return instances;
}

inline void PrintDecision(std::ostream& out, const Decision& decision) {
  out << "decision " << decision.instance << " " << decision.home << " " << decision.rank << " "
      << ReasonName(decision.reason) << " " << decision.matched_bytes << " " << decision.uncached_bytes << "\n";
}

// A player has, for one router:
//
//   Player(RouterOptions, std::vector<Instance>)
//   void ForgetCache(std::string id); void SetDraining(std::string id, bool draining);
//   std::vector<double> Costs(std::string_view prefix);
//   Decision Route(std::string_view prefix, std::vector<Load> loads);
//   Decision Acquire(std::string_view prefix);    // Keeps the lease, after those that it has.
//   void FirstToken(size_t index); void FinishOldest(); size_t leases();
template <typename Player>
void PlayHistory(std::ostream& out, std::string_view name, const std::vector<Instance>& instances,
                 uint32_t gateway_replicas) {
  out << "history " << name << " " << gateway_replicas << "\n";
  RouterOptions options;
  options.gateway_replicas = gateway_replicas;
  Player player(options, instances);
  Numbers numbers(instances.size() + gateway_replicas);
  const std::string system = numbers.Text(3'000);
  std::vector<std::string> conversations(12);
  std::string drained;
  for (int i = 0; i < 300; ++i) {
    std::string& conversation = conversations[numbers.Below(conversations.size())];
    if (conversation.empty() || numbers.Below(12) == 0) conversation = numbers.Below(3) == 0 ? "" : system;
    conversation += numbers.Text(1 + numbers.Below(3'000));
    const std::string& id = instances[numbers.Below(instances.size())].id;
    if (i % 60 == 40) player.ForgetCache(id);
    if (i % 60 == 50) player.SetDraining(drained = id, true);
    if (i % 60 == 59) player.SetDraining(drained, false);
    if (i % 20 == 0) {
      out << "costs";
      for (double cost : player.Costs(conversation)) out << " " << BitsOf(cost);
      out << "\n";
    }
    if (i % 7 == 0) {
      std::vector<Load> loads;
      for (size_t each = 0; each < instances.size(); ++each) {
        loads.push_back({static_cast<uint32_t>(numbers.Below(9)), numbers.Below(50'000)});
      }
      PrintDecision(out, player.Route(conversation, loads));
      continue;
    }
    PrintDecision(out, player.Acquire(conversation));
    if (player.leases() > 4) player.FirstToken(player.leases() - 5);
    if (player.leases() > 14) player.FinishOldest();
  }
}

template <typename Player>
void PlayHistories(std::ostream& out) {
  out << "# SPDX-License-Identifier: Apache-2.0\n"
         "# What golden_decisions prints; CMakeLists.txt says how.\n"
         "#\n"
         "# history <fleet> <gateway_replicas>, then in turn\n"
         "# costs <of each instance, the bits of a double in hexadecimal>...\n"
         "# decision <instance> <home> <rank> <reason> <matched bytes> <uncached bytes>\n";
  for (uint32_t gateway_replicas : {1, 3}) {
    PlayHistory<Player>(out, "equals", Equals(), gateway_replicas);
    PlayHistory<Player>(out, "weights", Weights(), gateway_replicas);
  }
}

}  // namespace prefixroute::test

#endif  // PREFIXROUTE_TESTS_GOLDEN_HISTORY_H_
