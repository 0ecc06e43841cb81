// SPDX-License-Identifier: Apache-2.0
//
// golden_decisions: prints what PREFIX_AWARE decides throughout a fixed history, and at times all costs, to the last
// bit.
// golden_decisions <file>: compares them with that file, line by line.
//
// decisions.golden holds what every build on every machine must print: costs are compared, and gateways whose last bits
// differ may decide differently. Unlike orders, it is not promised to later releases. CMakeLists.txt builds this
// program in several ways, each with its own copy of the library.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iostream>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "prefixroute/rendezvous.h"
#include "prefixroute/router.h"
#include "tests/golden/golden_main.h"

namespace prefixroute {
namespace {

using test::Hex;

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

std::string BitsOf(double number) {
  uint64_t bits;
  static_assert(sizeof(bits) == sizeof(number));
  std::memcpy(&bits, &number, sizeof(bits));
  return Hex(bits);
}

std::vector<Instance> Equals() {
  std::vector<Instance> instances;
  for (int i = 0; i < 7; ++i) instances.push_back({"10.0.0." + std::to_string(i) + ":8000"});
  return instances;
}

std::vector<Instance> Weights() {
  std::vector<Instance> instances = Equals();
  const double weights[] = {1, 2, 5, 7, 10, 3, 1};
  for (size_t i = 0; i < instances.size(); ++i) instances[i].weight = weights[i];
  return instances;
}

void PrintDecision(std::ostream& out, const Decision& decision) {
  out << "decision " << decision.instance << " " << decision.home << " " << decision.rank << " "
      << ReasonName(decision.reason) << " " << decision.matched_bytes << " " << decision.uncached_bytes << "\n";
}

// Some conversations that begin alike, requests under way, loads of the caller's, and what else happens to a fleet.
void PrintHistory(std::ostream& out, std::string_view name, const std::vector<Instance>& instances,
                  uint32_t gateway_replicas) {
  out << "history " << name << " " << gateway_replicas << "\n";
  RouterOptions options;
  options.gateway_replicas = gateway_replicas;
  const auto router = std::move(*Router::Create(options, instances));
  Numbers numbers(instances.size() + gateway_replicas);
  const std::string system = numbers.Text(3'000);
  std::vector<std::string> conversations(12);
  std::deque<Lease> leases;
  std::string drained;
  for (int i = 0; i < 300; ++i) {
    std::string& conversation = conversations[numbers.Below(conversations.size())];
    if (conversation.empty() || numbers.Below(12) == 0) conversation = numbers.Below(3) == 0 ? "" : system;
    conversation += numbers.Text(1 + numbers.Below(3'000));
    Request request;
    request.prefix = conversation;
    const std::string& id = instances[numbers.Below(instances.size())].id;
    if (i % 60 == 40) (void)router->ForgetCache(id);
    if (i % 60 == 50) (void)router->SetDraining(drained = id, true);
    if (i % 60 == 59) (void)router->SetDraining(drained, false);
    if (i % 20 == 0) {
      const std::vector<InstanceCost> costs = *router->Explain(request);
      out << "costs";
      for (const InstanceCost& cost : costs) out << " " << BitsOf(cost.cost);
      out << "\n";
    }
    if (i % 7 == 0) {
      std::vector<Load> loads;
      for (size_t each = 0; each < instances.size(); ++each) {
        loads.push_back({static_cast<uint32_t>(numbers.Below(9)), numbers.Below(50'000)});
      }
      PrintDecision(out, *router->Route(request, loads));
      continue;
    }
    leases.push_back(*router->Acquire(request));
    PrintDecision(out, leases.back().decision());
    if (leases.size() > 4) leases[leases.size() - 5].FirstToken();
    if (leases.size() > 14) leases.pop_front();
  }
}

void Print(std::ostream& out) {
  out << "# SPDX-License-Identifier: Apache-2.0\n"
         "# What golden_decisions prints; CMakeLists.txt says how.\n"
         "#\n"
         "# history <fleet> <gateway_replicas>, then in turn\n"
         "# costs <of each instance, the bits of a double in hexadecimal>...\n"
         "# decision <instance> <home> <rank> <reason> <matched bytes> <uncached bytes>\n";
  for (uint32_t gateway_replicas : {1, 3}) {
    PrintHistory(out, "equals", Equals(), gateway_replicas);
    PrintHistory(out, "weights", Weights(), gateway_replicas);
  }
}

}  // namespace
}  // namespace prefixroute

int main(int argc, char** argv) { return prefixroute::test::GoldenMain(argc, argv, prefixroute::Print); }
