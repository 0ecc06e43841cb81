// SPDX-License-Identifier: Apache-2.0
//
// main <test>: runs one of the tests of the C API.

#include "tests/c/check.h"

int failed_checks = 0;

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } tests[] = {
      {"names", names_test},
      {"router", router_test},
      {"decisions", decisions_test},
      {"leases", leases_test},
      {"lease_threads", lease_threads_test},
      {"keys", keys_test},
      {"shared", shared_test},
      {"struct_sizes", struct_sizes_test},
  };
  for (size_t i = 0; argc == 2 && i < sizeof(tests) / sizeof(tests[0]); ++i) {
    if (strcmp(argv[1], tests[i].name) != 0) continue;
    tests[i].run();
    return failed_checks == 0 ? 0 : 1;
  }
  fprintf(stderr, "usage: c_api_test <test>, one of main.c's\n");
  return 2;
}
