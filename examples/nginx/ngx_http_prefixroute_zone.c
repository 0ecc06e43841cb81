// SPDX-License-Identifier: Apache-2.0
//
// The shared memory of an upstream, which outlives reloads, and who is attached to it. The master formats the block;
// each worker attaches routers of its own, and gives back what those of killed workers held.

#include <signal.h>

#include "ngx_http_prefixroute.h"

enum {
  MAX_OWNERS = 256,  // Workers, those of reloads before that still have requests, and their backup servers' routers.
  REAP_MILLISECONDS = 1000
};

// The shape follows from the zone's size alone, so that a reload with other servers finds the block as it left it: a
// quarter for servers, the rest for prefixes.
static prefixroute_status shape_of(size_t zone_bytes, prefixroute_shared_shape* shape, size_t* bytes,
                                   prefixroute_error* error) {
  size_t overhead = zone_bytes / 64 + 16 * ngx_pagesize;  // nginx's slab allocator, and our own counts.
  size_t usable = zone_bytes > overhead ? zone_bytes - overhead : 0;
  size_t one, two;
  *shape = (prefixroute_shared_shape){sizeof(*shape), 1, MAX_OWNERS, 1024};
  prefixroute_status status = prefixroute_shared_bytes(shape, &one, error);
  if (status != PREFIXROUTE_OK) {
    return status;
  }
  shape->max_instances = 2;
  status = prefixroute_shared_bytes(shape, &two, error);
  if (status != PREFIXROUTE_OK) {
    return status;
  }
  shape->max_instances = (uint32_t)ngx_min(usable / 4 / (two - one), (size_t)65536);
  if (shape->max_instances == 0) {
    shape->max_instances = 1;
  }
  status = prefixroute_shared_bytes(shape, bytes, error);
  for (size_t more = *bytes; status == PREFIXROUTE_OK && more <= usable;) {
    *bytes = more;
    shape->prefix_entries *= 2;
    status = prefixroute_shared_bytes(shape, &more, error);
    if (status != PREFIXROUTE_OK || more > usable) {
      shape->prefix_entries /= 2;
      return PREFIXROUTE_OK;
    }
  }
  return status;
}

ngx_int_t ngx_http_prefixroute_check_zone(ngx_conf_t* cf, ngx_http_prefixroute_conf_t* conf) {
  ngx_uint_t servers = conf->groups[0].count + conf->groups[1].count;
  prefixroute_shared_shape shape;
  prefixroute_error error;
  size_t bytes;
  if (shape_of(conf->zone->shm.size, &shape, &bytes, &error) != PREFIXROUTE_OK) {
    ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "prefix_route: %s", error.text);
    return NGX_ERROR;
  }
  if (bytes > conf->zone->shm.size || servers > shape.max_instances) {
    ngx_log_error(NGX_LOG_EMERG, cf->log, 0,
                  "zone \"%V\" of \"prefix_route\" is too small: its %uz bytes have room for %uD servers, but upstream "
                  "\"%V\" in %s:%ui has %ui",
                  &conf->zone->shm.name, conf->zone->shm.size, bytes > conf->zone->shm.size ? 0 : shape.max_instances,
                  &conf->upstream->host, conf->upstream->file_name, conf->upstream->line, servers);
    return NGX_ERROR;
  }
  return NGX_OK;
}

// In the master, and before any worker of this configuration. `old_data` is that of the configuration before, where
// name and size are the same: then the memory is too.
ngx_int_t ngx_http_prefixroute_init_zone(ngx_shm_zone_t* zone, void* old_data) {
  ngx_http_prefixroute_conf_t* conf = zone->data;
  ngx_http_prefixroute_conf_t* old = old_data;
  if (old != NULL) {
    conf->shared = old->shared;
    return NGX_OK;
  }

  ngx_slab_pool_t* pool = (ngx_slab_pool_t*)zone->shm.addr;
  prefixroute_shared_shape shape;
  prefixroute_error error;
  size_t bytes;
  if (shape_of(zone->shm.size, &shape, &bytes, &error) != PREFIXROUTE_OK) {
    ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0, "prefix_route: %s", error.text);
    return NGX_ERROR;
  }
  ngx_http_prefixroute_shared_t* shared = ngx_slab_calloc(pool, sizeof(*shared));
  void* block = ngx_slab_alloc(pool, bytes);  // Whole pages, so aligned to 64 bytes.
  if (shared == NULL || block == NULL) {
    ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0, "zone \"%V\" of \"prefix_route\" is too small", &zone->shm.name);
    return NGX_ERROR;
  }
  if (prefixroute_shared_format(block, bytes, &shape, &error) != PREFIXROUTE_OK) {
    ngx_log_error(NGX_LOG_EMERG, zone->shm.log, 0, "prefix_route: zone \"%V\": %s", &zone->shm.name, error.text);
    return NGX_ERROR;
  }
  shared->block = block;
  shared->bytes = bytes;
  conf->shared = shared;
  return NGX_OK;
}

// What /proc says of a process: how it is, and when it was started, in ticks since the system was. 0 where there is no
// /proc.
static char state_of(ngx_pid_t pid, uint64_t* start) {
  char path[sizeof("/proc//stat") + NGX_INT64_LEN], text[1024], state = 0;
  unsigned long long ticks;
  *start = 0;
  *ngx_sprintf((u_char*)path, "/proc/%P/stat", pid) = '\0';
  FILE* file = fopen(path, "r");
  if (file == NULL) {
    return 0;
  }
  size_t n = fread(text, 1, sizeof(text) - 1, file);
  fclose(file);
  text[n] = '\0';
  char* name_end = strrchr(text, ')');  // A process may have any name.
  if (name_end != NULL &&
      sscanf(name_end + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &state,
             &ticks) == 2) {
    *start = ticks;
    return state;
  }
  return 0;
}

// A token names a router by its process's id, which the system gives out again, when that was started, and which of the
// process's routers it is.
static uint64_t make_token(ngx_pid_t pid, uint64_t start, uint64_t number) {
  return (uint64_t)(uint32_t)pid << 32 | (start & 0xffffff) << 8 | (number & 0xff);
}

static uint64_t new_token(void) {
  static uint64_t number;
  uint64_t start;
  (void)state_of(ngx_pid, &start);
  return make_token(ngx_pid, start, number++);
}

static ngx_uint_t has_ended(uint64_t token) {
  ngx_pid_t pid = (ngx_pid_t)(token >> 32);
  if (kill(pid, 0) == -1 && ngx_errno == NGX_ESRCH) {
    return 1;
  }
  uint64_t start;
  char state = state_of(pid, &start);
  return state == 'Z' || state == 'X' || (state != 0 && make_token(pid, start, token) != token);
}

static void reap(prefixroute_router* router, ngx_log_t* log) {
  static prefixroute_owner owners[MAX_OWNERS];
  size_t count;
  prefixroute_error error;
  if (prefixroute_shared_owners(router, owners, MAX_OWNERS, &count, &error) != PREFIXROUTE_OK) {
    ngx_log_error(NGX_LOG_ALERT, log, 0, "prefix_route: %s", error.text);
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!has_ended(owners[i].token)) {
      continue;
    }
    prefixroute_status status = prefixroute_shared_reap(router, owners[i].token, &error);
    if (status == PREFIXROUTE_OK) {
      ngx_log_error(NGX_LOG_NOTICE, log, 0, "prefix_route: gave back %uL requests of process %uL, which has ended",
                    owners[i].outstanding, owners[i].token >> 32);
    } else if (status != PREFIXROUTE_NOT_FOUND) {  // Another worker was faster.
      ngx_log_error(NGX_LOG_ALERT, log, 0, "prefix_route: %s", error.text);
    }
  }
}

void ngx_http_prefixroute_detach(void* data) {
  ngx_http_prefixroute_conf_t* conf = data;
  for (ngx_uint_t i = 0; i < 2; ++i) {
    prefixroute_destroy(conf->groups[i].router);
    conf->groups[i].router = NULL;
  }
}

ngx_int_t ngx_http_prefixroute_attach(ngx_http_prefixroute_conf_t* conf, ngx_log_t* log) {
  if (conf->groups[0].router != NULL) {
    return NGX_OK;
  }
  if (ngx_time() < conf->attach_after) {
    return NGX_ERROR;
  }
  conf->attach_after = ngx_time() + 1;
  for (ngx_uint_t i = conf->group_count; i-- > 0;) {
    ngx_http_prefixroute_group_t* group = &conf->groups[i];
    prefixroute_error error;
    // Without servers at first: a worker that was killed while it changed its own holds up all who change theirs, until
    // it is reaped, for which one has to be attached.
    if (prefixroute_create_shared(&conf->options, NULL, 0, conf->shared->block, conf->shared->bytes, new_token(),
                                  &group->router, &error) != PREFIXROUTE_OK) {
      ngx_log_error(NGX_LOG_ALERT, log, 0, "prefix_route: upstream \"%V\" is balanced by round robin: %s",
                    &conf->upstream->host, error.text);
      ngx_http_prefixroute_detach(conf);
      return NGX_ERROR;
    }
    reap(group->router, log);
    if (prefixroute_set_instances(group->router, group->instances, group->count, &error) != PREFIXROUTE_OK) {
      ngx_log_error(NGX_LOG_ALERT, log, 0, "prefix_route: upstream \"%V\" is balanced by round robin: %s",
                    &conf->upstream->host, error.text);
      ngx_http_prefixroute_detach(conf);
      return NGX_ERROR;
    }
  }
  return NGX_OK;
}

static void reap_now_and_then(ngx_event_t* event) {
  ngx_http_prefixroute_conf_t* conf =
      (ngx_http_prefixroute_conf_t*)((u_char*)event - offsetof(ngx_http_prefixroute_conf_t, reaper));
  if (ngx_http_prefixroute_attach(conf, event->log) == NGX_OK) {
    reap(conf->groups[0].router, event->log);
  }
  ngx_add_timer(event, REAP_MILLISECONDS);
}

void ngx_http_prefixroute_start_reaper(ngx_http_prefixroute_conf_t* conf, ngx_cycle_t* cycle) {
  static ngx_connection_t nothing = {.fd = (ngx_socket_t)-1};  // For nginx's debug log, which asks a timer for one.
  conf->reaper.handler = reap_now_and_then;
  conf->reaper.data = &nothing;
  conf->reaper.log = cycle->log;
  conf->reaper.cancelable = 1;  // Keeps no worker from ending.
  reap_now_and_then(&conf->reaper);
}
