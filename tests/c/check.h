// SPDX-License-Identifier: Apache-2.0
//
// What the C tests check with, and a fleet to check on. All is C11: this is how a C program sees the library.

#ifndef PREFIXROUTE_TESTS_C_CHECK_H_
#define PREFIXROUTE_TESTS_C_CHECK_H_

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "prefixroute/c.h"

// How many checks failed; each says where.
extern int failed_checks;

static inline void check(bool holds, const char* what, const char* file, int line) {
  if (holds) return;
  ++failed_checks;
  fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
}
#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)

static inline void check_status(prefixroute_status status, prefixroute_status expected, const char* what,
                                const char* file, int line) {
  if (status == expected) return;
  ++failed_checks;
  fprintf(stderr, "%s:%d: %s, not %s: %s\n", file, line, prefixroute_status_name(status),
          prefixroute_status_name(expected), what);
}
#define CHECK_OK(call) check_status((call), PREFIXROUTE_OK, #call, __FILE__, __LINE__)
#define CHECK_STATUS(call, expected) check_status((call), (expected), #call, __FILE__, __LINE__)

// Of calls that have `error`, the text too: it must contain `part`.
static inline void check_error(prefixroute_status status, prefixroute_status expected, prefixroute_error* error,
                               const char* part, const char* what, const char* file, int line) {
  check_status(status, expected, what, file, line);
  if (strstr(error->text, part) == NULL) {
    ++failed_checks;
    fprintf(stderr, "%s:%d: the error is \"%s\", without \"%s\": %s\n", file, line, error->text, part, what);
  }
  error->text[0] = '\0';
}
#define CHECK_ERROR(call, expected, part) check_error((call), (expected), &error, (part), #call, __FILE__, __LINE__)

// Instances "i-0", "i-1" and so on, of weight 1.
#define MAX_TEST_INSTANCES 8
typedef struct fleet {
  char ids[MAX_TEST_INSTANCES][16];
  prefixroute_instance instances[MAX_TEST_INSTANCES];
} fleet;

static inline void make_fleet(fleet* made, uint32_t count, uint32_t max_outstanding) {
  for (uint32_t i = 0; i < count; ++i) {
    snprintf(made->ids[i], sizeof(made->ids[i]), "i-%u", (unsigned)i);
    made->instances[i] = (prefixroute_instance){.struct_size = sizeof(prefixroute_instance),
                                                .max_outstanding = max_outstanding,
                                                .weight = 1,
                                                .id = made->ids[i],
                                                .id_size = strlen(made->ids[i])};
  }
}

static inline prefixroute_router* make_router(uint32_t count, uint32_t max_outstanding) {
  fleet made;
  make_fleet(&made, count, max_outstanding);
  prefixroute_router* router = NULL;
  CHECK_OK(prefixroute_create(NULL, made.instances, count, &router, NULL));
  return router;
}

static inline prefixroute_request request_for(const char* prompt) {
  return (prefixroute_request){
      .struct_size = sizeof(prefixroute_request), .prefix = prompt, .prefix_size = strlen(prompt)};
}

static inline uint64_t outstanding_of(const prefixroute_router* router) {
  prefixroute_stats stats = {.struct_size = sizeof(stats)};
  CHECK_OK(prefixroute_get_stats(router, &stats, NULL, 0, NULL, NULL));
  return stats.outstanding;
}

static inline prefixroute_instance_stats stats_of(const prefixroute_router* router, uint32_t index) {
  prefixroute_instance_stats all[MAX_TEST_INSTANCES];
  all[0].struct_size = sizeof(all[0]);
  CHECK_OK(prefixroute_get_stats(router, NULL, all, MAX_TEST_INSTANCES, NULL, NULL));
  return all[index];
}

void names_test(void);
void router_test(void);
void decisions_test(void);
void leases_test(void);
void lease_threads_test(void);
void keys_test(void);
void shared_test(void);
void struct_sizes_test(void);

#endif  // PREFIXROUTE_TESTS_C_CHECK_H_
