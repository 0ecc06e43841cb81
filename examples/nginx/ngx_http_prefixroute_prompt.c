// SPDX-License-Identifier: Apache-2.0
//
// Compiled only where the payload component is.

#include "ngx_http_prefixroute.h"
#include "prefixroute/payload_c.h"

// Of a longer body that much is read, so that a worker is not held up: the most that "max_prefix" can be.
enum { MAX_BODY = 16 * 1024 * 1024 };

static void destroy_reader(void* reader) { prefixroute_payload_reader_destroy(reader); }

ngx_int_t ngx_http_prefixroute_make_reader(ngx_conf_t* cf, ngx_http_prefixroute_conf_t* conf) {
  ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(cf->pool, 0);
  prefixroute_error error;
  if (cleanup == NULL) {
    return NGX_ERROR;
  }
  if (prefixroute_payload_reader_create(conf->prefix_bytes, &conf->reader, &error) != PREFIXROUTE_OK) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"prefix_route\": %s", error.text);
    return NGX_ERROR;
  }
  cleanup->handler = destroy_reader;
  cleanup->data = conf->reader;
  return NGX_OK;
}

static ngx_int_t copy_file(const ngx_buf_t* buf, u_char* to, size_t size) {
  off_t offset = buf->file_pos;
  while (size != 0) {
    ssize_t n = ngx_read_file(buf->file, to, size, offset);
    if (n <= 0) {
      return NGX_ERROR;  // nginx has logged it.
    }
    to += n;
    offset += n;
    size -= n;
  }
  return NGX_OK;
}

// The first `size` bytes of the body, for the reader needs them in one piece.
static ngx_int_t copy_body(const ngx_chain_t* in, u_char* to, size_t size) {
  for (; size != 0; in = in->next) {
    ngx_buf_t* buf = in->buf;
    size_t piece = (size_t)ngx_min(ngx_buf_size(buf), (off_t)size);
    if (ngx_buf_in_memory(buf)) {
      ngx_memcpy(to, buf->pos, piece);
    } else if (copy_file(buf, to, piece) != NGX_OK) {
      return NGX_ERROR;
    }
    to += piece;
    size -= piece;
  }
  return NGX_OK;
}

static ngx_int_t read_body(ngx_http_prefixroute_peer_t* pp, const ngx_str_t* body, uint32_t part,
                           const ngx_str_t* scope) {
  prefixroute_payload payload = {0};
  payload.struct_size = sizeof(payload);
  prefixroute_error error;
  if (prefixroute_payload_read(pp->conf->reader, body->data, body->len, part, scope->data, scope->len, &payload,
                               &error) != PREFIXROUTE_OK) {
    ngx_log_error(NGX_LOG_ERR, pp->request->connection->log, 0, "prefix_route: %s", error.text);
    return NGX_ERROR;
  }
  if (payload.form == PREFIXROUTE_PAYLOAD_RAW) {
    ngx_log_error(NGX_LOG_INFO, pp->request->connection->log, 0, "prefix_route: the body counts as it is: %s",
                  payload.fallback);
  }
  pp->key = payload.key;
  pp->form = prefixroute_payload_form_name(payload.form);
  return NGX_OK;
}

ngx_int_t ngx_http_prefixroute_read_prompt(ngx_http_prefixroute_peer_t* pp, const ngx_str_t* scope) {
  ngx_http_request_t* r = pp->request;
  const ngx_chain_t* bufs = r->request_body != NULL ? r->request_body->bufs : NULL;
  off_t size = 0;
  for (const ngx_chain_t* in = bufs; in != NULL; in = in->next) {
    size += ngx_buf_size(in->buf);
  }
  if (size == 0) {
    return NGX_OK;
  }

  // With "proxy_request_buffering off" more may come.
  uint32_t part = r->request_body_no_buffering || size > MAX_BODY ? PREFIXROUTE_BODY_FIRST : PREFIXROUTE_BODY_WHOLE;
  ngx_str_t body = {(size_t)ngx_min(size, (off_t)MAX_BODY), bufs->buf->pos};
  if (ngx_buf_in_memory(bufs->buf) && ngx_buf_size(bufs->buf) == size) {
    return read_body(pp, &body, part, scope);
  }
  body.data = ngx_palloc(r->pool, body.len);
  if (body.data == NULL || copy_body(bufs, body.data, body.len) != NGX_OK) {
    return NGX_ERROR;
  }
  ngx_int_t rc = read_body(pp, &body, part, scope);
  ngx_pfree(r->pool, body.data);
  return rc;
}
