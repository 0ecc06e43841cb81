// SPDX-License-Identifier: Apache-2.0

#include "tests/c/check.h"

static const prefixroute_load kIdle[3] = {{0}, {0}, {0}};

static void routes_by_borrowed_loads(void) {
  prefixroute_error error;
  prefixroute_router* router = make_router(3, 4);
  prefixroute_request request = request_for("prompt");
  request.strategy = PREFIXROUTE_STRATEGY_LEAST_OUTSTANDING_REQUESTS;
  prefixroute_load loads[3] = {{.outstanding = 2}, {.outstanding = 1, .reserved = 77}, {.outstanding = 3}};
  prefixroute_decision decision;
  memset(&decision, 0xff, sizeof(decision));
  decision.struct_size = sizeof(decision);
  CHECK_OK(prefixroute_route(router, &request, loads, 3, &decision, &error));
  CHECK(decision.instance == 1);
  CHECK(decision.reason == PREFIXROUTE_REASON_LEAST_OUTSTANDING);
  CHECK(decision.home == PREFIXROUTE_NO_INSTANCE && decision.rank == 0 && decision.reserved == 0);
  CHECK(decision.prefix_bytes == 0 && decision.matched_bytes == 0 && decision.uncached_bytes == 0);
  loads[1].outstanding = 4;
  loads[2].outstanding = 0;
  CHECK_OK(prefixroute_route(router, &request, loads, 3, &decision, &error));
  CHECK(decision.instance == 2);

  request.strategy = PREFIXROUTE_STRATEGY_DEFAULT;
  CHECK_OK(prefixroute_route(router, &request, kIdle, 3, &decision, &error));
  CHECK(decision.reason == PREFIXROUTE_REASON_HOME && decision.instance == decision.home && decision.rank == 1);
  CHECK(decision.prefix_bytes == 6);
  // What waits there is looked at as well.
  const uint32_t home = decision.instance;
  memset(loads, 0, sizeof(loads));
  loads[home].pending_bytes = 10000000;
  CHECK_OK(prefixroute_route(router, &request, loads, 3, &decision, &error));
  CHECK(decision.instance != home && decision.reason == PREFIXROUTE_REASON_DIVERTED_BY_LOAD);
  prefixroute_destroy(router);
}

static void refusals(void) {
  prefixroute_error error;
  prefixroute_router* router = make_router(3, 1);
  const prefixroute_request request = request_for("prompt");
  prefixroute_decision decision = {.struct_size = sizeof(decision), .instance = 99};
  const prefixroute_load full[3] = {{.outstanding = 1}, {.outstanding = 1}, {.outstanding = 1}};
  CHECK_ERROR(prefixroute_route(router, &request, full, 3, &decision, &error), PREFIXROUTE_RESOURCE_EXHAUSTED,
              "at its bound");
  prefixroute_lease leases[4];
  for (int i = 0; i < 3; ++i) CHECK_OK(prefixroute_acquire(router, &request, &leases[i], NULL, NULL));
  memset(&leases[3], 0xff, sizeof(leases[3]));
  CHECK_ERROR(prefixroute_acquire(router, &request, &leases[3], &decision, &error), PREFIXROUTE_RESOURCE_EXHAUSTED,
              "at its bound");
  CHECK(leases[3].opaque[0] == 0 && leases[3].opaque[1] == 0 && leases[3].opaque[2] == 0);
  for (int i = 0; i < 3; ++i) CHECK_OK(prefixroute_finish(router, &leases[i]));

  CHECK_OK(prefixroute_set_instances(router, NULL, 0, &error));
  CHECK_ERROR(prefixroute_acquire(router, &request, &leases[3], &decision, &error), PREFIXROUTE_UNAVAILABLE,
              "no instance is available");
  CHECK_ERROR(prefixroute_route(router, &request, NULL, 0, &decision, &error), PREFIXROUTE_UNAVAILABLE,
              "no instance is available");
  CHECK(decision.instance == 99);
  prefixroute_destroy(router);
}

static void exclusion(void) {
  prefixroute_error error;
  prefixroute_router* router = make_router(3, 0);
  prefixroute_request request = request_for("prompt");
  prefixroute_decision decision = {.struct_size = sizeof(decision)};
  uint32_t order[3] = {0};
  size_t ranked = 0;
  CHECK_OK(prefixroute_rank(router, &request, order, 3, &ranked, &error));
  CHECK(ranked == 3 && order[0] != order[1] && order[1] != order[2] && order[0] != order[2]);
  // One retry after the other goes along the order of an idle fleet.
  request.exclude_indexes = order;
  for (request.exclude_count = 0; request.exclude_count < 3; ++request.exclude_count) {
    CHECK_OK(prefixroute_route(router, &request, kIdle, 3, &decision, &error));
    for (size_t i = 0; i < request.exclude_count; ++i) CHECK(decision.instance != order[i]);
    uint32_t rest[3];
    CHECK_OK(prefixroute_rank(router, &request, rest, 3, &ranked, &error));
    CHECK(ranked == 3 - request.exclude_count && rest[0] == order[request.exclude_count]);
  }
  CHECK_ERROR(prefixroute_route(router, &request, kIdle, 3, &decision, &error), PREFIXROUTE_UNAVAILABLE, "excluded");
  uint32_t first = 77;
  request.exclude_count = 0;
  CHECK_OK(prefixroute_rank(router, &request, &first, 1, &ranked, &error));
  CHECK(ranked == 1 && first == order[0]);
  CHECK_OK(prefixroute_rank(router, &request, NULL, 0, &ranked, &error));
  CHECK(ranked == 0);
  prefixroute_destroy(router);
}

static void keys_take_the_place_of_prefixes(void) {
  prefixroute_error error;
  prefixroute_router* router = make_router(3, 0);
  prefixroute_request by_prefix = request_for("prompt");
  by_prefix.scope = "model";
  by_prefix.scope_size = 5;
  prefixroute_key key;
  CHECK_OK(prefixroute_key_make("prompt", 6, "model", 5, 1 << 20, &key));
  prefixroute_request by_key = {.struct_size = sizeof(by_key), .key = &key};
  uint32_t order[2][3];
  size_t ranked;
  CHECK_OK(prefixroute_rank(router, &by_prefix, order[0], 3, &ranked, &error));
  CHECK_OK(prefixroute_rank(router, &by_key, order[1], 3, &ranked, &error));
  CHECK(memcmp(order[0], order[1], sizeof(order[0])) == 0);

  prefixroute_key broken;
  memset(&broken, 0x01, sizeof(broken));
  by_key.key = &broken;
  prefixroute_decision decision = {.struct_size = sizeof(decision)};
  CHECK_ERROR(prefixroute_route(router, &by_key, kIdle, 3, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "key is no key");
  prefixroute_key empty = {{0}};
  by_key.key = &empty;
  CHECK_OK(prefixroute_route(router, &by_key, kIdle, 3, &decision, &error));
  CHECK(decision.reason == PREFIXROUTE_REASON_NO_PREFIX);
  prefixroute_destroy(router);
}

static void explanations(void) {
  prefixroute_error error;
  prefixroute_router* router = make_router(3, 5);
  const prefixroute_request request = request_for("prompt");
  prefixroute_instance_cost costs[3];
  memset(costs, 0xff, sizeof(costs));
  costs[0].struct_size = sizeof(costs[0]);
  size_t count = 0;
  const prefixroute_load loads[3] = {{.outstanding = 5}, {.outstanding = 1, .pending_bytes = 1000}, {0}};
  CHECK_OK(prefixroute_explain(router, &request, loads, 3, costs, 3, &count, &error));
  CHECK(count == 3);
  for (uint32_t i = 0; i < 3; ++i) {
    CHECK(costs[i].struct_size == sizeof(costs[i]) && costs[i].instance == i && costs[i].reserved == 0);
    CHECK(costs[i].rank >= 1 && costs[i].rank <= 3);
    CHECK(costs[i].eligible == (i == 0 ? 0u : 1u));
    CHECK(costs[i].outstanding == loads[i].outstanding && costs[i].pending_bytes == loads[i].pending_bytes);
    CHECK(costs[i].matched_bytes == 0 && costs[i].uncached_bytes <= 6 && costs[i].cost > 0);
  }
  CHECK_OK(prefixroute_explain(router, &request, NULL, 0, costs, 3, NULL, &error));
  CHECK(costs[0].outstanding == 0 && costs[0].eligible == 1);
  CHECK_ERROR(prefixroute_explain(router, &request, NULL, 0, costs, 2, &count, &error), PREFIXROUTE_BUFFER_TOO_SMALL,
              "capacity is 2, but there are 3");
  CHECK_STATUS(prefixroute_explain(router, &request, NULL, 0, NULL, 0, &count, NULL), PREFIXROUTE_BUFFER_TOO_SMALL);
  CHECK(count == 3);
  CHECK_ERROR(prefixroute_explain(router, &request, loads, 2, costs, 3, &count, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "loads has 2 elements");
  prefixroute_request random = request;
  random.strategy = PREFIXROUTE_STRATEGY_RANDOM;
  CHECK_ERROR(prefixroute_explain(router, &random, NULL, 0, costs, 3, &count, &error), PREFIXROUTE_FAILED_PRECONDITION,
              "not PREFIX_AWARE");
  CHECK_ERROR(prefixroute_explain(NULL, &request, NULL, 0, costs, 3, &count, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "router is null");
  CHECK_ERROR(prefixroute_explain(router, NULL, NULL, 0, costs, 3, &count, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "request is null");
  CHECK_ERROR(prefixroute_explain(router, &request, NULL, 0, NULL, 3, &count, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "costs is null");
  CHECK_ERROR(prefixroute_explain(router, &request, NULL, 3, costs, 3, &count, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "loads is null");
  prefixroute_destroy(router);
}

static void bad_requests(void) {
  prefixroute_error error;
  prefixroute_router* router = make_router(3, 0);
  const prefixroute_request good = request_for("prompt");
  prefixroute_decision decision = {.struct_size = sizeof(decision), .instance = 99};
  prefixroute_request bad = good;
  bad.strategy = 257;
  CHECK_ERROR(prefixroute_route(router, &bad, kIdle, 3, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "request.strategy is 257");
  bad = good;
  bad.prefix = NULL;
  CHECK_ERROR(prefixroute_route(router, &bad, kIdle, 3, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "request.prefix is null, but its size is 6");
  bad = good;
  bad.scope_size = 5;
  CHECK_ERROR(prefixroute_route(router, &bad, kIdle, 3, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "request.scope is null");
  bad = good;
  bad.exclude_count = 1;
  CHECK_ERROR(prefixroute_route(router, &bad, kIdle, 3, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "request.exclude_indexes is null");
  const uint32_t beyond = 3;
  bad.exclude_indexes = &beyond;
  CHECK_ERROR(prefixroute_route(router, &bad, kIdle, 3, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "exclude_indexes[0] is 3");
  prefixroute_lease lease;
  CHECK_ERROR(prefixroute_acquire(router, &bad, &lease, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "exclude_indexes[0] is 3");
  size_t ranked;
  uint32_t order[3];
  CHECK_ERROR(prefixroute_rank(router, &bad, order, 3, &ranked, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "exclude_indexes[0] is 3");
  CHECK_ERROR(prefixroute_route(router, &good, kIdle, 2, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "loads has 2 elements");
  CHECK_ERROR(prefixroute_route(router, &good, NULL, 3, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "loads is null");

  CHECK_ERROR(prefixroute_route(NULL, &good, kIdle, 3, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "router is null");
  CHECK_ERROR(prefixroute_route(router, NULL, kIdle, 3, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "request is null");
  CHECK_ERROR(prefixroute_route(router, &good, kIdle, 3, NULL, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "decision is null");
  CHECK_STATUS(prefixroute_route(NULL, &good, kIdle, 3, &decision, NULL), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK_ERROR(prefixroute_acquire(NULL, &good, &lease, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "router is null");
  CHECK_ERROR(prefixroute_acquire(router, NULL, &lease, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "request is null");
  CHECK_ERROR(prefixroute_acquire(router, &good, NULL, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "lease is null");
  CHECK_ERROR(prefixroute_rank(NULL, &good, order, 3, &ranked, &error), PREFIXROUTE_INVALID_ARGUMENT, "router is null");
  CHECK_ERROR(prefixroute_rank(router, NULL, order, 3, &ranked, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "request is null");
  CHECK_ERROR(prefixroute_rank(router, &good, NULL, 3, &ranked, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "instances is null");
  CHECK_ERROR(prefixroute_rank(router, &good, order, 3, NULL, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "instance_count is null");
  CHECK(decision.instance == 99);
  CHECK(outstanding_of(router) == 0);

  // What goes well leaves the error alone.
  strcpy(error.text, "untouched");
  CHECK_OK(prefixroute_route(router, &good, kIdle, 3, &decision, &error));
  CHECK(strcmp(error.text, "untouched") == 0);
  prefixroute_destroy(router);
}

void decisions_test(void) {
  routes_by_borrowed_loads();
  refusals();
  exclusion();
  keys_take_the_place_of_prefixes();
  explanations();
  bad_requests();
}
