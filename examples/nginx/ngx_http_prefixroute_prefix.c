// SPDX-License-Identifier: Apache-2.0

#include "ngx_http_prefixroute.h"

enum { READ_BYTES = 32 * 1024 };

// From the temporary file that nginx wrote the body to, so from the system's page cache.
static ngx_int_t hash_file(ngx_http_request_t* r, ngx_buf_t* buf, prefixroute_hasher* hasher) {
  u_char* piece = ngx_palloc(r->pool, READ_BYTES);
  if (piece == NULL) {
    return NGX_ERROR;
  }
  off_t offset = buf->file_pos;
  while (offset < buf->file_last && !prefixroute_hasher_full(hasher)) {
    ssize_t n = ngx_read_file(buf->file, piece, ngx_min(buf->file_last - offset, (off_t)READ_BYTES), offset);
    if (n <= 0) {
      return NGX_ERROR;  // nginx has logged it.
    }
    prefixroute_hasher_update(hasher, piece, n);
    offset += n;
  }
  ngx_pfree(r->pool, piece);
  return NGX_OK;
}

// What there is of the body: all of it, but with "proxy_request_buffering off".
static ngx_int_t hash_body(ngx_http_request_t* r, prefixroute_hasher* hasher) {
  if (r->request_body == NULL) {
    return NGX_OK;
  }
  for (ngx_chain_t* in = r->request_body->bufs; in != NULL && !prefixroute_hasher_full(hasher); in = in->next) {
    ngx_buf_t* buf = in->buf;
    if (ngx_buf_in_memory(buf)) {
      prefixroute_hasher_update(hasher, buf->pos, buf->last - buf->pos);
    } else if (buf->in_file && hash_file(r, buf, hasher) != NGX_OK) {
      return NGX_ERROR;
    }
  }
  return NGX_OK;
}

ngx_int_t ngx_http_prefixroute_make_key(ngx_http_prefixroute_peer_t* pp) {
  ngx_http_request_t* r = pp->request;
  const ngx_http_prefixroute_conf_t* conf = pp->conf;
  if (conf->options.strategy != PREFIXROUTE_STRATEGY_PREFIX_AWARE) {
    return NGX_OK;  // The others don't look at it.
  }

  ngx_str_t scope = ngx_null_string;
  if (conf->scope != NULL && ngx_http_complex_value(r, conf->scope, &scope) != NGX_OK) {
    return NGX_ERROR;
  }
#if (NGX_HTTP_PREFIXROUTE_PAYLOAD)
  if (conf->reader != NULL) {
    return ngx_http_prefixroute_read_prompt(pp, &scope);
  }
#endif

  prefixroute_hasher hasher;
  prefixroute_hasher_init(&hasher, conf->prefix_bytes);
  prefixroute_hasher_add_scope(&hasher, scope.data, scope.len);
  if (conf->prefix != NULL) {
    ngx_str_t value;
    if (ngx_http_complex_value(r, conf->prefix, &value) != NGX_OK) {
      return NGX_ERROR;
    }
    prefixroute_hasher_update(&hasher, value.data, value.len);
  } else if (hash_body(r, &hasher) != NGX_OK) {
    return NGX_ERROR;
  }
  prefixroute_hasher_key(&hasher, &pp->key);
  return NGX_OK;
}
