// SPDX-License-Identifier: Apache-2.0
//
// What a balancer isn't told and has to look for in the answer.

#include "ngx_http_prefixroute.h"

static ngx_http_output_header_filter_pt next_header_filter;
static ngx_http_output_body_filter_pt next_body_filter;

// A balancer can't choose the status of a request that it refuses: nginx makes it 502. Here that becomes 429.
static ngx_int_t header_filter(ngx_http_request_t* r) {
  if (r->err_status != NGX_HTTP_BAD_GATEWAY || r->headers_out.status != NGX_HTTP_BAD_GATEWAY) {
    return next_header_filter(r);
  }
  ngx_http_prefixroute_peer_t* pp = ngx_http_prefixroute_peer_of(r);
  if (pp == NULL || !pp->exhausted || pp->upstream != r->upstream) {
    return next_header_filter(r);
  }

  if (ngx_http_get_module_ctx(r, ngx_http_prefixroute_module) == NULL) {
    // A page of "error_page 502", which has a body of its own.
    r->err_status = NGX_HTTP_TOO_MANY_REQUESTS;
    r->headers_out.status = NGX_HTTP_TOO_MANY_REQUESTS;
    return next_header_filter(r);
  }
  // nginx's own page for 502 is about to follow: send that for 429 as a whole, and keep nginx from sending the other.
  r->error_page = 1;
  ngx_int_t rc = ngx_http_special_response_handler(r, NGX_HTTP_TOO_MANY_REQUESTS);
  r->header_only = 1;
  return rc;
}

// The first byte of the body is the first token: an engine sends the header as soon as it has the request, long before.
static ngx_int_t body_filter(ngx_http_request_t* r, ngx_chain_t* in) {
  ngx_http_prefixroute_peer_t* pp = ngx_http_get_module_ctx(r, ngx_http_prefixroute_module);
  if (pp != NULL && pp->router != NULL && !pp->has_first_token) {
    for (ngx_chain_t* cl = in; cl != NULL; cl = cl->next) {
      if (ngx_buf_size(cl->buf) > 0) {
        prefixroute_first_token(pp->router, &pp->lease);
        pp->has_first_token = 1;
        break;
      }
    }
  }
  return next_body_filter(r, in);
}

void ngx_http_prefixroute_install_filters(void) {
  next_header_filter = ngx_http_top_header_filter;
  ngx_http_top_header_filter = header_filter;
  next_body_filter = ngx_http_top_body_filter;
  ngx_http_top_body_filter = body_filter;
}
