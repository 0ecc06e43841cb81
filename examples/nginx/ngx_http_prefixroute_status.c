// SPDX-License-Identifier: Apache-2.0

#include "ngx_http_prefixroute.h"

// ---- Variables: of the request's last choice, and of its body.

enum { INSTANCE, REASON, RANK, MATCHED_BYTES, FORM };

static ngx_int_t get_variable(ngx_http_request_t* r, ngx_http_variable_value_t* v, uintptr_t which) {
  ngx_http_prefixroute_peer_t* pp = ngx_http_prefixroute_peer_of(r);
  if (pp == NULL || (which == FORM ? pp->form == NULL : pp->instance.len == 0)) {
    v->not_found = 1;
    return NGX_OK;
  }
  ngx_str_t value;
  if (which == INSTANCE) {
    value = pp->instance;
  } else if (which == REASON || which == FORM) {
    value.data = (u_char*)(which == FORM ? pp->form : prefixroute_reason_name(pp->decision.reason));
    value.len = ngx_strlen(value.data);
  } else {
    value.data = ngx_pnalloc(r->pool, NGX_INT64_LEN);
    if (value.data == NULL) {
      return NGX_ERROR;
    }
    uint64_t number = which == RANK ? pp->decision.rank : pp->decision.matched_bytes;
    value.len = ngx_sprintf(value.data, "%uL", number) - value.data;
  }
  v->data = value.data;
  v->len = value.len;
  v->valid = 1;
  v->no_cacheable = 0;
  v->not_found = 0;
  return NGX_OK;
}

ngx_int_t ngx_http_prefixroute_add_variables(ngx_conf_t* cf) {
  static struct {
    ngx_str_t name;
    uintptr_t which;
  } variables[] = {{ngx_string("prefix_route_instance"), INSTANCE},
                   {ngx_string("prefix_route_reason"), REASON},
                   {ngx_string("prefix_route_rank"), RANK},
                   {ngx_string("prefix_route_matched_bytes"), MATCHED_BYTES},
                   {ngx_string("prefix_route_form"), FORM}};
  for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); ++i) {
    // A retry changes them.
    ngx_http_variable_t* variable = ngx_http_add_variable(cf, &variables[i].name, NGX_HTTP_VAR_NOCACHEABLE);
    if (variable == NULL) {
      return NGX_ERROR;
    }
    variable->get_handler = get_variable;
    variable->data = variables[i].which;
  }
  return NGX_OK;
}

// ---- The status page, in Prometheus' text form.

typedef struct {
  ngx_http_prefixroute_conf_t* conf;
  ngx_str_t label;  // upstream="name"
  prefixroute_stats stats;
  prefixroute_instance_stats* instances;
  size_t count;
} upstream_status_t;

enum { MAX_NAME = 64, MAX_NUMBER = 32 };

// As a label's value: \ and " and line feeds with a \ before them.
static u_char* put_escaped(u_char* to, const char* text, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (text[i] == '\\' || text[i] == '"' || text[i] == '\n') {
      *to++ = '\\';
    }
    *to++ = text[i] == '\n' ? 'n' : (u_char)text[i];
  }
  return to;
}

static ngx_int_t read_status(ngx_http_request_t* r, ngx_http_prefixroute_conf_t* conf, upstream_status_t* status) {
  status->conf = conf;
  const ngx_str_t* name = &conf->upstream->host;
  status->label.data = ngx_pnalloc(r->pool, sizeof("upstream=\"\"") + 2 * name->len);
  if (status->label.data == NULL) {
    return NGX_ERROR;
  }
  u_char* end = ngx_cpymem(status->label.data, "upstream=\"", sizeof("upstream=\"") - 1);
  end = put_escaped(end, (const char*)name->data, name->len);
  *end++ = '"';
  status->label.len = end - status->label.data;

  size_t capacity = conf->groups[0].count + conf->groups[1].count;
  status->instances = ngx_pcalloc(r->pool, capacity * sizeof(*status->instances));
  if (status->instances == NULL) {
    return NGX_ERROR;
  }
  for (ngx_uint_t i = 0; i < conf->group_count && conf->groups[i].router != NULL; ++i) {
    prefixroute_error error;
    size_t count;
    status->stats.struct_size = sizeof(status->stats);
    status->instances[status->count].struct_size = sizeof(*status->instances);
    if (prefixroute_get_stats(conf->groups[i].router, &status->stats, &status->instances[status->count],
                              capacity - status->count, &count, &error) != PREFIXROUTE_OK) {
      ngx_log_error(NGX_LOG_ERR, r->connection->log, 0, "prefix_route: %s", error.text);
      return NGX_ERROR;
    }
    status->count += count;
  }
  return NGX_OK;
}

typedef uint64_t (*instance_metric_t)(const prefixroute_instance_stats* instance);
static uint64_t outstanding_of(const prefixroute_instance_stats* instance) { return instance->outstanding; }
static uint64_t max_outstanding_of(const prefixroute_instance_stats* instance) { return instance->max_outstanding; }
static uint64_t pending_bytes_of(const prefixroute_instance_stats* instance) { return instance->pending_bytes; }

static u_char* put_instances(u_char* to, const ngx_array_t* all, const char* name, const char* help,
                             instance_metric_t metric) {
  to = ngx_sprintf(to, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
  const upstream_status_t* status = all->elts;
  for (ngx_uint_t i = 0; i < all->nelts; ++i) {
    for (size_t k = 0; k < status[i].count; ++k) {
      const prefixroute_instance_stats* instance = &status[i].instances[k];
      to = ngx_sprintf(to, "%s{%V,instance=\"", name, &status[i].label);
      to = put_escaped(to, instance->id, instance->id_size);
      to = ngx_sprintf(to, "\"} %uL\n", metric(instance));
    }
  }
  return to;
}

static u_char* put_status(u_char* to, const ngx_array_t* all) {
  const upstream_status_t* status = all->elts;
  to = put_instances(to, all, "prefix_route_outstanding", "Requests that the server has and has not finished.",
                     outstanding_of);
  to = put_instances(to, all, "prefix_route_max_outstanding", "The most it may have; 0: no bound.", max_outstanding_of);
  to = put_instances(to, all, "prefix_route_pending_bytes", "Bytes of prompts that it has yet to prefill.",
                     pending_bytes_of);

  to = ngx_sprintf(to,
                   "# HELP prefix_route_outstanding_all Requests of all servers, removed ones too.\n"
                   "# TYPE prefix_route_outstanding_all gauge\n");
  for (ngx_uint_t i = 0; i < all->nelts; ++i) {
    if (status[i].count != 0) {  // Else this worker can't know.
      to = ngx_sprintf(to, "prefix_route_outstanding_all{%V} %uL\n", &status[i].label, status[i].stats.outstanding);
    }
  }
  to = ngx_sprintf(to,
                   "# HELP prefix_route_decisions_total Servers chosen, by reason.\n"
                   "# TYPE prefix_route_decisions_total counter\n");
  for (ngx_uint_t i = 0; i < all->nelts; ++i) {
    ngx_http_prefixroute_shared_t* shared = status[i].conf->shared;
    for (uint32_t reason = 0; reason < PREFIXROUTE_REASON_COUNTS; ++reason) {
      if (prefixroute_reason_name(reason)[0] != '\0') {
        to = ngx_sprintf(to, "prefix_route_decisions_total{%V,reason=\"%s\"} %uA\n", &status[i].label,
                         prefixroute_reason_name(reason), shared->decisions[reason]);
      }
    }
    to = ngx_sprintf(to, "prefix_route_decisions_total{%V,reason=\"round_robin\"} %uA\n", &status[i].label,
                     shared->round_robin);
  }
  to = ngx_sprintf(to,
                   "# HELP prefix_route_refused_total Requests that got no server.\n"
                   "# TYPE prefix_route_refused_total counter\n");
  for (ngx_uint_t i = 0; i < all->nelts; ++i) {
    ngx_http_prefixroute_shared_t* shared = status[i].conf->shared;
    to = ngx_sprintf(to,
                     "prefix_route_refused_total{%V,why=\"exhausted\"} %uA\n"
                     "prefix_route_refused_total{%V,why=\"unavailable\"} %uA\n",
                     &status[i].label, shared->exhausted, &status[i].label, shared->unavailable);
  }
  return to;
}

ngx_int_t ngx_http_prefixroute_status_handler(ngx_http_request_t* r) {
  if (!(r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD))) {
    return NGX_HTTP_NOT_ALLOWED;
  }
  ngx_int_t rc = ngx_http_discard_request_body(r);
  if (rc != NGX_OK) {
    return rc;
  }

  ngx_array_t all;
  if (ngx_array_init(&all, r->pool, 4, sizeof(upstream_status_t)) != NGX_OK) {
    return NGX_ERROR;
  }
  ngx_http_upstream_main_conf_t* umcf = ngx_http_get_module_main_conf(r, ngx_http_upstream_module);
  ngx_http_upstream_srv_conf_t** upstreams = umcf->upstreams.elts;
  size_t size = 4096;
  for (ngx_uint_t i = 0; i < umcf->upstreams.nelts; ++i) {
    ngx_http_prefixroute_conf_t* conf = ngx_http_prefixroute_conf_of(upstreams[i]);
    if (conf == NULL) {
      continue;
    }
    (void)ngx_http_prefixroute_attach(conf, r->connection->log);
    upstream_status_t* status = ngx_array_push(&all);
    if (status == NULL) {
      return NGX_ERROR;
    }
    ngx_memzero(status, sizeof(*status));
    if (read_status(r, conf, status) != NGX_OK) {
      return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    size_t line = MAX_NAME + status->label.len + 2 * PREFIXROUTE_MAX_ID_BYTES + MAX_NUMBER;
    size += line * (3 * status->count + PREFIXROUTE_REASON_COUNTS + 4);
  }

  ngx_buf_t* buf = ngx_create_temp_buf(r->pool, size);
  if (buf == NULL) {
    return NGX_ERROR;
  }
  buf->last = put_status(buf->last, &all);
  buf->last_buf = r == r->main;
  buf->last_in_chain = 1;
  ngx_chain_t out = {buf, NULL};

  r->headers_out.status = NGX_HTTP_OK;
  r->headers_out.content_length_n = buf->last - buf->pos;
  ngx_str_set(&r->headers_out.content_type, "text/plain; version=0.0.4");
  r->headers_out.content_type_len = r->headers_out.content_type.len;
  rc = ngx_http_send_header(r);
  if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
    return rc;
  }
  return ngx_http_output_filter(r, &out);
}
