// SPDX-License-Identifier: Apache-2.0
//
// Lets the program say what it was built with, for performance_page.py.

#include "benchmark/benchmark.h"

namespace {

[[maybe_unused]] const bool added = [] {
  benchmark::AddCustomContext("compiler", PREFIXROUTE_COMPILER);
  benchmark::AddCustomContext("flags", PREFIXROUTE_FLAGS);
  return true;
}();

}  // namespace
