// SPDX-License-Identifier: Apache-2.0

#include "prefixroute/version.h"
#include "tests/c/check.h"

// Numbers are compiled into programs, where no check of the binary sees them.
_Static_assert(PREFIXROUTE_OK == 0 && PREFIXROUTE_INVALID_ARGUMENT == 3 && PREFIXROUTE_NOT_FOUND == 5 &&
                   PREFIXROUTE_ALREADY_EXISTS == 6 && PREFIXROUTE_RESOURCE_EXHAUSTED == 8 &&
                   PREFIXROUTE_FAILED_PRECONDITION == 9 && PREFIXROUTE_INTERNAL == 13 &&
                   PREFIXROUTE_UNAVAILABLE == 14 && PREFIXROUTE_OUT_OF_MEMORY == 32 &&
                   PREFIXROUTE_BUFFER_TOO_SMALL == 33,
               "statuses");
_Static_assert(PREFIXROUTE_STRATEGY_DEFAULT == 0 && PREFIXROUTE_STRATEGY_RANDOM == 1 &&
                   PREFIXROUTE_STRATEGY_LEAST_OUTSTANDING_REQUESTS == 2 && PREFIXROUTE_STRATEGY_PREFIX_AWARE == 3,
               "strategies");
_Static_assert(PREFIXROUTE_REASON_HOME == 0 && PREFIXROUTE_REASON_DIVERTED_BY_LOAD == 1 &&
                   PREFIXROUTE_REASON_DIVERTED_UNAVAILABLE == 2 && PREFIXROUTE_REASON_NO_PREFIX == 3 &&
                   PREFIXROUTE_REASON_LEAST_OUTSTANDING == 4 && PREFIXROUTE_REASON_RANDOM == 5 &&
                   PREFIXROUTE_REASON_CUSTOM == 6 && PREFIXROUTE_REASON_FAIL_OPEN == 7 &&
                   PREFIXROUTE_REASON_HOLDER == 8,
               "reasons");
_Static_assert(PREFIXROUTE_MAX_ID_BYTES == 255 && PREFIXROUTE_NO_INSTANCE == UINT32_MAX &&
                   PREFIXROUTE_REASON_COUNTS == 16 && PREFIXROUTE_ERROR_TEXT_BYTES == 512,
               "limits");

static void versions(void) {
  CHECK(prefixroute_abi_version() == PREFIXROUTE_ABI_VERSION);
  char version[32];
  snprintf(version, sizeof(version), "%d.%d.%d", PREFIXROUTE_VERSION_MAJOR, PREFIXROUTE_VERSION_MINOR,
           PREFIXROUTE_VERSION_PATCH);
  CHECK(strcmp(prefixroute_version(), version) == 0);
}

static void statuses(void) {
  CHECK(strcmp(prefixroute_status_name(PREFIXROUTE_OK), "OK") == 0);
  CHECK(strcmp(prefixroute_status_name(PREFIXROUTE_INVALID_ARGUMENT), "INVALID_ARGUMENT") == 0);
  CHECK(strcmp(prefixroute_status_name(PREFIXROUTE_NOT_FOUND), "NOT_FOUND") == 0);
  CHECK(strcmp(prefixroute_status_name(PREFIXROUTE_ALREADY_EXISTS), "ALREADY_EXISTS") == 0);
  CHECK(strcmp(prefixroute_status_name(PREFIXROUTE_RESOURCE_EXHAUSTED), "RESOURCE_EXHAUSTED") == 0);
  CHECK(strcmp(prefixroute_status_name(PREFIXROUTE_FAILED_PRECONDITION), "FAILED_PRECONDITION") == 0);
  CHECK(strcmp(prefixroute_status_name(PREFIXROUTE_INTERNAL), "INTERNAL") == 0);
  CHECK(strcmp(prefixroute_status_name(PREFIXROUTE_UNAVAILABLE), "UNAVAILABLE") == 0);
  CHECK(strcmp(prefixroute_status_name(PREFIXROUTE_OUT_OF_MEMORY), "OUT_OF_MEMORY") == 0);
  CHECK(strcmp(prefixroute_status_name(PREFIXROUTE_BUFFER_TOO_SMALL), "BUFFER_TOO_SMALL") == 0);
  CHECK(strcmp(prefixroute_status_name(1), "") == 0);
  CHECK(strcmp(prefixroute_status_name(-1), "") == 0);
}

static void strategies(void) {
  CHECK(strcmp(prefixroute_strategy_name(PREFIXROUTE_STRATEGY_DEFAULT), "") == 0);
  CHECK(strcmp(prefixroute_strategy_name(PREFIXROUTE_STRATEGY_RANDOM), "RANDOM") == 0);
  CHECK(strcmp(prefixroute_strategy_name(PREFIXROUTE_STRATEGY_LEAST_OUTSTANDING_REQUESTS),
               "LEAST_OUTSTANDING_REQUESTS") == 0);
  CHECK(strcmp(prefixroute_strategy_name(PREFIXROUTE_STRATEGY_PREFIX_AWARE), "PREFIX_AWARE") == 0);
  CHECK(strcmp(prefixroute_strategy_name(4), "") == 0);
  CHECK(strcmp(prefixroute_strategy_name(257), "") == 0);

  prefixroute_error error;
  for (uint32_t strategy = 1; strategy <= 3; ++strategy) {
    const char* name = prefixroute_strategy_name(strategy);
    uint32_t parsed = 0;
    CHECK_OK(prefixroute_parse_strategy(name, strlen(name), &parsed, &error));
    CHECK(parsed == strategy);
  }
  uint32_t parsed = 77;
  CHECK_ERROR(prefixroute_parse_strategy("FASTEST", 7, &parsed, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "\"FASTEST\", not RANDOM");
  CHECK_ERROR(prefixroute_parse_strategy("RANDOM", 3, &parsed, &error), PREFIXROUTE_INVALID_ARGUMENT, "\"RAN\"");
  CHECK_STATUS(prefixroute_parse_strategy("FASTEST", 7, &parsed, NULL), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK(parsed == 77);
  CHECK_ERROR(prefixroute_parse_strategy(NULL, 0, &parsed, &error), PREFIXROUTE_INVALID_ARGUMENT, "name is null");
  CHECK_ERROR(prefixroute_parse_strategy("RANDOM", 6, NULL, &error), PREFIXROUTE_INVALID_ARGUMENT, "strategy is null");

  // A text that is longer than its room is cut, and ends.
  char longer[2 * PREFIXROUTE_ERROR_TEXT_BYTES];
  memset(longer, 'x', sizeof(longer));
  CHECK_STATUS(prefixroute_parse_strategy(longer, sizeof(longer), &parsed, &error), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK(strlen(error.text) == PREFIXROUTE_ERROR_TEXT_BYTES - 1);
}

static void reasons(void) {
  CHECK(strcmp(prefixroute_reason_name(PREFIXROUTE_REASON_HOME), "home") == 0);
  CHECK(strcmp(prefixroute_reason_name(PREFIXROUTE_REASON_DIVERTED_BY_LOAD), "diverted_by_load") == 0);
  CHECK(strcmp(prefixroute_reason_name(PREFIXROUTE_REASON_DIVERTED_UNAVAILABLE), "diverted_unavailable") == 0);
  CHECK(strcmp(prefixroute_reason_name(PREFIXROUTE_REASON_NO_PREFIX), "no_prefix") == 0);
  CHECK(strcmp(prefixroute_reason_name(PREFIXROUTE_REASON_LEAST_OUTSTANDING), "least_outstanding") == 0);
  CHECK(strcmp(prefixroute_reason_name(PREFIXROUTE_REASON_RANDOM), "random") == 0);
  CHECK(strcmp(prefixroute_reason_name(PREFIXROUTE_REASON_CUSTOM), "custom") == 0);
  CHECK(strcmp(prefixroute_reason_name(PREFIXROUTE_REASON_FAIL_OPEN), "fail_open") == 0);
  CHECK(strcmp(prefixroute_reason_name(PREFIXROUTE_REASON_HOLDER), "holder") == 0);
  CHECK(strcmp(prefixroute_reason_name(PREFIXROUTE_REASON_HOLDER + 1), "") == 0);
  CHECK(strcmp(prefixroute_reason_name(256), "") == 0);
}

void names_test(void) {
  versions();
  statuses();
  strategies();
  reasons();
}
