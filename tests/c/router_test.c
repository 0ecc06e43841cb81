// SPDX-License-Identifier: Apache-2.0

#include "tests/c/check.h"

static prefixroute_options default_options(void) {
  prefixroute_options options;
  prefixroute_options_init(&options, sizeof(options));
  return options;
}

static void defaults(void) {
  prefixroute_options options;
  memset(&options, 0xff, sizeof(options));
  prefixroute_options_init(&options, sizeof(options));
  CHECK(options.struct_size == sizeof(options));
  CHECK(options.strategy == PREFIXROUTE_STRATEGY_PREFIX_AWARE);
  CHECK(options.max_prefix_bytes == 1 << 20);
  CHECK(options.strict_prefix_bytes == 0);
  CHECK(options.bound_factor_percent == 125 && options.bound_margin == 0 && options.bound_floor == 16);
  CHECK(options.gateway_replicas == 1 && options.fail_open == 0);
  CHECK(options.max_instances == 1024 && options.prefix_entries == 65536);
  CHECK(options.reserved == 0);
  prefixroute_options_init(NULL, sizeof(options));
}

static void creation(void) {
  prefixroute_error error;
  fleet made;
  make_fleet(&made, 3, 0);
  prefixroute_router* router = NULL;
  CHECK_OK(prefixroute_create(NULL, NULL, 0, &router, &error));
  prefixroute_destroy(router);
  prefixroute_destroy(NULL);

  prefixroute_router* untouched = (prefixroute_router*)&made;
  router = untouched;
  CHECK_ERROR(prefixroute_create(NULL, made.instances, 3, NULL, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "router is null");
  CHECK_ERROR(prefixroute_create(NULL, NULL, 3, &router, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "instances is null, but its size is 3");
  CHECK_ERROR(prefixroute_create(NULL, made.instances, SIZE_MAX, &router, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "more than 65536");

  made.instances[1].id_size = 0;
  CHECK_ERROR(prefixroute_create(NULL, made.instances, 3, &router, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "instances[1].id is empty");
  made.instances[1].id = NULL;
  made.instances[1].id_size = 3;
  CHECK_ERROR(prefixroute_create(NULL, made.instances, 3, &router, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "instances[1].id is null");
  char long_id[PREFIXROUTE_MAX_ID_BYTES + 1];
  memset(long_id, 'x', sizeof(long_id));
  made.instances[1].id = long_id;
  made.instances[1].id_size = sizeof(long_id);
  CHECK_ERROR(prefixroute_create(NULL, made.instances, 3, &router, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "instances[1].id is 256 bytes long");
  made.instances[1].id = "i-0";
  made.instances[1].id_size = 3;
  CHECK_ERROR(prefixroute_create(NULL, made.instances, 3, &router, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "instances[1].id is given twice: \"i-0\"");
  make_fleet(&made, 3, 0);
  made.instances[2].weight = -1;
  CHECK_ERROR(prefixroute_create(NULL, made.instances, 3, &router, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "instances[2].weight is -1");
  CHECK(router == untouched);
}

static void bad_options(void) {
  prefixroute_error error;
  prefixroute_router* router = NULL;
  prefixroute_options options = default_options();
  options.strategy = 4;
  CHECK_ERROR(prefixroute_create(&options, NULL, 0, &router, &error), PREFIXROUTE_INVALID_ARGUMENT, "strategy is 4");
  options = default_options();
  options.fail_open = 2;
  CHECK_ERROR(prefixroute_create(&options, NULL, 0, &router, &error), PREFIXROUTE_INVALID_ARGUMENT, "fail_open is 2");
  options = default_options();
  options.reserved = 1;
  CHECK_ERROR(prefixroute_create(&options, NULL, 0, &router, &error), PREFIXROUTE_INVALID_ARGUMENT, "reserved is 1");
  options = default_options();
  options.max_prefix_bytes = 0;
  CHECK_ERROR(prefixroute_create(&options, NULL, 0, &router, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "max_prefix_bytes is 0");
  options = default_options();
  options.bound_factor_percent = 50;
  CHECK_ERROR(prefixroute_create(&options, NULL, 0, &router, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "factor_percent is 50");
  options = default_options();
  options.prefix_entries = 1000;
  CHECK_ERROR(prefixroute_create(&options, NULL, 0, &router, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "prefix_entries is 1000");
  CHECK(router == NULL);
}

static void options_are_kept_and_changed(void) {
  prefixroute_error error;
  prefixroute_options options = default_options();
  options.strategy = PREFIXROUTE_STRATEGY_RANDOM;
  options.max_prefix_bytes = 1001;
  options.strict_prefix_bytes = 1002;
  options.bound_factor_percent = 103;
  options.bound_margin = 4;
  options.bound_floor = 5;
  options.gateway_replicas = 6;
  options.fail_open = 1;
  options.max_instances = 7;
  options.prefix_entries = 2048;
  prefixroute_router* router = NULL;
  CHECK_OK(prefixroute_create(&options, NULL, 0, &router, &error));
  prefixroute_options read = {.struct_size = sizeof(read)};
  CHECK_OK(prefixroute_get_options(router, &read, &error));
  CHECK(memcmp(&read, &options, sizeof(read)) == 0);

  read.strategy = PREFIXROUTE_STRATEGY_DEFAULT;
  read.fail_open = 0;
  CHECK_OK(prefixroute_set_options(router, &read, &error));
  CHECK_OK(prefixroute_get_options(router, &read, &error));
  CHECK(read.strategy == PREFIXROUTE_STRATEGY_PREFIX_AWARE && read.fail_open == 0);
  CHECK_OK(prefixroute_set_strategy(router, PREFIXROUTE_STRATEGY_LEAST_OUTSTANDING_REQUESTS, &error));
  CHECK_OK(prefixroute_get_options(router, &read, &error));
  CHECK(read.strategy == PREFIXROUTE_STRATEGY_LEAST_OUTSTANDING_REQUESTS);
  CHECK_OK(prefixroute_set_strategy(router, PREFIXROUTE_STRATEGY_DEFAULT, &error));
  CHECK_OK(prefixroute_get_options(router, &read, &error));
  CHECK(read.strategy == PREFIXROUTE_STRATEGY_PREFIX_AWARE);

  read.max_instances = 8;
  CHECK_ERROR(prefixroute_set_options(router, &read, &error), PREFIXROUTE_INVALID_ARGUMENT, "was fixed at 7");
  CHECK_ERROR(prefixroute_set_strategy(router, 9, &error), PREFIXROUTE_INVALID_ARGUMENT, "strategy is 9");
  CHECK_ERROR(prefixroute_set_strategy(NULL, 1, &error), PREFIXROUTE_INVALID_ARGUMENT, "router is null");
  CHECK_ERROR(prefixroute_set_options(NULL, &read, &error), PREFIXROUTE_INVALID_ARGUMENT, "router is null");
  CHECK_ERROR(prefixroute_set_options(router, NULL, &error), PREFIXROUTE_INVALID_ARGUMENT, "options is null");
  CHECK_ERROR(prefixroute_get_options(NULL, &read, &error), PREFIXROUTE_INVALID_ARGUMENT, "router is null");
  CHECK_ERROR(prefixroute_get_options(router, NULL, &error), PREFIXROUTE_INVALID_ARGUMENT, "options is null");
  prefixroute_destroy(router);
}

static void membership(void) {
  prefixroute_error error;
  fleet made;
  make_fleet(&made, 3, 0);
  prefixroute_router* router = make_router(3, 0);
  const uint64_t fingerprint = prefixroute_membership_fingerprint(router);
  CHECK(fingerprint != 0);
  CHECK_OK(prefixroute_set_instances(router, made.instances, 2, &error));
  CHECK(prefixroute_membership_fingerprint(router) != fingerprint);
  CHECK_OK(prefixroute_set_instances(router, made.instances, 3, &error));
  CHECK(prefixroute_membership_fingerprint(router) == fingerprint);
  CHECK(prefixroute_membership_fingerprint(NULL) == 0);

  made.instances[0].max_outstanding = UINT32_MAX;
  CHECK_ERROR(prefixroute_set_instances(router, made.instances, 3, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "instances[0].max_outstanding");
  CHECK_ERROR(prefixroute_set_instances(NULL, made.instances, 3, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "router is null");
  CHECK_ERROR(prefixroute_set_instances(router, NULL, 3, &error), PREFIXROUTE_INVALID_ARGUMENT, "instances is null");
  CHECK(prefixroute_membership_fingerprint(router) == fingerprint);

  CHECK_OK(prefixroute_set_draining(router, "i-1", 3, 1, &error));
  CHECK(stats_of(router, 1).draining == 1 && stats_of(router, 0).draining == 0);
  CHECK_OK(prefixroute_set_draining(router, "i-1", 3, 0, &error));
  CHECK(stats_of(router, 1).draining == 0);
  CHECK_ERROR(prefixroute_set_draining(router, "nobody", 6, 1, &error), PREFIXROUTE_NOT_FOUND, "\"nobody\"");
  CHECK_ERROR(prefixroute_set_draining(router, "i-1", 3, 2, &error), PREFIXROUTE_INVALID_ARGUMENT, "draining is 2");
  CHECK_ERROR(prefixroute_set_draining(router, NULL, 3, 1, &error), PREFIXROUTE_INVALID_ARGUMENT, "id is null");
  CHECK_ERROR(prefixroute_set_draining(NULL, "i-1", 3, 1, &error), PREFIXROUTE_INVALID_ARGUMENT, "router is null");
  prefixroute_destroy(router);
}

// What an engine says makes the router look elsewhere.
static void reports(void) {
  prefixroute_error error;
  prefixroute_router* router = make_router(2, 0);
  CHECK_OK(prefixroute_set_strategy(router, PREFIXROUTE_STRATEGY_LEAST_OUTSTANDING_REQUESTS, &error));
  CHECK_OK(prefixroute_report_load(router, "i-0", 3, 10, 5, &error));
  const prefixroute_request request = request_for("prompt");
  for (int i = 0; i < 5; ++i) {
    prefixroute_lease lease;
    prefixroute_decision decision = {.struct_size = sizeof(decision)};
    CHECK_OK(prefixroute_acquire(router, &request, &lease, &decision, &error));
    CHECK(decision.instance == 1);
  }
  CHECK_ERROR(prefixroute_report_load(router, "nobody", 6, 1, 0, &error), PREFIXROUTE_NOT_FOUND, "\"nobody\"");
  CHECK_ERROR(prefixroute_report_load(router, NULL, 6, 1, 0, &error), PREFIXROUTE_INVALID_ARGUMENT, "id is null");
  CHECK_ERROR(prefixroute_report_load(NULL, "i-0", 3, 1, 0, &error), PREFIXROUTE_INVALID_ARGUMENT, "router is null");
  CHECK_ERROR(prefixroute_forget_cache(router, "nobody", 6, &error), PREFIXROUTE_NOT_FOUND, "\"nobody\"");
  CHECK_ERROR(prefixroute_forget_cache(router, NULL, 6, &error), PREFIXROUTE_INVALID_ARGUMENT, "id is null");
  CHECK_ERROR(prefixroute_forget_cache(NULL, "i-0", 3, &error), PREFIXROUTE_INVALID_ARGUMENT, "router is null");
  prefixroute_destroy(router);
}

static void lost_cache_is_forgotten(void) {
  prefixroute_error error;
  prefixroute_router* router = make_router(2, 0);
  char prompt[10001];
  memset(prompt, 'x', sizeof(prompt) - 1);
  prompt[sizeof(prompt) - 1] = '\0';
  const prefixroute_request request = request_for(prompt);
  const prefixroute_load loads[2] = {{0}, {0}};
  prefixroute_decision decision = {.struct_size = sizeof(decision)};
  CHECK_OK(prefixroute_route(router, &request, loads, 2, &decision, &error));
  CHECK(decision.matched_bytes == 0 && decision.prefix_bytes == 10000);
  CHECK_OK(prefixroute_route(router, &request, loads, 2, &decision, &error));
  CHECK(decision.matched_bytes > 0);
  CHECK_OK(prefixroute_forget_cache(router, decision.instance == 0 ? "i-0" : "i-1", 3, &error));
  CHECK_OK(prefixroute_route(router, &request, loads, 2, &decision, &error));
  CHECK(decision.matched_bytes == 0);
  prefixroute_destroy(router);
}

static void statistics(void) {
  prefixroute_error error;
  prefixroute_router* router = make_router(3, 7);
  const prefixroute_request request = request_for("prompt");
  prefixroute_decision decision = {.struct_size = sizeof(decision)};
  prefixroute_lease lease;
  CHECK_OK(prefixroute_acquire(router, &request, &lease, &decision, &error));
  CHECK_OK(prefixroute_report_cached_tokens(router, &lease, 20, 100));
  const uint32_t all[3] = {0, 1, 2};
  prefixroute_request nobody = request;
  nobody.exclude_indexes = all;
  nobody.exclude_count = 3;
  CHECK_STATUS(prefixroute_acquire(router, &nobody, &(prefixroute_lease){0}, NULL, &error), PREFIXROUTE_UNAVAILABLE);

  prefixroute_stats stats;
  memset(&stats, 0xff, sizeof(stats));
  stats.struct_size = sizeof(stats);
  prefixroute_instance_stats instances[3];
  memset(instances, 0xff, sizeof(instances));
  instances[0].struct_size = sizeof(instances[0]);
  size_t count = 0;
  CHECK_OK(prefixroute_get_stats(router, &stats, instances, 3, &count, &error));
  CHECK(count == 3);
  CHECK(stats.outstanding == 1 && stats.unavailable == 1 && stats.exhausted == 0 && stats.reserved == 0);
  uint64_t decisions = 0;
  for (int i = 0; i < PREFIXROUTE_REASON_COUNTS; ++i) decisions += stats.decisions[i];
  CHECK(decisions == 1 && stats.decisions[decision.reason] == 1);
  for (uint32_t i = 0; i < 3; ++i) {
    const bool chosen = i == decision.instance;
    CHECK(instances[i].struct_size == sizeof(instances[i]));
    CHECK(instances[i].id_size == 3 && instances[i].id[0] == 'i' && instances[i].id[2] == (char)('0' + i) &&
          instances[i].id[3] == '\0');
    CHECK(instances[i].weight == 1 && instances[i].max_outstanding == 7 && instances[i].draining == 0);
    CHECK(instances[i].reserved == 0);
    CHECK(instances[i].outstanding == (chosen ? 1u : 0u));
    CHECK(instances[i].pending_bytes == (chosen ? decision.uncached_bytes : 0));
    CHECK(instances[i].prompt_tokens == (chosen ? 100u : 0u) && instances[i].cached_tokens == (chosen ? 20u : 0u));
  }

  CHECK_ERROR(prefixroute_get_stats(router, NULL, instances, 2, &count, &error), PREFIXROUTE_BUFFER_TOO_SMALL,
              "capacity is 2, but there are 3");
  CHECK(count == 3);
  count = 0;
  CHECK_OK(prefixroute_get_stats(router, NULL, NULL, 0, &count, &error));
  CHECK(count == 3);
  CHECK_ERROR(prefixroute_get_stats(NULL, &stats, NULL, 0, NULL, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "router is null");
  prefixroute_destroy(router);
}

void router_test(void) {
  defaults();
  creation();
  bad_options();
  options_are_kept_and_changed();
  membership();
  reports();
  lost_cache_is_forgotten();
  statistics();
}
