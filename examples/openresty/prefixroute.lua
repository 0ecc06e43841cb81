-- SPDX-License-Identifier: Apache-2.0
--
-- Balances by prefix, with libprefixroute by LuaJIT's FFI; nginx.conf shows which function is for which phase. Counts
-- and the memory of prefixes are in a block that all workers share. It is mapped by nginx's master, before it forks, and
-- its address is kept in a lua_shared_dict, where the next init() finds it: so it survives a reload.

local balancer, ffi = require("ngx.balancer"), require("ffi")
local M = {}
local BUSY = -3  -- What makes nginx answer 502 from a balancer.
local MAX_PREFIX, MAX_OWNERS = 1048576, 64
local config, lib, err, block, block_bytes, router

local function check(status)
  if status ~= 0 then error(ffi.string(lib.prefixroute_status_name(status)) .. ": " .. ffi.string(err.text)) end
end

local function sized(kind)
  return ffi.new(kind, {struct_size = ffi.sizeof(kind)})
end

-- The header itself, less what only a preprocessor understands.
local function declare(path)
  local header = assert(io.open(path)):read("*a")
  for name, value in header:gmatch("\n#define (PREFIXROUTE_[A-Z_]+) (%d+)") do
    header = header:gsub(name .. "([^%w_])", value .. "%1")
  end
  header = header:gsub("\n#[^\n]*", ""):gsub('extern "C" {', ""):gsub('\n}  // extern "C"', "")
  ffi.cdef(header:gsub("PREFIXROUTE_EXPORT", ""):gsub("PREFIXROUTE_NOEXCEPT", "") .. [[
    void* mmap(void* address, size_t length, int protection, int flags, int file, long offset);
    int kill(int pid, int signal);]])
end

function M.init(given)
  config = given
  declare(config.header)
  lib, err = ffi.load(config.library), ffi.new("prefixroute_error")
  local bytes, address = ffi.new("size_t[1]"), ngx.shared.prefixroute:get("address")
  check(lib.prefixroute_shared_bytes(nil, bytes, err))
  block_bytes = bytes[0]
  block = address and ffi.cast("void*", ffi.cast("uintptr_t", address)) or
          ffi.C.mmap(nil, block_bytes, 3, 0x21, -1, 0)  -- To read and write; shared and anonymous.
  if not address then check(lib.prefixroute_shared_format(block, block_bytes, nil, err)) end
  ngx.shared.prefixroute:set("address", tonumber(ffi.cast("uintptr_t", block)))
end

-- Takes back what workers held that have ended.
local function reap()
  local owners, count = ffi.new("prefixroute_owner[?]", MAX_OWNERS), ffi.new("size_t[1]")
  check(lib.prefixroute_shared_owners(router, owners, MAX_OWNERS, count, err))
  for i = 0, tonumber(count[0]) - 1 do
    local pid = tonumber(owners[i].token)
    if ffi.C.kill(pid, 0) ~= 0 then lib.prefixroute_shared_reap(router, pid, err) end
  end
end

function M.init_worker()
  local options, out = ffi.new("prefixroute_options"), ffi.new("prefixroute_router*[1]")
  lib.prefixroute_options_init(options, ffi.sizeof(options))
  for name, value in pairs(config.options) do options[name] = value end
  check(lib.prefixroute_create_shared(options, nil, 0, block, block_bytes, ngx.worker.pid(), out, err))
  router = ffi.gc(out[0], lib.prefixroute_destroy)
  reap()
  local instances, size = ffi.new("prefixroute_instance[?]", #config.servers), ffi.sizeof("prefixroute_instance")
  for i, id in ipairs(config.servers) do instances[i - 1] = {size, config.max_outstanding, 1, id, #id} end
  check(lib.prefixroute_set_instances(router, instances, #config.servers, err))
  ngx.timer.every(1, reap)
end

local function acquire(route)
  local request, decision = sized("prefixroute_request"), sized("prefixroute_decision")
  local tried = ffi.new("uint32_t[?]", #route.tried, route.tried)
  request.key, request.exclude_indexes, request.exclude_count = route.key, tried, #route.tried
  local status = lib.prefixroute_acquire(router, request, route.lease, decision, err)
  route.index = decision.instance
  return status
end

function M.access()
  ngx.req.read_body()
  local prompt, path = ngx.req.get_body_data(), ngx.req.get_body_file()
  if path then
    local file = assert(io.open(path, "rb"))
    prompt = file:read(MAX_PREFIX)
    file:close()
  end
  local route = {key = ffi.new("prefixroute_key"), lease = ffi.new("prefixroute_lease"), tried = {}}
  lib.prefixroute_key_make(prompt, #(prompt or ""), nil, 0, MAX_PREFIX, route.key)
  local status = acquire(route)
  if status ~= 0 then return ngx.exit(status == lib.PREFIXROUTE_RESOURCE_EXHAUSTED and 429 or 503) end
  ngx.ctx.route = route
end

function M.balance()
  local route = ngx.ctx.route
  if balancer.get_last_failure() then
    lib.prefixroute_finish(router, route.lease)
    table.insert(route.tried, route.index)
    if acquire(route) ~= 0 then return ngx.exit(BUSY) end
  else
    balancer.set_more_tries(#config.servers - 1)
  end
  assert(balancer.set_current_peer(config.servers[route.index + 1]:match("^(.*):(%d+)$")))
end

function M.first_token()
  local route = ngx.ctx.route
  if route and ngx.arg[1] ~= "" then lib.prefixroute_first_token(router, route.lease) end
end

function M.finish()
  if ngx.ctx.route then lib.prefixroute_finish(router, ngx.ctx.route.lease) end
end

function M.status()
  local stats = sized("prefixroute_stats")
  check(lib.prefixroute_get_stats(router, stats, nil, 0, nil, err))
  ngx.say("outstanding ", tonumber(stats.outstanding))
end

return M
