// SPDX-License-Identifier: Apache-2.0
//
// prefixroute_instructions: runs each case on the same inputs every time, for check_counts.py, which counts its
// instructions. Prints what it was built with and what it runs, a line each: the case, and how many calls.
//
// prefixroute_instructions --describe: the former alone.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "prefixroute/router.h"

// callgrind knows it by this name: it counts from where this begins to where it ends.
extern "C" __attribute__((noinline)) void PrefixrouteMeasured(const std::function<void()>& work) { work(); }

namespace prefixroute {
namespace {

constexpr uint32_t kCalls = 128;
constexpr size_t kTailBytes = 60;

template <typename Value>
void Use(Value&& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

// Half of the prompts have a prefix of their own, and half one of eight.
std::vector<std::string> MakePrompts(size_t prefix_bytes) {
  std::vector<std::string> prompts;
  for (uint64_t number = 0; number < kCalls; ++number) {
    std::string prompt(prefix_bytes + kTailBytes, 'x');
    const uint64_t head = MixBits(1 + (number % 2 == 0 ? number % 16 : number));
    std::memcpy(prompt.data(), &head, sizeof(head));
    std::memcpy(prompt.data() + prefix_bytes, &number, sizeof(number));
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

std::vector<Instance> MakeFleet(uint32_t size) {
  std::vector<Instance> instances;
  for (uint32_t i = 0; i < size; ++i) instances.push_back({"10.0.0." + std::to_string(i) + ":8000"});
  return instances;
}

// Once to warm up, so that what is done at the first call alone doesn't count; then measured.
void Run(const std::string& name, uint32_t calls, const std::function<void()>& work) {
  work();
  PrefixrouteMeasured(work);
  std::printf("case %s %u\n", name.c_str(), calls);
}

void RunMakePrefixKey(size_t bytes) {
  const std::vector<std::string> prompts = MakePrompts(bytes);
  Run("MakePrefixKey " + std::to_string(bytes), kCalls, [&] {
    for (const std::string& prompt : prompts) Use(MakePrefixKey(prompt));
  });
}

// Calls decide(request) with each prompt.
void RunDecisions(const std::string& name, const std::function<void(const Request&)>& decide) {
  const std::vector<std::string> prompts = MakePrompts(2 << 10);
  Run(name, kCalls, [&] {
    Request request;
    for (const std::string& prompt : prompts) {
      request.prefix = prompt;
      request.random = 1;  // Else the router draws, from a seed that the system gives.
      decide(request);
    }
  });
}

void RunRoute(const std::string& name, const RouterOptions& options, uint32_t instances) {
  const auto router = *Router::Create(options, MakeFleet(instances));
  std::vector<Load> loads;
  for (uint32_t i = 0; i < instances; ++i) loads.push_back({i % 4, uint64_t{i % 3} * 1000});
  RunDecisions("Route " + name + " " + std::to_string(instances),
               [&](const Request& request) { Use(router->Route(request, loads)); });
}

void RunAcquireFinish(uint32_t instances) {
  const auto router = *Router::Create({}, MakeFleet(instances));
  std::vector<Lease> in_flight(kCalls / 4);
  size_t oldest = 0;
  RunDecisions("Acquire+Finish adaptive " + std::to_string(instances), [&](const Request& request) {
    in_flight[oldest] = *router->Acquire(request);
    oldest = (oldest + 1) % in_flight.size();
  });
}

void RunSetInstances(uint32_t size) {
  const std::vector<Instance> all = MakeFleet(size);
  const std::vector<Instance> fewer(all.begin(), all.end() - 1);
  const auto router = *Router::Create({}, all);
  Run("SetInstances " + std::to_string(size), 2, [&] {
    Use(router->SetInstances(fewer));
    Use(router->SetInstances(all));
  });
}

void RunAll() {
  RouterOptions strict;
  strict.strict_prefix_bytes = 2 << 10;
  for (const size_t bytes : {256, 2 << 10, 32 << 10}) RunMakePrefixKey(bytes);
  for (const uint32_t instances : {7, 64, 1024}) RunRoute("strict", strict, instances);
  for (const uint32_t instances : {7, 64, 1024}) RunRoute("adaptive", {}, instances);
  for (const uint32_t instances : {7, 64, 1024}) RunAcquireFinish(instances);
  RunSetInstances(1024);
}

bool HasAvx2() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

}  // namespace
}  // namespace prefixroute

int main(int argc, char** argv) {
  std::printf("build " PREFIXROUTE_BUILD "\nvectors %s\n", prefixroute::HasAvx2() ? "AVX2" : "none");
  if (argc > 1 && std::string_view(argv[1]) == "--describe") return 0;
  prefixroute::RunAll();
  return 0;
}
