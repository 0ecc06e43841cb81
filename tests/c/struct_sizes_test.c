// SPDX-License-Identifier: Apache-2.0
//
// Programs of another release than the library: structs that are shorter than any, and longer than it knows.

#include "tests/c/check.h"

static void too_small(void) {
  prefixroute_error error;
  fleet made;
  make_fleet(&made, 2, 0);
  prefixroute_router* router = make_router(2, 0);
  prefixroute_options options;
  prefixroute_options_init(&options, sizeof(options));
  prefixroute_request request = request_for("prompt");
  prefixroute_decision decision = {.struct_size = sizeof(decision)};
  const prefixroute_load loads[2] = {{0}, {0}};
  prefixroute_lease lease;
  prefixroute_router* none = NULL;
  size_t count;

  for (uint32_t size = 0; size < sizeof(options); size += 4) {
    options.struct_size = size;
    CHECK_ERROR(prefixroute_create(&options, NULL, 0, &none, &error), PREFIXROUTE_INVALID_ARGUMENT,
                "options.struct_size is ");
    CHECK_ERROR(prefixroute_set_options(router, &options, &error), PREFIXROUTE_INVALID_ARGUMENT,
                "options.struct_size is ");
    CHECK_ERROR(prefixroute_get_options(router, &options, &error), PREFIXROUTE_INVALID_ARGUMENT,
                "options.struct_size is ");
  }
  options.strategy = 77;
  prefixroute_options_init(&options, sizeof(options) - 1);
  CHECK(options.strategy == 77);
  request.struct_size = sizeof(request) - 8;
  CHECK_ERROR(prefixroute_route(router, &request, loads, 2, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "request.struct_size is ");
  CHECK_ERROR(prefixroute_acquire(router, &request, &lease, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "request.struct_size is ");
  CHECK_ERROR(prefixroute_rank(router, &request, &(uint32_t){0}, 1, &count, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "request.struct_size is ");
  CHECK_ERROR(prefixroute_explain(router, &request, NULL, 0, NULL, 0, &count, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "request.struct_size is ");
  request.struct_size = sizeof(request);
  decision.struct_size = 0;
  CHECK_ERROR(prefixroute_route(router, &request, loads, 2, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "decision.struct_size is 0");
  CHECK_ERROR(prefixroute_acquire(router, &request, &lease, &decision, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "decision.struct_size is 0");
  CHECK(outstanding_of(router) == 0);
  prefixroute_instance_cost cost = {.struct_size = 4};
  CHECK_ERROR(prefixroute_explain(router, &request, NULL, 0, &cost, 1, &count, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "costs[0].struct_size is 4");
  prefixroute_stats stats = {.struct_size = 4};
  CHECK_ERROR(prefixroute_get_stats(router, &stats, NULL, 0, NULL, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "stats.struct_size is 4");
  prefixroute_instance_stats instance_stats = {.struct_size = 4};
  CHECK_ERROR(prefixroute_get_stats(router, NULL, &instance_stats, 1, NULL, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "instances[0].struct_size is 4");
  prefixroute_shared_shape shape = {.struct_size = 4};
  CHECK_ERROR(prefixroute_shared_bytes(&shape, &count, &error), PREFIXROUTE_INVALID_ARGUMENT, "shape.struct_size is 4");
  CHECK_ERROR(prefixroute_shared_format(&shape, 4, &shape, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "shape.struct_size is 4");
  made.instances[0].struct_size = 4;
  CHECK_ERROR(prefixroute_set_instances(router, made.instances, 2, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "instances[0].struct_size is 4");
  make_fleet(&made, 2, 0);
  made.instances[1].struct_size += 8;
  CHECK_ERROR(prefixroute_set_instances(router, made.instances, 2, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "instances[1].struct_size is ");
  // An odd size would put the second element where none can lie.
  make_fleet(&made, 2, 0);
  made.instances[0].struct_size += 1;
  CHECK_ERROR(prefixroute_set_instances(router, made.instances, 2, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "in steps of 8");
  prefixroute_destroy(router);
}

// Structs as a later release might have them.
typedef struct longer_options {
  prefixroute_options known;
  uint64_t later[2];
} longer_options;
typedef struct longer_instance {
  prefixroute_instance known;
  uint64_t later;
} longer_instance;
typedef struct longer_request {
  prefixroute_request known;
  uint64_t later;
} longer_request;
typedef struct longer_decision {
  prefixroute_decision known;
  uint64_t later;
} longer_decision;
typedef struct longer_instance_stats {
  prefixroute_instance_stats known;
  uint64_t later;
} longer_instance_stats;
typedef struct longer_cost {
  prefixroute_instance_cost known;
  uint64_t later;
} longer_cost;

static void longer_than_known(void) {
  prefixroute_error error;
  longer_options options;
  memset(&options, 0xff, sizeof(options));
  prefixroute_options_init(&options.known, sizeof(options));
  CHECK(options.known.struct_size == sizeof(options) && options.later[0] == 0 && options.later[1] == 0);

  fleet made;
  make_fleet(&made, 2, 0);
  longer_instance instances[2] = {{made.instances[0], 0}, {made.instances[1], 0}};
  instances[0].known.struct_size = instances[1].known.struct_size = sizeof(instances[0]);
  prefixroute_router* router = NULL;
  CHECK_OK(prefixroute_create(&options.known, &instances[0].known, 2, &router, &error));
  CHECK(strcmp(stats_of(router, 1).id, "i-1") == 0);
  // What the library doesn't know it must not be asked.
  options.later[1] = 1;
  CHECK_ERROR(prefixroute_set_options(router, &options.known, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "options has a field at byte 64 that this library, which knows 56 bytes, doesn't know");
  instances[1].later = 1;
  CHECK_ERROR(prefixroute_set_instances(router, &instances[0].known, 2, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "instances[1] has a field at byte 32");

  longer_request request = {request_for("prompt"), 0};
  request.known.struct_size = sizeof(request);
  longer_decision decision = {{.struct_size = sizeof(decision)}, 77};
  const prefixroute_load loads[2] = {{0}, {0}};
  CHECK_OK(prefixroute_route(router, &request.known, loads, 2, &decision.known, &error));
  CHECK(decision.known.struct_size == sizeof(decision) && decision.known.prefix_bytes == 6 && decision.later == 77);
  request.later = 1;
  CHECK_ERROR(prefixroute_route(router, &request.known, loads, 2, &decision.known, &error),
              PREFIXROUTE_INVALID_ARGUMENT, "request has a field at byte ");
  request.later = 0;

  longer_instance_stats stats[2] = {{.later = 77}, {.later = 77}};
  stats[0].known.struct_size = sizeof(stats[0]);
  CHECK_OK(prefixroute_get_stats(router, NULL, &stats[0].known, 2, NULL, &error));
  longer_cost costs[2] = {{.later = 77}, {.later = 77}};
  costs[0].known.struct_size = sizeof(costs[0]);
  CHECK_OK(prefixroute_explain(router, &request.known, NULL, 0, &costs[0].known, 2, NULL, &error));
  for (uint32_t i = 0; i < 2; ++i) {
    CHECK(stats[i].known.struct_size == sizeof(stats[i]) && stats[i].known.id[2] == (char)('0' + i));
    CHECK(costs[i].known.struct_size == sizeof(costs[i]) && costs[i].known.instance == i);
    CHECK(stats[i].later == 77 && costs[i].later == 77);
  }
  prefixroute_destroy(router);
}

void struct_sizes_test(void) {
  too_small();
  longer_than_known();
}
