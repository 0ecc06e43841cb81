// SPDX-License-Identifier: Apache-2.0
//
// Fleets and prompts as they come in the field, for tests of how keys spread and move.

#ifndef PREFIXROUTE_TESTS_RENDEZVOUS_PROMPTS_H_
#define PREFIXROUTE_TESTS_RENDEZVOUS_PROMPTS_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "prefixroute/instance.h"

namespace prefixroute {

// A chat request's body: much alike from prompt to prompt, as real ones are.
inline std::string Prompt(int number) {
  return absl::StrCat(
      R"({"model":"llama-3-70b","stream":true,"messages":[{"role":"system","content":"You are a helpful )",
      R"(assistant."},{"role":"user","content":"Question )", number, R"("}]})");
}

// "<before>0<after>", "<before>1<after>" and so on.
inline std::vector<Instance> NumberedInstances(const std::string& before, int count, const std::string& after = "") {
  std::vector<Instance> instances;
  for (int i = 0; i < count; ++i) instances.push_back({absl::StrCat(before, i, after)});
  return instances;
}

// The three habits of naming: numbers, addresses, long names that differ in one byte.
inline std::vector<std::vector<Instance>> FleetsOfSeven() {
  std::vector<Instance> addresses;
  for (int i = 0; i < 7; ++i) addresses.push_back({absl::StrCat("10.0.0.", i + 1, ":8000")});
  return {NumberedInstances("i-", 7), addresses, NumberedInstances("vllm-llama-70b-", 7, ".svc.cluster.local")};
}

}  // namespace prefixroute

#endif  // PREFIXROUTE_TESTS_RENDEZVOUS_PROMPTS_H_
