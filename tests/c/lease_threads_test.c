// SPDX-License-Identifier: Apache-2.0
//
// Leases that other threads give back, and that several try to.

#define _POSIX_C_SOURCE 200112L  // Barriers.
#include <pthread.h>
#include <stdatomic.h>

#include "tests/c/check.h"

enum { kThreads = 4, kRounds = 2000, kBound = 3 };

typedef struct team {
  prefixroute_router* router;
  prefixroute_lease shelf[kThreads];  // Each thread puts its lease to the next one's place.
  pthread_barrier_t barrier;
  atomic_int acquired;
  atomic_int finished;
} team;

typedef struct member {
  team* team;
  int number;
} member;

static void* pass_leases_on(void* argument) {
  const member* self = argument;
  team* all = self->team;
  const prefixroute_request request = request_for("prompt");
  for (int round = 0; round < kRounds; ++round) {
    prefixroute_lease lease;
    const prefixroute_status status = prefixroute_acquire(all->router, &request, &lease, NULL, NULL);
    if (status == PREFIXROUTE_OK) atomic_fetch_add(&all->acquired, 1);
    all->shelf[(self->number + 1) % kThreads] = lease;
    pthread_barrier_wait(&all->barrier);
    prefixroute_lease given = all->shelf[self->number];
    prefixroute_first_token(all->router, &given);
    if (prefixroute_finish(all->router, &given) == PREFIXROUTE_OK) atomic_fetch_add(&all->finished, 1);
    pthread_barrier_wait(&all->barrier);
  }
  return NULL;
}

static void* finish_the_same(void* argument) {
  const member* self = argument;
  team* all = self->team;
  const prefixroute_request request = request_for("prompt");
  for (int round = 0; round < kRounds; ++round) {
    if (self->number == 0) {
      prefixroute_lease other;  // Of the same instance: what a second success would take.
      prefixroute_acquire(all->router, &request, &other, NULL, NULL);
      if (prefixroute_acquire(all->router, &request, &all->shelf[0], NULL, NULL) == PREFIXROUTE_OK) {
        atomic_fetch_add(&all->acquired, 1);
      }
      all->shelf[1] = other;
    }
    pthread_barrier_wait(&all->barrier);
    if (prefixroute_finish(all->router, &all->shelf[0]) == PREFIXROUTE_OK) atomic_fetch_add(&all->finished, 1);
    pthread_barrier_wait(&all->barrier);
    if (self->number == 0) prefixroute_finish(all->router, &all->shelf[1]);
  }
  return NULL;
}

static void run(team* all, void* (*body)(void*)) {
  pthread_t threads[kThreads];
  member members[kThreads];
  atomic_init(&all->acquired, 0);
  atomic_init(&all->finished, 0);
  CHECK(pthread_barrier_init(&all->barrier, NULL, kThreads) == 0);
  for (int i = 0; i < kThreads; ++i) {
    members[i] = (member){all, i};
    CHECK(pthread_create(&threads[i], NULL, body, &members[i]) == 0);
  }
  for (int i = 0; i < kThreads; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(pthread_barrier_destroy(&all->barrier) == 0);
}

void lease_threads_test(void) {
  team all = {.router = make_router(1, kBound)};
  run(&all, pass_leases_on);
  // The bound is passed by nobody, and reached in every round.
  CHECK(atomic_load(&all.acquired) == kBound * kRounds);
  CHECK(atomic_load(&all.finished) == kBound * kRounds);
  CHECK(outstanding_of(all.router) == 0);
  CHECK(stats_of(all.router, 0).pending_bytes == 0);

  run(&all, finish_the_same);
  CHECK(atomic_load(&all.acquired) == kRounds);
  CHECK(atomic_load(&all.finished) == kRounds);
  CHECK(outstanding_of(all.router) == 0);
  prefixroute_destroy(all.router);
}
