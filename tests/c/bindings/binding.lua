-- SPDX-License-Identifier: Apache-2.0
--
-- The C API from Lua, by LuaJIT's FFI, with the header itself as declarations: luajit binding.lua <shared library> <c.h>

local ffi = require("ffi")

local header = assert(io.open(arg[2])):read("*a")
for name, value in header:gmatch("\n#define (PREFIXROUTE_[A-Z_]+) (%d+)") do
  header = header:gsub(name .. "([^%w_])", value .. "%1")
end
header = header:gsub("\n#[^\n]*", ""):gsub('extern "C" {', ""):gsub('\n}  // extern "C"', "")
header = header:gsub("PREFIXROUTE_EXPORT", ""):gsub("PREFIXROUTE_NOEXCEPT", "")
ffi.cdef(header)
local library = ffi.load(arg[1])
assert(library.prefixroute_abi_version() == 1)

-- A struct that says its own size.
local function sized(kind)
  local made = ffi.new(kind)
  made.struct_size = ffi.sizeof(kind)
  return made
end
local err = ffi.new("prefixroute_error")
local function ok(status)
  if status ~= 0 then error(ffi.string(library.prefixroute_status_name(status)) .. ": " .. ffi.string(err.text)) end
end

local ids = {"10.0.0.0:8000", "10.0.0.1:8000", "10.0.0.2:8000"}
local instances = ffi.new("prefixroute_instance[3]")
for i, id in ipairs(ids) do
  instances[i - 1] = {ffi.sizeof("prefixroute_instance"), 0, 1, id, #id}
end
local out = ffi.new("prefixroute_router*[1]")
instances[1].weight = -1
assert(library.prefixroute_create(nil, instances, 3, out, err) == 3)
assert(ffi.string(err.text):find("instances[1].weight is -1", 1, true), ffi.string(err.text))
instances[1].weight = 1
ok(library.prefixroute_create(nil, instances, 3, out, err))
local router = ffi.gc(out[0], library.prefixroute_destroy)

local prompt = "You are a lawyer."
local request = sized("prefixroute_request")
request.prefix, request.prefix_size = prompt, #prompt
local decision, lease = sized("prefixroute_decision"), ffi.new("prefixroute_lease")
ok(library.prefixroute_acquire(router, request, lease, decision, err))
local home = decision.instance
assert(ffi.string(library.prefixroute_reason_name(decision.reason)) == "home")

local stats = sized("prefixroute_stats")
ok(library.prefixroute_get_stats(router, stats, nil, 0, nil, err))
assert(stats.outstanding == 1 and stats.decisions[decision.reason] == 1)
ok(library.prefixroute_first_token(router, lease))
ok(library.prefixroute_finish(router, lease))
assert(library.prefixroute_finish(router, lease) == library.PREFIXROUTE_NOT_FOUND)

local loads = ffi.new("prefixroute_load[3]")
local excluded = ffi.new("uint32_t[3]", home)
request.exclude_indexes, request.exclude_count = excluded, 1
ok(library.prefixroute_route(router, request, loads, 3, decision, err))
assert(decision.instance ~= home and decision.home == home)
excluded[0], excluded[1], excluded[2] = 0, 1, 2
request.exclude_count = 3
assert(library.prefixroute_route(router, request, loads, 3, decision, err) == library.PREFIXROUTE_UNAVAILABLE)
assert(ffi.string(err.text):find("no instance is available", 1, true), ffi.string(err.text))
print("LuaJIT: " .. ffi.string(library.prefixroute_version()))
