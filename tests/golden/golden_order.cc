// SPDX-License-Identifier: Apache-2.0
//
// golden_order: prints the keys and the orders of a fixed set of prefixes, scopes and fleets.
// golden_order <file>: compares them with that file, line by line.
//
// order.golden holds what every build on every machine must print, and what every later release of the same minor
// version must too: gateways that differ in it send one prefix to two homes. CMakeLists.txt builds this program in
// several ways, each with its own copy of the hash and the fleet, and compares.

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "prefixroute/instance.h"
#include "prefixroute/prefix_key.h"
#include "prefixroute/rendezvous.h"
#include "src/fleet/fleet.h"
#include "tests/golden/golden_main.h"

namespace prefixroute {
namespace {

using test::Hex;

struct NamedFleet {
  std::string name;
  std::vector<Instance> instances;
};

// All values, from a generator that is the same everywhere.
std::string Bytes(size_t length, uint64_t seed) {
  std::string bytes;
  for (uint64_t i = 0; i < length; ++i) bytes.push_back(static_cast<char>(MixBits(seed * 1'000'003 + i) >> 56));
  return bytes;
}

std::string Repeated(std::string_view part, size_t times) {
  std::string whole;
  for (size_t i = 0; i < times; ++i) whole += part;
  return whole;
}

std::vector<NamedFleet> Fleets() {
  std::vector<NamedFleet> fleets;
  fleets.push_back({"addresses", {}});
  for (int i = 1; i <= 7; ++i) fleets.back().instances.push_back({"10.0.0." + std::to_string(i) + ":8000"});
  fleets.push_back({"weights",
                    {{"a", 1},
                     {"b", 1},
                     {"c", 2},
                     {"d", 4},
                     {"none", 0},
                     {"least", kMinWeight},
                     {"most", kMaxWeight},
                     {"odd", 0.7},
                     {"odder", 3.14159}}});
  fleets.push_back({"bytes",
                    {{std::string(1, '\0')},
                     {std::string("\0A", 2)},
                     {"\xff"},
                     {"\xc3\xa9t\xc3\xa9"},
                     {"b"},
                     {"bb"},
                     {std::string(kMaxInstanceIdBytes, 'b')},
                     {Bytes(kMaxInstanceIdBytes, 1), 2}}});
  fleets.push_back({"one", {{"alone"}}});
  fleets.push_back({"many", {}});
  for (int i = 0; i < 60; ++i) {
    fleets.back().instances.push_back({"vllm-llama-70b-" + std::to_string(i) + ".svc.cluster.local", 1.0 + i % 3});
  }
  return fleets;
}

// Lengths on both sides of every border at which XXH3 changes its way.
std::vector<std::string> Prefixes() {
  std::vector<std::string> prefixes;
  for (size_t length : {1, 2, 3, 4, 8, 9, 16, 17, 32, 33, 64, 65, 96, 97, 128, 129, 192, 240, 241, 256, 257, 512}) {
    prefixes.push_back(Bytes(length, length));
  }
  for (size_t length : {1023, 1024, 1025, 4096, 100'000}) prefixes.push_back(Repeated("0123456789abcdef", length));
  prefixes.push_back("Hello, world");
  prefixes.push_back(R"({"model":"m","messages":[{"role":"user","content":"Hi"}]})");
  prefixes.push_back(std::string(1, '\0'));
  prefixes.push_back(std::string("\0A", 2));
  prefixes.push_back(std::string(300, '\0'));
  return prefixes;
}

std::string Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (char byte : bytes) {
    hex += kDigits[static_cast<unsigned char>(byte) >> 4];
    hex += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return hex.empty() ? "-" : hex;
}

// A long one that repeats its first 16 bytes is written shortly.
std::string HexOfPrefix(const std::string& prefix) {
  const std::string_view part = std::string_view(prefix).substr(0, 16);
  const size_t times = prefix.size() / 16;
  return times > 100 && prefix == Repeated(part, times) ? Hex(part) + "*" + std::to_string(times) : Hex(prefix);
}

void Print(std::ostream& out) {
  out << "# SPDX-License-Identifier: Apache-2.0\n"
         "# Frozen. What golden_order prints; CMakeLists.txt says how. Byte strings are in hexadecimal, \"-\" an "
         "empty\n"
         "# one, \"*n\" n times the same.\n"
         "#\n"
         "# key <prefix> <scope> <value and fingerprints in hexadecimal>...\n"
         "# fleet <name>, then its instances, counted from 0:\n"
         "# instance <weight> <id>\n"
         "# order <prefix> <scope> <key in hexadecimal> <instances, the home first>...\n";
  out.precision(17);
  const std::vector<std::string> prefixes = Prefixes();
  const std::vector<std::string> scopes = {"", std::string("tenant\0x", 8)};
  for (const std::string& prefix : prefixes) {
    for (const std::string& scope : scopes) {
      const PrefixKey key = MakePrefixKey(prefix, scope, kMaxMaxPrefixBytes);
      out << "key " << HexOfPrefix(prefix) << " " << Hex(scope) << " " << Hex(key.value());
      for (size_t i = 0; i < key.depth_count(); ++i) out << " " << Hex(key.fingerprint(i));
      out << "\n";
    }
  }
  for (const auto& [name, instances] : Fleets()) {
    out << "fleet " << name << "\n";
    for (const Instance& instance : instances) out << "instance " << instance.weight << " " << Hex(instance.id) << "\n";
    const internal::Fleet fleet(instances, std::vector<uint8_t>(instances.size()),
                                std::vector<uint32_t>(instances.size()));
    for (const std::string& prefix : prefixes) {
      for (const std::string& scope : scopes) {
        const PrefixKey key = MakePrefixKey(prefix, scope, kMaxMaxPrefixBytes);
        std::vector<uint32_t> order(instances.size());
        order.resize(RendezvousOrder(
            fleet.nodes(), key.value(), [](uint32_t) { return true; }, order.data(), order.size()));
        out << "order " << HexOfPrefix(prefix) << " " << Hex(scope) << " " << Hex(key.value());
        for (uint32_t instance : order) out << " " << instance;
        out << "\n";
      }
    }
  }
}

}  // namespace
}  // namespace prefixroute

int main(int argc, char** argv) { return prefixroute::test::GoldenMain(argc, argv, prefixroute::Print); }
