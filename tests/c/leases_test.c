// SPDX-License-Identifier: Apache-2.0

#include "tests/c/check.h"

static prefixroute_lease acquire(prefixroute_router* router, prefixroute_decision* decision) {
  const prefixroute_request request = request_for("prompt");
  prefixroute_lease lease;
  decision->struct_size = sizeof(*decision);
  CHECK_OK(prefixroute_acquire(router, &request, &lease, decision, NULL));
  return lease;
}

static void check_owns_nothing(prefixroute_router* router, prefixroute_lease lease) {
  char id[PREFIXROUTE_MAX_ID_BYTES + 1];
  prefixroute_error error;
  CHECK_STATUS(prefixroute_first_token(router, &lease), PREFIXROUTE_NOT_FOUND);
  CHECK_STATUS(prefixroute_report_cached_tokens(router, &lease, 1, 2), PREFIXROUTE_NOT_FOUND);
  CHECK_STATUS(prefixroute_lease_id(router, &lease, id, sizeof(id), NULL), PREFIXROUTE_NOT_FOUND);
  CHECK_ERROR(prefixroute_transfer(router, &lease, "i-0", 3, &error), PREFIXROUTE_NOT_FOUND, "owns nothing");
  CHECK_STATUS(prefixroute_finish(router, &lease), PREFIXROUTE_NOT_FOUND);
}

static void one_life(void) {
  prefixroute_router* router = make_router(3, 0);
  prefixroute_decision decision;
  prefixroute_lease lease = acquire(router, &decision);
  CHECK(outstanding_of(router) == 1);
  CHECK(stats_of(router, decision.instance).pending_bytes == decision.uncached_bytes);
  CHECK(decision.uncached_bytes > 0);

  char id[PREFIXROUTE_MAX_ID_BYTES + 1];
  size_t id_size = 0;
  CHECK_OK(prefixroute_lease_id(router, &lease, id, sizeof(id), &id_size));
  CHECK(id_size == 3 && strcmp(id, stats_of(router, decision.instance).id) == 0);
  CHECK_OK(prefixroute_lease_id(router, &lease, id, 4, NULL));
  id_size = 0;
  CHECK_STATUS(prefixroute_lease_id(router, &lease, id, 3, &id_size), PREFIXROUTE_BUFFER_TOO_SMALL);
  CHECK(id_size == 3);
  CHECK_STATUS(prefixroute_lease_id(router, &lease, NULL, 0, &id_size), PREFIXROUTE_BUFFER_TOO_SMALL);

  CHECK_OK(prefixroute_first_token(router, &lease));
  CHECK(stats_of(router, decision.instance).pending_bytes == 0);
  CHECK_OK(prefixroute_first_token(router, &lease));
  CHECK(stats_of(router, decision.instance).pending_bytes == 0);
  CHECK_OK(prefixroute_report_cached_tokens(router, &lease, 30, 100));
  CHECK_OK(prefixroute_report_cached_tokens(router, &lease, 30, 100));
  CHECK(stats_of(router, decision.instance).cached_tokens == 30);
  CHECK(stats_of(router, decision.instance).prompt_tokens == 100);

  CHECK_OK(prefixroute_finish(router, &lease));
  CHECK(outstanding_of(router) == 0);
  check_owns_nothing(router, lease);
  CHECK(outstanding_of(router) == 0);

  // Without a first token, finishing takes what is pending.
  lease = acquire(router, &decision);
  CHECK_OK(prefixroute_finish(router, &lease));
  CHECK(stats_of(router, decision.instance).pending_bytes == 0);

  CHECK_STATUS(prefixroute_first_token(NULL, &lease), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK_STATUS(prefixroute_first_token(router, NULL), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK_STATUS(prefixroute_report_cached_tokens(NULL, &lease, 1, 2), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK_STATUS(prefixroute_report_cached_tokens(router, NULL, 1, 2), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK_STATUS(prefixroute_finish(NULL, &lease), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK_STATUS(prefixroute_finish(router, NULL), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK_STATUS(prefixroute_lease_id(NULL, &lease, id, sizeof(id), NULL), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK_STATUS(prefixroute_lease_id(router, NULL, id, sizeof(id), NULL), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK_STATUS(prefixroute_lease_id(router, &lease, NULL, 3, NULL), PREFIXROUTE_INVALID_ARGUMENT);
  prefixroute_destroy(router);
}

static void transfer(void) {
  prefixroute_error error;
  prefixroute_router* router = make_router(2, 1);
  prefixroute_decision decision;
  prefixroute_lease lease = acquire(router, &decision);
  const uint32_t from = decision.instance;
  const uint32_t to = 1 - from;
  prefixroute_decision other_decision;
  prefixroute_lease other = acquire(router, &other_decision);
  CHECK(other_decision.instance == to);
  const uint64_t pending = decision.uncached_bytes + other_decision.uncached_bytes;

  const char* to_id = to == 0 ? "i-0" : "i-1";
  CHECK_OK(prefixroute_transfer(router, &lease, to_id, 3, &error));  // Beyond its bound.
  CHECK(stats_of(router, from).outstanding == 0 && stats_of(router, to).outstanding == 2);
  CHECK(stats_of(router, from).pending_bytes == 0 && stats_of(router, to).pending_bytes == pending);
  char id[4];
  CHECK_OK(prefixroute_lease_id(router, &lease, id, sizeof(id), NULL));
  CHECK(strcmp(id, to_id) == 0);
  CHECK_ERROR(prefixroute_transfer(router, &lease, "nobody", 6, &error), PREFIXROUTE_NOT_FOUND, "\"nobody\"");
  CHECK_OK(prefixroute_first_token(router, &lease));
  CHECK_OK(prefixroute_transfer(router, &lease, from == 0 ? "i-0" : "i-1", 3, &error));
  CHECK(stats_of(router, from).outstanding == 1 && stats_of(router, from).pending_bytes == 0);
  CHECK_ERROR(prefixroute_transfer(NULL, &lease, "i-0", 3, &error), PREFIXROUTE_INVALID_ARGUMENT, "router is null");
  CHECK_ERROR(prefixroute_transfer(router, NULL, "i-0", 3, &error), PREFIXROUTE_INVALID_ARGUMENT, "lease is null");
  CHECK_ERROR(prefixroute_transfer(router, &lease, NULL, 3, &error), PREFIXROUTE_INVALID_ARGUMENT, "id is null");
  CHECK_OK(prefixroute_finish(router, &lease));
  CHECK_OK(prefixroute_finish(router, &other));
  CHECK(outstanding_of(router) == 0);
  CHECK(stats_of(router, 0).pending_bytes == 0 && stats_of(router, 1).pending_bytes == 0);
  prefixroute_destroy(router);
}

// Whatever bit of a lease is wrong, it is none, and changes no count.
static void forged_leases(void) {
  prefixroute_router* router = make_router(3, 0);
  prefixroute_decision decision;
  prefixroute_lease lease = acquire(router, &decision);
  for (int bit = 0; bit < 192; ++bit) {
    if (bit >= 190) continue;  // Flags that the holder of a lease may have set.
    prefixroute_lease forged = lease;
    forged.opaque[bit / 64] ^= UINT64_C(1) << (bit % 64);
    check_owns_nothing(router, forged);
  }
  uint64_t noise = 1;
  for (int i = 0; i < 10000; ++i) {
    prefixroute_lease forged;
    for (int word = 0; word < 3; ++word) {
      noise = noise * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      forged.opaque[word] = noise;
    }
    CHECK_STATUS(prefixroute_finish(router, &forged), PREFIXROUTE_NOT_FOUND);
  }
  prefixroute_lease ones;
  memset(&ones, 0xff, sizeof(ones));
  check_owns_nothing(router, ones);
  check_owns_nothing(router, (prefixroute_lease){{0}});
  CHECK(outstanding_of(router) == 1);
  CHECK(stats_of(router, decision.instance).pending_bytes == decision.uncached_bytes);
  CHECK_OK(prefixroute_finish(router, &lease));
  prefixroute_destroy(router);
}

static void of_another_router(void) {
  prefixroute_router* router = make_router(3, 0);
  prefixroute_router* other = make_router(3, 0);
  prefixroute_decision decision;
  prefixroute_lease lease = acquire(router, &decision);
  prefixroute_lease others = acquire(other, &decision);
  check_owns_nothing(other, lease);
  CHECK(outstanding_of(other) == 1 && outstanding_of(router) == 1);
  CHECK_OK(prefixroute_finish(router, &lease));
  CHECK_OK(prefixroute_finish(other, &others));
  prefixroute_destroy(other);
  prefixroute_destroy(router);
}

// A copy that is given back as well never makes a count negative.
static void given_back_twice(void) {
  prefixroute_router* router = make_router(1, 0);
  prefixroute_decision decision;
  prefixroute_lease lease = acquire(router, &decision);
  prefixroute_lease copy = lease;
  CHECK_OK(prefixroute_finish(router, &lease));
  check_owns_nothing(router, copy);
  CHECK(outstanding_of(router) == 0);

  prefixroute_lease first = acquire(router, &decision);
  prefixroute_lease second = acquire(router, &decision);
  copy = first;
  CHECK_OK(prefixroute_finish(router, &first));
  CHECK_OK(prefixroute_finish(router, &copy));  // Takes the place of the second, as c.h says.
  CHECK(outstanding_of(router) == 0);
  CHECK_STATUS(prefixroute_finish(router, &second), PREFIXROUTE_NOT_FOUND);
  CHECK(outstanding_of(router) == 0);
  lease = acquire(router, &decision);
  CHECK(outstanding_of(router) == 1);
  CHECK_OK(prefixroute_finish(router, &lease));
  prefixroute_destroy(router);
}

// An instance may go while its leases live; what takes its place is another.
static void change_of_membership(void) {
  prefixroute_error error;
  fleet made;
  make_fleet(&made, 2, 0);
  prefixroute_options options;
  prefixroute_options_init(&options, sizeof(options));
  options.max_instances = 1;  // Two places in all, so that one is soon used anew.
  prefixroute_router* router = NULL;
  CHECK_OK(prefixroute_create(&options, &made.instances[0], 1, &router, &error));
  prefixroute_decision decision;
  prefixroute_lease lease = acquire(router, &decision);
  prefixroute_lease copy = lease;
  CHECK_OK(prefixroute_set_instances(router, &made.instances[1], 1, &error));
  char id[4];
  CHECK_OK(prefixroute_lease_id(router, &lease, id, sizeof(id), NULL));
  CHECK(strcmp(id, "i-0") == 0);
  CHECK(outstanding_of(router) == 1 && stats_of(router, 0).outstanding == 0);
  CHECK_OK(prefixroute_finish(router, &lease));
  CHECK(outstanding_of(router) == 0);

  // The first place goes to a new instance, also one of the same name.
  CHECK_OK(prefixroute_set_instances(router, &made.instances[0], 1, &error));
  lease = acquire(router, &decision);
  check_owns_nothing(router, copy);
  CHECK(outstanding_of(router) == 1);
  CHECK_OK(prefixroute_finish(router, &lease));
  prefixroute_destroy(router);
}

static void destroyed_with_open_leases(void) {
  for (int i = 0; i < 3; ++i) {
    prefixroute_router* router = make_router(3, 0);
    prefixroute_decision decision;
    acquire(router, &decision);
    acquire(router, &decision);
    prefixroute_destroy(router);  // LeakSanitizer looks for what stays behind.
  }
}

void leases_test(void) {
  one_life();
  transfer();
  forged_leases();
  of_another_router();
  given_back_twice();
  change_of_membership();
  destroyed_with_open_leases();
}
