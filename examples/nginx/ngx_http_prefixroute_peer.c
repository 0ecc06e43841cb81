// SPDX-License-Identifier: Apache-2.0
//
// nginx asks for a peer (get) and says when it is done with it (free), once for each try of a request. A try has one
// lease; the next try's is a new one, with the servers tried before excluded.

#include "ngx_http_prefixroute.h"

static void finish(ngx_http_prefixroute_peer_t* pp) {
  if (pp->router != NULL) {
    prefixroute_finish(pp->router, &pp->lease);
    pp->router = NULL;
  }
}

// nginx calls free() for every peer that it got; this is for a request that ends in between.
static void finish_at_cleanup(void* data) { finish(data); }

static uintptr_t tried_bit(ngx_uint_t index, ngx_uint_t* word) {
  *word = index / (8 * sizeof(uintptr_t));
  return (uintptr_t)1 << index % (8 * sizeof(uintptr_t));
}

// The servers that this request must not get: tried already, "down", or failing by "max_fails".
static ngx_uint_t list_excluded(ngx_http_prefixroute_peer_t* pp) {
  ngx_http_upstream_rr_peers_t* peers = pp->rrp.peers;
  time_t now = ngx_time();
  ngx_uint_t excluded = 0, index = 0, word;
  ngx_http_upstream_rr_peers_rlock(peers);
  for (ngx_http_upstream_rr_peer_t* peer = peers->peer; peer != NULL; peer = peer->next, ++index) {
    uintptr_t bit = tried_bit(index, &word);
    if ((pp->rrp.tried[word] & bit) != 0 || peer->down ||
        (peer->max_fails != 0 && peer->fails >= peer->max_fails && now - peer->checked <= peer->fail_timeout)) {
      pp->exclude[excluded++] = (uint32_t)index;
    }
  }
  ngx_http_upstream_rr_peers_unlock(peers);
  return excluded;
}

// Gives nginx the peer of that index, with its own accounts kept as its own balancers keep them.
static void take_peer(ngx_http_prefixroute_peer_t* pp, ngx_peer_connection_t* pc, ngx_uint_t index) {
  ngx_http_upstream_rr_peers_t* peers = pp->rrp.peers;
  time_t now = ngx_time();
  ngx_uint_t word;
  ngx_http_upstream_rr_peers_wlock(peers);
  ngx_http_upstream_rr_peer_t* peer = peers->peer;
  for (ngx_uint_t i = 0; i < index; ++i) {
    peer = peer->next;
  }
  if (now - peer->checked > peer->fail_timeout) {
    peer->checked = now;
  }
  peer->conns++;
#ifdef ngx_http_upstream_rr_peer_ref  // nginx 1.27.3 and later, whose free takes it back.
  ngx_http_upstream_rr_peer_ref(peers, peer);
#endif
  pp->rrp.current = peer;
  uintptr_t bit = tried_bit(index, &word);
  pp->rrp.tried[word] |= bit;
  pc->sockaddr = peer->sockaddr;
  pc->socklen = peer->socklen;
  pc->name = &peer->name;
  ngx_http_upstream_rr_peers_unlock(peers);
}

static prefixroute_status choose(ngx_http_prefixroute_peer_t* pp, ngx_peer_connection_t* pc) {
  // The upstream's own peers, or those they have as backup.
  ngx_http_prefixroute_group_t* group = &pp->conf->groups[pp->rrp.peers != pp->conf->upstream->peer.data];
  ngx_http_prefixroute_shared_t* shared = pp->conf->shared;
  prefixroute_request request = {0};
  request.struct_size = sizeof(request);
  request.key = &pp->key;
  request.exclude_indexes = pp->exclude;
  request.exclude_count = list_excluded(pp);
  prefixroute_decision decision = {0};
  decision.struct_size = sizeof(decision);
  prefixroute_error error;
  prefixroute_status status = prefixroute_acquire(group->router, &request, &pp->lease, &decision, &error);
  if (status != PREFIXROUTE_OK) {
    ngx_uint_t is_usual = status == PREFIXROUTE_RESOURCE_EXHAUSTED || status == PREFIXROUTE_UNAVAILABLE;
    ngx_uint_t level = is_usual ? NGX_LOG_INFO : NGX_LOG_ERR;
    ngx_log_error(level, pc->log, 0, "prefix_route: %s", error.text);
    return status;
  }
  pp->router = group->router;
  pp->decision = decision;
  pp->has_first_token = 0;
  pp->instance.data = (u_char*)group->instances[decision.instance].id;
  pp->instance.len = group->instances[decision.instance].id_size;
  (void)ngx_atomic_fetch_add(&shared->decisions[decision.reason], 1);
  take_peer(pp, pc, decision.instance);
  return PREFIXROUTE_OK;
}

static ngx_int_t get(ngx_peer_connection_t* pc, void* data) {
  ngx_http_prefixroute_peer_t* pp = data;
  ngx_http_prefixroute_shared_t* shared = pp->conf->shared;
  pc->cached = 0;
  pc->connection = NULL;

  if (ngx_http_prefixroute_attach(pp->conf, pc->log) != NGX_OK) {
    // Better any server than none. The alert is in the log.
    (void)ngx_atomic_fetch_add(&shared->round_robin, 1);
    return ngx_http_upstream_get_round_robin_peer(pc, &pp->rrp);
  }

  for (;;) {
    prefixroute_status status = choose(pp, pc);
    if (status == PREFIXROUTE_OK) {
      return NGX_OK;
    }
    pp->exhausted |= status == PREFIXROUTE_RESOURCE_EXHAUSTED;
    ngx_http_upstream_rr_peers_t* backup = pp->rrp.peers->next;
    if (backup == NULL) {
      break;
    }
    // As nginx's own balancers do, for the rest of this request.
    pp->rrp.peers = backup;
    ngx_uint_t last;
    (void)tried_bit(backup->number - 1, &last);
    ngx_memzero(pp->rrp.tried, (last + 1) * sizeof(uintptr_t));
  }

  pc->name = pp->rrp.peers->name;
  if (pp->exhausted) {
    // No further try, and no "no live upstreams" at the level "error". The filter makes 429 of nginx's 502.
    (void)ngx_atomic_fetch_add(&shared->exhausted, 1);
    pc->tries = 0;
    return NGX_DECLINED;
  }
  (void)ngx_atomic_fetch_add(&shared->unavailable, 1);
  return NGX_BUSY;
}

static void free_peer(ngx_peer_connection_t* pc, void* data, ngx_uint_t state) {
  ngx_http_prefixroute_peer_t* pp = data;
  finish(pp);
  ngx_http_upstream_free_round_robin_peer(pc, &pp->rrp, state);
}

ngx_int_t ngx_http_prefixroute_init_peer(ngx_http_request_t* r, ngx_http_upstream_srv_conf_t* us) {
  ngx_http_prefixroute_conf_t* conf = ngx_http_prefixroute_conf_of(us);
  ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(r->pool, sizeof(ngx_http_prefixroute_peer_t));
  if (cleanup == NULL) {
    return NGX_ERROR;
  }
  ngx_http_prefixroute_peer_t* pp = cleanup->data;
  ngx_memzero(pp, sizeof(*pp));
  cleanup->handler = finish_at_cleanup;
  pp->conf = conf;
  pp->request = r;
  pp->upstream = r->upstream;
  pp->exclude = ngx_palloc(r->pool, ngx_max(conf->groups[0].count, conf->groups[1].count) * sizeof(*pp->exclude));
  if (pp->exclude == NULL || ngx_http_prefixroute_make_key(pp) != NGX_OK) {
    return NGX_ERROR;
  }

  r->upstream->peer.data = &pp->rrp;
  if (ngx_http_upstream_init_round_robin_peer(r, us) != NGX_OK) {
    return NGX_ERROR;
  }
  r->upstream->peer.get = get;
  r->upstream->peer.free = free_peer;
  ngx_http_set_ctx(r, pp, ngx_http_prefixroute_module);
  return NGX_OK;
}

// An internal redirect, as by "error_page", takes the request its context, but not its memory.
ngx_http_prefixroute_peer_t* ngx_http_prefixroute_peer_of(ngx_http_request_t* r) {
  ngx_http_prefixroute_peer_t* pp = ngx_http_get_module_ctx(r, ngx_http_prefixroute_module);
  if (pp != NULL) {
    return pp;
  }
  for (ngx_pool_cleanup_t* cleanup = r->pool->cleanup; cleanup != NULL; cleanup = cleanup->next) {
    if (cleanup->handler == finish_at_cleanup && ((ngx_http_prefixroute_peer_t*)cleanup->data)->request == r) {
      return cleanup->data;
    }
  }
  return NULL;
}
