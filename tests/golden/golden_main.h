// SPDX-License-Identifier: Apache-2.0
//
// main() of a program that prints what every build must print: without arguments it prints, with one it compares with
// that file, line by line.

#ifndef PREFIXROUTE_TESTS_GOLDEN_GOLDEN_MAIN_H_
#define PREFIXROUTE_TESTS_GOLDEN_GOLDEN_MAIN_H_

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <ostream>
#include <sstream>
#include <string>

namespace prefixroute::test {

inline std::string Hex(uint64_t bits) {
  char hex[17];
  std::snprintf(hex, sizeof(hex), "%016llx", static_cast<unsigned long long>(bits));
  return hex;
}

// Whether the machine can run what the compiler was told to use.
inline bool CpuCanRunThis() {
#ifdef __AVX512F__
  if (!__builtin_cpu_supports("avx512f")) return false;
#endif
#ifdef __AVX2__
  if (!__builtin_cpu_supports("avx2")) return false;
#endif
#if defined(__FMA__) && (defined(__x86_64__) || defined(__i386__))
  if (!__builtin_cpu_supports("fma")) return false;
#endif
  return true;
}

inline int CompareWith(const char* path, void (*print)(std::ostream&)) {
  std::ifstream file(path);
  if (!file) {
    std::cerr << path << ": can't be read\n";
    return 1;
  }
  std::stringstream own;
  print(own);
  for (int number = 1;; ++number) {
    std::string expected;
    std::string line;
    const bool has_expected = static_cast<bool>(std::getline(file, expected));
    const bool has_line = static_cast<bool>(std::getline(own, line));
    if (!has_expected && !has_line) {
      std::cout << number - 1 << " lines are the same\n";
      return 0;
    }
    if (!has_expected || !has_line || expected != line) {
      std::cerr << path << ":" << number << ": this build differs\nfile:  " << expected << "\nbuild: " << line << "\n";
      return 1;
    }
  }
}

inline int GoldenMain(int argc, char** argv, void (*print)(std::ostream&)) {
  constexpr int kSkipped = 77;
  if (!CpuCanRunThis()) {
    std::cout << "skipped: this cpu hasn't the vector units that the program was built for\n";
    return kSkipped;
  }
  if (argc == 2) return CompareWith(argv[1], print);
  print(std::cout);
  return 0;
}

}  // namespace prefixroute::test

#endif  // PREFIXROUTE_TESTS_GOLDEN_GOLDEN_MAIN_H_
