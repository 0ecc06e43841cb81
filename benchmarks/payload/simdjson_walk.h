// SPDX-License-Identifier: Apache-2.0
//
// What a general parser needs to do no more than look at everything: the floor for those who would build on simdjson.

#ifndef PREFIXROUTE_BENCHMARKS_PAYLOAD_SIMDJSON_WALK_H_
#define PREFIXROUTE_BENCHMARKS_PAYLOAD_SIMDJSON_WALK_H_

#include <cstddef>
#include <memory>
#include <string_view>

namespace prefixroute {

class SimdjsonWalker {
 public:
  // How many bytes behind the body must be readable.
  static size_t Padding();

  SimdjsonWalker();
  ~SimdjsonWalker();

  // The first step alone: the index.
  void Index(std::string_view body);
  // The index, and then every value once, strings without their escapes. Returns how many bytes of text that is.
  size_t Walk(std::string_view body);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace prefixroute

#endif  // PREFIXROUTE_BENCHMARKS_PAYLOAD_SIMDJSON_WALK_H_
