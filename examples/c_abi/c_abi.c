// SPDX-License-Identifier: Apache-2.0
//
// The router from C, as a load balancer's plugin would use it: the lease is three numbers in the host's own request.

#include <stdio.h>
#include <string.h>

#include "prefixroute/c.h"

struct my_request {
  const char* prompt;
  prefixroute_lease lease;
};

static void begin(prefixroute_router* router, struct my_request* mine, const char* const* ids) {
  prefixroute_request request = {
      .struct_size = sizeof(request), .prefix = mine->prompt, .prefix_size = strlen(mine->prompt)};
  prefixroute_decision decision = {.struct_size = sizeof(decision)};
  prefixroute_error error;
  switch (prefixroute_acquire(router, &request, &mine->lease, &decision, &error)) {
    case PREFIXROUTE_OK:
      printf("%s -> %s (%s)\n", mine->prompt, ids[decision.instance], prefixroute_reason_name(decision.reason));
      break;
    case PREFIXROUTE_RESOURCE_EXHAUSTED:
      printf("429: %s\n", error.text);
      break;
    default:
      printf("503: %s\n", error.text);
  }
}

// Well, badly or cancelled; in any thread; also where nothing was acquired.
static void end(prefixroute_router* router, struct my_request* mine) { prefixroute_finish(router, &mine->lease); }

int main(void) {
  const char* const ids[] = {"10.0.0.1:8000", "10.0.0.2:8000"};
  prefixroute_instance instances[2];
  for (int i = 0; i < 2; ++i) {
    instances[i] = (prefixroute_instance){.struct_size = sizeof(prefixroute_instance),
                                          .max_outstanding = 1,
                                          .weight = 1,
                                          .id = ids[i],
                                          .id_size = strlen(ids[i])};
  }
  prefixroute_router* router;
  prefixroute_error error;
  if (prefixroute_create(NULL, instances, 2, &router, &error) != PREFIXROUTE_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }

  struct my_request requests[3] = {
      {.prompt = "You are a lawyer."}, {.prompt = "You are a lawyer."}, {.prompt = "You are a pilot."}};
  for (int i = 0; i < 3; ++i) begin(router, &requests[i], ids);
  for (int i = 0; i < 3; ++i) {
    prefixroute_first_token(router, &requests[i].lease);
    end(router, &requests[i]);
  }
  begin(router, &requests[2], ids);
  end(router, &requests[2]);
  prefixroute_destroy(router);
  return 0;
}
