// SPDX-License-Identifier: Apache-2.0
//
// The directives:
//
//   upstream: prefix_route strategy=prefix_aware|least_outstanding_requests|random zone=name:size [name=value ...];
//   location: prefix_route_status;

#include "ngx_http_prefixroute.h"

static ngx_http_module_t module_ctx;

ngx_http_prefixroute_conf_t* ngx_http_prefixroute_conf_of(ngx_http_upstream_srv_conf_t* us) {
  if (us->srv_conf == NULL) {
    return NULL;  // Not of an upstream block, but of an address in "proxy_pass".
  }
  ngx_http_prefixroute_conf_t* conf = ngx_http_conf_upstream_srv_conf(us, ngx_http_prefixroute_module);
  return conf->zone != NULL ? conf : NULL;
}

static void* create_srv_conf(ngx_conf_t* cf) { return ngx_pcalloc(cf->pool, sizeof(ngx_http_prefixroute_conf_t)); }

// What the library will say when a worker makes its routers of the same.
static prefixroute_status try_router(const prefixroute_options* options, const prefixroute_instance* instances,
                                     ngx_uint_t count, prefixroute_error* error) {
  prefixroute_options small = *options;
  small.max_instances = count != 0 ? (uint32_t)count : 1;
  small.prefix_entries = 1024;
  prefixroute_router* router;
  prefixroute_status status = prefixroute_create(&small, instances, count, &router, error);
  if (status == PREFIXROUTE_OK) {
    prefixroute_destroy(router);
  }
  return status;
}

// ---- When all servers are known.

static prefixroute_instance instance_of(const ngx_http_upstream_rr_peer_t* peer, uint32_t max_outstanding) {
  prefixroute_instance instance = {0};
  instance.struct_size = sizeof(instance);
  instance.id = (const char*)peer->name.data;
  instance.id_size = peer->name.len;
  instance.weight = (double)peer->weight;
  // Of two bounds both hold.
  instance.max_outstanding = max_outstanding;
  if (peer->max_conns != 0 && (max_outstanding == 0 || peer->max_conns < max_outstanding)) {
    instance.max_outstanding = (uint32_t)peer->max_conns;
  }
  return instance;
}

static ngx_int_t init_upstream(ngx_conf_t* cf, ngx_http_upstream_srv_conf_t* us) {
  if (ngx_http_upstream_init_round_robin(cf, us) != NGX_OK) {
    return NGX_ERROR;
  }
  us->peer.init = ngx_http_prefixroute_init_peer;

  ngx_http_prefixroute_conf_t* conf = ngx_http_prefixroute_conf_of(us);
  for (ngx_http_upstream_rr_peers_t* peers = us->peer.data; peers != NULL; peers = peers->next) {
    ngx_http_prefixroute_group_t* group = &conf->groups[conf->group_count++];
    group->instances = ngx_palloc(cf->pool, peers->number * sizeof(*group->instances));
    if (group->instances == NULL) {
      return NGX_ERROR;
    }
    for (ngx_http_upstream_rr_peer_t* peer = peers->peer; peer != NULL; peer = peer->next) {
      group->instances[group->count++] = instance_of(peer, conf->max_outstanding);
    }
    prefixroute_error error;
    if (try_router(&conf->options, group->instances, group->count, &error) != PREFIXROUTE_OK) {
      ngx_log_error(NGX_LOG_EMERG, cf->log, 0, "\"prefix_route\" of upstream \"%V\" in %s:%ui: %s", &us->host,
                    us->file_name, us->line, error.text);
      return NGX_ERROR;
    }
  }
  return ngx_http_prefixroute_check_zone(cf, conf);
}

// ---- "prefix_route"

static ngx_uint_t has_name(const ngx_str_t* parameter, const char* name, ngx_str_t* value) {
  size_t len = ngx_strlen(name);
  if (parameter->len <= len || parameter->data[len] != '=' || ngx_strncmp(parameter->data, name, len) != 0) {
    return 0;
  }
  value->data = parameter->data + len + 1;
  value->len = parameter->len - len - 1;
  return 1;
}

static ngx_int_t read_strategy(const ngx_str_t* value, uint32_t* strategy) {
  char name[64];
  if (value->len >= sizeof(name)) {
    return NGX_ERROR;
  }
  for (size_t i = 0; i < value->len; ++i) {
    name[i] = (char)ngx_toupper(value->data[i]);
  }
  return prefixroute_parse_strategy(name, value->len, strategy, NULL) == PREFIXROUTE_OK ? NGX_OK : NGX_ERROR;
}

static ngx_int_t read_number(const ngx_str_t* value, uint32_t* number) {
  ngx_int_t n = ngx_atoi(value->data, value->len);
  if (n == NGX_ERROR || n > (ngx_int_t)NGX_MAX_UINT32_VALUE) {
    return NGX_ERROR;
  }
  *number = (uint32_t)n;
  return NGX_OK;
}

static ngx_int_t read_size(ngx_str_t* value, uint64_t* size) {
  ssize_t n = ngx_parse_size(value);
  if (n == NGX_ERROR) {
    return NGX_ERROR;
  }
  *size = (uint64_t)n;
  return NGX_OK;
}

static ngx_int_t read_flag(const ngx_str_t* value, uint32_t* flag) {
  *flag = value->len == 2 && ngx_strncmp(value->data, "on", 2) == 0;
  return *flag || (value->len == 3 && ngx_strncmp(value->data, "off", 3) == 0) ? NGX_OK : NGX_ERROR;
}

static ngx_int_t read_variables(ngx_conf_t* cf, ngx_str_t* value, ngx_http_complex_value_t** result) {
  *result = ngx_palloc(cf->pool, sizeof(**result));
  if (*result == NULL || value->len == 0) {
    return NGX_ERROR;
  }
  ngx_http_compile_complex_value_t compile = {0};
  compile.cf = cf;
  compile.value = value;
  compile.complex_value = *result;
  return ngx_http_compile_complex_value(&compile);
}

// The name of what is in the body, or variables: a mere text would be the prefix of all requests.
static ngx_int_t read_prefix(ngx_conf_t* cf, ngx_str_t* value, ngx_http_prefixroute_conf_t* conf) {
  conf->by_prompt = value->len == 6 && ngx_strncmp(value->data, "prompt", 6) == 0;
  if (conf->by_prompt) {
#if (NGX_HTTP_PREFIXROUTE_PAYLOAD)
    return NGX_OK;
#else
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                       "\"prefix=prompt\" of \"prefix_route\" needs the library's payload component, which this module "
                       "was built without");
    return NGX_ABORT;
#endif
  }
  if (read_variables(cf, value, &conf->prefix) != NGX_OK) {
    return NGX_ERROR;
  }
  return conf->prefix->lengths != NULL ? NGX_OK : NGX_ERROR;
}

static ngx_int_t read_zone(ngx_conf_t* cf, const ngx_str_t* value, ngx_http_prefixroute_conf_t* conf) {
  u_char* colon = ngx_strlchr(value->data, value->data + value->len, ':');
  if (colon == NULL || colon == value->data) {
    return NGX_ERROR;
  }
  ngx_str_t name = {colon - value->data, value->data};
  ngx_str_t size_text = {value->data + value->len - colon - 1, colon + 1};
  ssize_t size = ngx_parse_size(&size_text);
  if (size == NGX_ERROR) {
    return NGX_ERROR;
  }
  if (size < (ssize_t)(8 * ngx_pagesize)) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "zone \"%V\" of \"prefix_route\" is too small", value);
    return NGX_ABORT;
  }
  conf->zone = ngx_shared_memory_add(cf, &name, size, &ngx_http_prefixroute_module);
  if (conf->zone == NULL) {
    return NGX_ABORT;  // nginx has said why.
  }
  if (conf->zone->data != NULL) {
    ngx_http_prefixroute_conf_t* other = conf->zone->data;
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "zone \"%V\" is already that of \"prefix_route\" in upstream \"%V\"",
                       &name, &other->upstream->host);
    return NGX_ABORT;
  }
  conf->zone->init = ngx_http_prefixroute_init_zone;
  conf->zone->data = conf;
  return NGX_OK;
}

// NGX_DECLINED: there is no such parameter. NGX_ERROR: its value is bad. NGX_ABORT: so, and that was said.
static ngx_int_t read_parameter(ngx_conf_t* cf, ngx_http_prefixroute_conf_t* conf, const ngx_str_t* parameter) {
  prefixroute_options* options = &conf->options;
  ngx_str_t value;
  if (has_name(parameter, "strategy", &value)) {
    return read_strategy(&value, &options->strategy);
  }
  if (has_name(parameter, "zone", &value)) {
    return read_zone(cf, &value, conf);
  }
  if (has_name(parameter, "max_prefix", &value)) {
    return read_size(&value, &options->max_prefix_bytes);
  }
  if (has_name(parameter, "strict_prefix", &value)) {
    return read_size(&value, &options->strict_prefix_bytes);
  }
  if (has_name(parameter, "scope", &value)) {
    return read_variables(cf, &value, &conf->scope);
  }
  if (has_name(parameter, "prefix", &value)) {
    return read_prefix(cf, &value, conf);
  }
  if (has_name(parameter, "max_outstanding", &value)) {
    return read_number(&value, &conf->max_outstanding);
  }
  if (has_name(parameter, "gateway_replicas", &value)) {
    return read_number(&value, &options->gateway_replicas);
  }
  if (has_name(parameter, "bound_factor", &value)) {
    return read_number(&value, &options->bound_factor_percent);
  }
  if (has_name(parameter, "bound_margin", &value)) {
    return read_number(&value, &options->bound_margin);
  }
  if (has_name(parameter, "bound_floor", &value)) {
    return read_number(&value, &options->bound_floor);
  }
  if (has_name(parameter, "fail_open", &value)) {
    return read_flag(&value, &options->fail_open);
  }
  return NGX_DECLINED;
}

static char* prefix_route(ngx_conf_t* cf, ngx_command_t* command, void* data) {
  (void)command;
  ngx_http_prefixroute_conf_t* conf = data;
  if (conf->upstream != NULL) {
    return "is duplicate";
  }
  conf->upstream = ngx_http_conf_get_module_srv_conf(cf, ngx_http_upstream_module);
  if (conf->upstream->peer.init_upstream != NULL) {
    return "must come before \"keepalive\", and excludes other load balancing methods";
  }
  prefixroute_options_init(&conf->options, sizeof(conf->options));

  ngx_str_t* values = cf->args->elts;
  for (ngx_uint_t i = 1; i < cf->args->nelts; ++i) {
    switch (read_parameter(cf, conf, &values[i])) {
      case NGX_OK:
        break;
      case NGX_DECLINED:
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "unknown parameter \"%V\" of \"prefix_route\"", &values[i]);
        return NGX_CONF_ERROR;
      case NGX_ERROR:
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid value in \"%V\" of \"prefix_route\"", &values[i]);
        return NGX_CONF_ERROR;
      default:
        return NGX_CONF_ERROR;
    }
    prefixroute_error error;
    if (try_router(&conf->options, NULL, 0, &error) != PREFIXROUTE_OK) {
      ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid value in \"%V\" of \"prefix_route\": %s", &values[i],
                         error.text);
      return NGX_CONF_ERROR;
    }
  }
  if (conf->zone == NULL) {
    return "needs a \"zone=name:size\"";
  }
  conf->prefix_bytes =
      conf->options.strict_prefix_bytes != 0 ? conf->options.strict_prefix_bytes : conf->options.max_prefix_bytes;
#if (NGX_HTTP_PREFIXROUTE_PAYLOAD)
  if (conf->by_prompt && ngx_http_prefixroute_make_reader(cf, conf) != NGX_OK) {
    return NGX_CONF_ERROR;
  }
#endif

  ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(cf->pool, 0);
  if (cleanup == NULL) {
    return NGX_CONF_ERROR;
  }
  cleanup->handler = ngx_http_prefixroute_detach;
  cleanup->data = conf;
  conf->upstream->peer.init_upstream = init_upstream;
  conf->upstream->flags = NGX_HTTP_UPSTREAM_CREATE | NGX_HTTP_UPSTREAM_WEIGHT | NGX_HTTP_UPSTREAM_MAX_CONNS |
                          NGX_HTTP_UPSTREAM_MAX_FAILS | NGX_HTTP_UPSTREAM_FAIL_TIMEOUT | NGX_HTTP_UPSTREAM_DOWN |
                          NGX_HTTP_UPSTREAM_BACKUP;
  return NGX_CONF_OK;
}

static char* prefix_route_status(ngx_conf_t* cf, ngx_command_t* command, void* data) {
  (void)command;
  (void)data;
  ngx_http_core_loc_conf_t* location = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
  location->handler = ngx_http_prefixroute_status_handler;
  return NGX_CONF_OK;
}

// ---- The module.

static ngx_int_t postconfiguration(ngx_conf_t* cf) {
  (void)cf;
  ngx_http_prefixroute_install_filters();
  return NGX_OK;
}

// Of each worker. The master attaches no router: what it had, its workers would take for theirs.
static ngx_int_t init_process(ngx_cycle_t* cycle) {
  if (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE) {
    return NGX_OK;
  }
  ngx_http_upstream_main_conf_t* umcf = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_upstream_module);
  if (umcf == NULL) {
    return NGX_OK;
  }
  ngx_http_upstream_srv_conf_t** upstreams = umcf->upstreams.elts;
  for (ngx_uint_t i = 0; i < umcf->upstreams.nelts; ++i) {
    ngx_http_prefixroute_conf_t* conf = ngx_http_prefixroute_conf_of(upstreams[i]);
    if (conf != NULL) {
      ngx_http_prefixroute_start_reaper(conf, cycle);
    }
  }
  return NGX_OK;
}

static ngx_command_t commands[] = {
    {ngx_string("prefix_route"), NGX_HTTP_UPS_CONF | NGX_CONF_1MORE, prefix_route, NGX_HTTP_SRV_CONF_OFFSET, 0, NULL},
    {ngx_string("prefix_route_status"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS, prefix_route_status, 0, 0, NULL},
    ngx_null_command};

static ngx_http_module_t module_ctx = {
    .preconfiguration = ngx_http_prefixroute_add_variables,
    .postconfiguration = postconfiguration,
    .create_srv_conf = create_srv_conf,
};

ngx_module_t ngx_http_prefixroute_module = {NGX_MODULE_V1, &module_ctx, commands,     NGX_HTTP_MODULE,
                                            NULL,          NULL,        init_process, NULL,
                                            NULL,          NULL,        NULL,         NGX_MODULE_V1_PADDING};
