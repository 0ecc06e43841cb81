// SPDX-License-Identifier: Apache-2.0
//
// What the files of the module share. The path of a request through them:
//
//   _module.c  "prefix_route" in an upstream block becomes a conf
//   _zone.c    the conf's shared memory, and this worker's routers on it
//   _prefix.c  the request's body, or a variable, becomes a key
//   _prompt.c  so does the prompt in a JSON body, where the library's payload component is there
//   _peer.c    the key becomes a lease and nginx's peer; the lease is given back
//   _filter.c  the first byte of the answer; 429 where every server is at its bound
//   _status.c  variables, and the status page

#ifndef NGX_HTTP_PREFIXROUTE_H_
#define NGX_HTTP_PREFIXROUTE_H_

// nginx's headers come first, and in this order.
// clang-format off
#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_http.h>
// clang-format on

#include "prefixroute/c.h"

// An upstream's servers, or its backup servers: those that one request is balanced among. Each has a router of its own
// on the one shared block.
typedef struct {
  prefixroute_instance* instances;  // In the order of nginx's peers.
  ngx_uint_t count;
  prefixroute_router* router;  // This worker's; NULL where it is not attached.
} ngx_http_prefixroute_group_t;

// In the zone, beside the library's block: what all workers have done since the zone was made.
typedef struct {
  void* block;
  size_t bytes;
  ngx_atomic_t decisions[PREFIXROUTE_REASON_COUNTS];
  ngx_atomic_t exhausted;
  ngx_atomic_t unavailable;
  ngx_atomic_t round_robin;  // Requests that a worker without routers served.
} ngx_http_prefixroute_shared_t;

// One "prefix_route" directive.
typedef struct {
  ngx_http_upstream_srv_conf_t* upstream;
  prefixroute_options options;
  uint32_t max_outstanding;
  ngx_http_complex_value_t* scope;   // NULL: none.
  ngx_http_complex_value_t* prefix;  // NULL: the request's body, or the prompt in it.
  ngx_uint_t by_prompt;              // The prefix is the prompt in the body.
  uint64_t prefix_bytes;             // How much of a prefix counts.
  ngx_shm_zone_t* zone;              // NULL: the upstream has no "prefix_route".
  ngx_http_prefixroute_shared_t* shared;
  ngx_http_prefixroute_group_t groups[2];  // The servers and the backup servers.
  ngx_uint_t group_count;
  struct prefixroute_payload_reader* reader;  // Where by_prompt; each worker has its own, by fork.
  time_t attach_after;                        // When a worker that could not attach tries again.
  ngx_event_t reaper;
} ngx_http_prefixroute_conf_t;

// One request's way through an upstream: nginx's "peer data".
typedef struct {
  ngx_http_upstream_rr_peer_data_t rrp;  // First: nginx's own functions get a pointer to it.
  ngx_http_prefixroute_conf_t* conf;
  ngx_http_request_t* request;
  ngx_http_upstream_t* upstream;
  prefixroute_key key;
  uint32_t* exclude;
  prefixroute_router* router;  // Whose the lease is; NULL where there is none.
  prefixroute_lease lease;
  prefixroute_decision decision;  // The last.
  ngx_str_t instance;             // Chosen last; empty before.
  const char* form;               // Of the body; NULL where it was not read as JSON.
  unsigned has_first_token : 1;
  unsigned exhausted : 1;  // Refused: every server at its bound.
} ngx_http_prefixroute_peer_t;

extern ngx_module_t ngx_http_prefixroute_module;

// _zone.c
ngx_int_t ngx_http_prefixroute_check_zone(ngx_conf_t* cf, ngx_http_prefixroute_conf_t* conf);
ngx_int_t ngx_http_prefixroute_init_zone(ngx_shm_zone_t* zone, void* old_data);
// Whether this worker has its routers. Makes them where it has not, at most once a second.
ngx_int_t ngx_http_prefixroute_attach(ngx_http_prefixroute_conf_t* conf, ngx_log_t* log);
void ngx_http_prefixroute_detach(void* conf);
// Looks for owners whose process has ended, now and every second.
void ngx_http_prefixroute_start_reaper(ngx_http_prefixroute_conf_t* conf, ngx_cycle_t* cycle);

// _prefix.c
ngx_int_t ngx_http_prefixroute_make_key(ngx_http_prefixroute_peer_t* pp);

// _prompt.c
#if (NGX_HTTP_PREFIXROUTE_PAYLOAD)
ngx_int_t ngx_http_prefixroute_make_reader(ngx_conf_t* cf, ngx_http_prefixroute_conf_t* conf);
// The key and the form. A body that isn't understood counts as it is.
ngx_int_t ngx_http_prefixroute_read_prompt(ngx_http_prefixroute_peer_t* pp, const ngx_str_t* scope);
#endif

// _peer.c
ngx_int_t ngx_http_prefixroute_init_peer(ngx_http_request_t* r, ngx_http_upstream_srv_conf_t* us);
// The last that this request had; NULL where it had none.
ngx_http_prefixroute_peer_t* ngx_http_prefixroute_peer_of(ngx_http_request_t* r);

// _filter.c
void ngx_http_prefixroute_install_filters(void);

// _status.c
ngx_int_t ngx_http_prefixroute_add_variables(ngx_conf_t* cf);
ngx_int_t ngx_http_prefixroute_status_handler(ngx_http_request_t* r);

// _module.c. The conf of an upstream, NULL where it has no "prefix_route".
ngx_http_prefixroute_conf_t* ngx_http_prefixroute_conf_of(ngx_http_upstream_srv_conf_t* us);

#endif  // NGX_HTTP_PREFIXROUTE_H_
