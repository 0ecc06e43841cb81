// SPDX-License-Identifier: Apache-2.0
//
// Sanitizers make a program 5 to 20 times slower: tests that are long by their nature run shorter there, and say so.

#ifndef PREFIXROUTE_TESTS_TESTING_SCALE_H_
#define PREFIXROUTE_TESTS_TESTING_SCALE_H_

#include <iostream>

// 1 under AddressSanitizer or ThreadSanitizer, as GCC and Clang say so; else 0.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PREFIXROUTE_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PREFIXROUTE_TEST_SANITIZED 1
#endif
#endif
#ifndef PREFIXROUTE_TEST_SANITIZED
#define PREFIXROUTE_TEST_SANITIZED 0
#endif

namespace prefixroute::test {

// `count`, or, under a sanitizer, a tenth of it.
inline int Scaled(int count) {
  if (PREFIXROUTE_TEST_SANITIZED == 0) return count;
  std::cout << "[   NOTE   ] under a sanitizer: " << count / 10 << " rounds instead of " << count << "\n";
  return count / 10;
}

}  // namespace prefixroute::test

#endif  // PREFIXROUTE_TESTS_TESTING_SCALE_H_
