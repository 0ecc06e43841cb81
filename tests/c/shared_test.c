// SPDX-License-Identifier: Apache-2.0
//
// Several routers, and processes, on one block.

#define _DEFAULT_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/c/check.h"

typedef struct block {
  void* memory;
  size_t bytes;
} block;

static const prefixroute_shared_shape kShape = {
    .struct_size = sizeof(prefixroute_shared_shape), .max_instances = 4, .max_owners = 3, .prefix_entries = 1024};

static block make_block(void) {
  prefixroute_error error;
  block made = {0};
  CHECK_OK(prefixroute_shared_bytes(&kShape, &made.bytes, &error));
  made.memory = mmap(NULL, made.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(made.memory != MAP_FAILED);
  CHECK_OK(prefixroute_shared_format(made.memory, made.bytes, &kShape, &error));
  return made;
}

static prefixroute_router* attach(block on, uint64_t token) {
  fleet made;
  make_fleet(&made, 3, 2);
  prefixroute_router* router = NULL;
  CHECK_OK(prefixroute_create_shared(NULL, made.instances, 3, on.memory, on.bytes, token, &router, NULL));
  return router;
}

static prefixroute_lease acquire(prefixroute_router* router) {
  const prefixroute_request request = request_for("prompt");
  prefixroute_lease lease;
  CHECK_OK(prefixroute_acquire(router, &request, &lease, NULL, NULL));
  return lease;
}

static uint64_t owned_by(const prefixroute_router* router, uint64_t token) {
  prefixroute_owner owners[3];
  size_t count = 0;
  CHECK_OK(prefixroute_shared_owners(router, owners, 3, &count, NULL));
  for (size_t i = 0; i < count; ++i) {
    if (owners[i].token == token) return owners[i].outstanding;
  }
  return UINT64_MAX;
}

static void blocks(void) {
  prefixroute_error error;
  size_t bytes = 0;
  size_t default_bytes = 0;
  CHECK_OK(prefixroute_shared_bytes(NULL, &default_bytes, &error));
  prefixroute_shared_shape shape = {.struct_size = sizeof(shape)};
  CHECK_OK(prefixroute_shared_bytes(&shape, &bytes, &error));
  CHECK(bytes == default_bytes && bytes > 65536 * 64);
  shape.max_instances = 1024;
  shape.max_owners = 64;
  shape.prefix_entries = 65536;
  CHECK_OK(prefixroute_shared_bytes(&shape, &bytes, &error));
  CHECK(bytes == default_bytes);
  shape.max_owners = 1;
  CHECK_ERROR(prefixroute_shared_bytes(&shape, &bytes, &error), PREFIXROUTE_INVALID_ARGUMENT, "max_owners is 1");
  CHECK_ERROR(prefixroute_shared_bytes(NULL, NULL, &error), PREFIXROUTE_INVALID_ARGUMENT, "bytes is null");

  block made = make_block();
  CHECK_ERROR(prefixroute_shared_format(made.memory, made.bytes, &kShape, &error), PREFIXROUTE_FAILED_PRECONDITION,
              "holds a block already");
  CHECK_ERROR(prefixroute_shared_format(NULL, made.bytes, &kShape, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "memory is null");
  CHECK_ERROR(prefixroute_shared_format((char*)made.memory + 8, made.bytes, &kShape, &error),
              PREFIXROUTE_INVALID_ARGUMENT, "not aligned to 64 bytes");
  CHECK_ERROR(prefixroute_shared_format(made.memory, 100, &kShape, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "bytes is 100");

  prefixroute_router* router = NULL;
  CHECK_ERROR(prefixroute_create_shared(NULL, NULL, 0, NULL, made.bytes, 1, &router, &error),
              PREFIXROUTE_INVALID_ARGUMENT, "memory is null");
  CHECK_ERROR(prefixroute_create_shared(NULL, NULL, 0, made.memory, made.bytes, 0, &router, &error),
              PREFIXROUTE_INVALID_ARGUMENT, "token is 0");
  CHECK_ERROR(prefixroute_create_shared(NULL, NULL, 0, made.memory, made.bytes, 1, NULL, &error),
              PREFIXROUTE_INVALID_ARGUMENT, "router is null");
  prefixroute_options options = {.struct_size = sizeof(options)};
  CHECK_ERROR(prefixroute_create_shared(&options, NULL, 0, made.memory, made.bytes, 1, &router, &error),
              PREFIXROUTE_INVALID_ARGUMENT, "max_prefix_bytes is 0");
  CHECK(router == NULL);

  prefixroute_router* all[3] = {attach(made, 1), attach(made, 2), attach(made, 3)};
  CHECK_ERROR(prefixroute_create_shared(NULL, NULL, 0, made.memory, made.bytes, 4, &router, &error),
              PREFIXROUTE_RESOURCE_EXHAUSTED, "all 3 owners are attached");
  CHECK_ERROR(prefixroute_create_shared(NULL, NULL, 0, made.memory, made.bytes, 3, &router, &error),
              PREFIXROUTE_ALREADY_EXISTS, "token 3 is attached");
  prefixroute_owner owners[2];
  size_t count = 0;
  CHECK_ERROR(prefixroute_shared_owners(all[0], owners, 2, &count, &error), PREFIXROUTE_BUFFER_TOO_SMALL,
              "capacity is 2, but there are 3");
  CHECK(count == 3);
  CHECK_ERROR(prefixroute_shared_owners(all[0], NULL, 2, &count, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "owners is null");
  CHECK_ERROR(prefixroute_shared_owners(all[0], owners, 2, NULL, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "owner_count is null");
  CHECK_ERROR(prefixroute_shared_owners(NULL, owners, 2, &count, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "router is null");
  CHECK_ERROR(prefixroute_shared_reap(NULL, 2, &error), PREFIXROUTE_INVALID_ARGUMENT, "router is null");
  CHECK_ERROR(prefixroute_shared_reap(all[0], 1, &error), PREFIXROUTE_INVALID_ARGUMENT, "this router's own");
  CHECK_ERROR(prefixroute_shared_reap(all[0], 77, &error), PREFIXROUTE_NOT_FOUND, "token 77");
  for (int i = 0; i < 3; ++i) prefixroute_destroy(all[i]);

  router = make_router(1, 0);
  CHECK_ERROR(prefixroute_shared_owners(router, owners, 2, &count, &error), PREFIXROUTE_FAILED_PRECONDITION,
              "on no shared block");
  CHECK_ERROR(prefixroute_shared_reap(router, 1, &error), PREFIXROUTE_FAILED_PRECONDITION, "on no shared block");
  prefixroute_destroy(router);

  // Memory that is no block any more.
  memset(made.memory, 0, 64);
  CHECK_ERROR(prefixroute_create_shared(NULL, NULL, 0, made.memory, made.bytes, 1, &router, &error),
              PREFIXROUTE_INVALID_ARGUMENT, "not formatted");
  munmap(made.memory, made.bytes);
}

static void another_owner_gives_back(void) {
  block on = make_block();
  prefixroute_router* first = attach(on, 1);
  prefixroute_router* second = attach(on, 2);
  prefixroute_lease lease = acquire(first);
  prefixroute_lease own = acquire(second);
  CHECK(outstanding_of(second) == 2 && owned_by(second, 1) == 1 && owned_by(second, 2) == 1);
  CHECK_OK(prefixroute_first_token(second, &lease));
  CHECK_OK(prefixroute_finish(second, &lease));
  CHECK(outstanding_of(first) == 1 && owned_by(first, 1) == 0 && owned_by(first, 2) == 1);

  // A transfer makes it the router's that was asked for it.
  lease = acquire(first);
  CHECK_OK(prefixroute_transfer(second, &lease, "i-0", 3, NULL));
  CHECK(owned_by(first, 1) == 0 && owned_by(first, 2) == 2);
  CHECK_OK(prefixroute_finish(first, &lease));
  CHECK_OK(prefixroute_finish(first, &own));
  CHECK(outstanding_of(first) == 0);
  for (uint32_t i = 0; i < 3; ++i) CHECK(stats_of(first, i).pending_bytes == 0);

  // Not those of another block.
  block other_block = make_block();
  prefixroute_router* other = attach(other_block, 1);
  lease = acquire(first);
  prefixroute_lease others = acquire(other);
  CHECK_STATUS(prefixroute_finish(other, &(prefixroute_lease){{lease.opaque[0], lease.opaque[1], lease.opaque[2]}}),
               PREFIXROUTE_NOT_FOUND);
  CHECK(outstanding_of(other) == 1);
  CHECK_OK(prefixroute_finish(first, &lease));
  CHECK_OK(prefixroute_finish(other, &others));
  prefixroute_destroy(other);

  // Who ends without giving back leaves nothing behind.
  lease = acquire(first);
  prefixroute_destroy(first);
  CHECK(outstanding_of(second) == 0 && owned_by(second, 1) == UINT64_MAX);
  CHECK_STATUS(prefixroute_finish(second, &lease), PREFIXROUTE_NOT_FOUND);
  // Not even to the next of the same name.
  first = attach(on, 1);
  CHECK_STATUS(prefixroute_finish(first, &lease), PREFIXROUTE_NOT_FOUND);
  prefixroute_destroy(first);
  prefixroute_destroy(second);
  munmap(on.memory, on.bytes);
  munmap(other_block.memory, other_block.bytes);
}

static void killed_worker(void) {
  block on = make_block();
  // Where the worker leaves a lease.
  prefixroute_lease* shelf = mmap(NULL, sizeof(*shelf), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(shelf != MAP_FAILED);
  int ready[2];
  CHECK(pipe(ready) == 0);
  const pid_t worker = fork();
  CHECK(worker >= 0);
  if (worker == 0) {
    prefixroute_router* router = attach(on, 77);
    shelf[0] = acquire(router);
    acquire(router);
    const char done = failed_checks == 0 ? 'y' : 'n';
    if (write(ready[1], &done, 1) != 1) _exit(1);
    for (;;) pause();
  }
  char done = 'n';
  CHECK(read(ready[0], &done, 1) == 1 && done == 'y');
  prefixroute_router* router = attach(on, 1);
  CHECK(outstanding_of(router) == 2 && owned_by(router, 77) == 2);
  kill(worker, SIGKILL);
  CHECK(waitpid(worker, NULL, 0) == worker);

  prefixroute_lease copy = shelf[0];
  CHECK_OK(prefixroute_finish(router, &copy));  // What the dead one left is as good as any.
  CHECK(owned_by(router, 77) == 1);
  CHECK_OK(prefixroute_shared_reap(router, 77, NULL));
  CHECK(outstanding_of(router) == 0);
  prefixroute_lease late = shelf[0];
  CHECK_STATUS(prefixroute_finish(router, &late), PREFIXROUTE_NOT_FOUND);
  prefixroute_destroy(router);
  munmap(shelf, sizeof(*shelf));
  munmap(on.memory, on.bytes);
}

// A forked child that ends a router of its parent's leaves the parent's leases alone.
static void forked_child(void) {
  block on = make_block();
  prefixroute_router* router = attach(on, 1);
  prefixroute_lease lease = acquire(router);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    prefixroute_destroy(router);
    _exit(0);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(outstanding_of(router) == 1);
  CHECK_OK(prefixroute_finish(router, &lease));
  prefixroute_destroy(router);
  munmap(on.memory, on.bytes);
}

void shared_test(void) {
  blocks();
  another_owner_gives_back();
  killed_worker();
  forked_child();
}
