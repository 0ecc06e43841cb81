#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C API from Python, by ctypes: binding.py <shared library>."""

import ctypes
import sys
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int32, c_size_t, c_uint32, c_uint64, c_void_p, sizeof

OK, NOT_FOUND, UNAVAILABLE = 0, 5, 14


class Error(ctypes.Structure):
    _fields_ = [("text", c_char * 512)]


class Instance(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("max_outstanding", c_uint32), ("weight", c_double), ("id", c_char_p),
                ("id_size", c_size_t)]


class Request(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("strategy", c_uint32), ("prefix", c_char_p), ("prefix_size", c_size_t),
                ("scope", c_char_p), ("scope_size", c_size_t), ("key", c_void_p),
                ("exclude_indexes", POINTER(c_uint32)), ("exclude_count", c_size_t), ("random", c_uint64)]


class Decision(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("instance", c_uint32), ("home", c_uint32), ("rank", c_uint32),
                ("reason", c_uint32), ("reserved", c_uint32), ("prefix_bytes", c_uint64), ("matched_bytes", c_uint64),
                ("uncached_bytes", c_uint64)]


class Load(ctypes.Structure):
    _fields_ = [("outstanding", c_uint32), ("reserved", c_uint32), ("pending_bytes", c_uint64)]


class Lease(ctypes.Structure):
    _fields_ = [("opaque", c_uint64 * 3)]


class Stats(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("reserved", c_uint32), ("outstanding", c_uint64),
                ("unavailable", c_uint64), ("exhausted", c_uint64), ("decisions", c_uint64 * 16)]


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.prefixroute_version.restype = c_char_p
    library.prefixroute_reason_name.restype = c_char_p
    library.prefixroute_destroy.argtypes = [c_void_p]
    library.prefixroute_destroy.restype = None
    assert library.prefixroute_abi_version() == 1

    ids = [b"10.0.0.%d:8000" % i for i in range(3)]
    instances = (Instance * 3)(*[Instance(sizeof(Instance), 0, 1.0, i, len(i)) for i in ids])
    router, error = c_void_p(), Error()
    instances[1].weight = -1
    assert library.prefixroute_create(None, instances, c_size_t(3), byref(router), byref(error)) == 3
    assert b"instances[1].weight is -1" in error.text, error.text
    instances[1].weight = 1
    assert library.prefixroute_create(None, instances, c_size_t(3), byref(router), byref(error)) == OK, error.text

    prompt = b"You are a lawyer."
    request = Request(struct_size=sizeof(Request), prefix=prompt, prefix_size=len(prompt))
    decision, lease = Decision(struct_size=sizeof(Decision)), Lease()
    assert library.prefixroute_acquire(router, byref(request), byref(lease), byref(decision), byref(error)) == OK
    home = decision.instance
    assert library.prefixroute_reason_name(decision.reason) == b"home"

    stats = Stats(struct_size=sizeof(Stats))
    assert library.prefixroute_get_stats(router, byref(stats), None, c_size_t(0), None, byref(error)) == OK
    assert stats.outstanding == 1 and stats.decisions[decision.reason] == 1
    assert library.prefixroute_first_token(router, byref(lease)) == OK
    assert library.prefixroute_finish(router, byref(lease)) == OK
    assert library.prefixroute_finish(router, byref(lease)) == NOT_FOUND

    loads = (Load * 3)()
    request.exclude_indexes, request.exclude_count = (c_uint32 * 1)(home), 1
    assert library.prefixroute_route(router, byref(request), loads, c_size_t(3), byref(decision), byref(error)) == OK
    assert decision.instance != home and decision.home == home, (decision.instance, decision.home, home)
    request.exclude_indexes, request.exclude_count = (c_uint32 * 3)(0, 1, 2), 3
    assert library.prefixroute_route(router, byref(request), loads, c_size_t(3), byref(decision),
                                     byref(error)) == UNAVAILABLE
    assert b"no instance is available" in error.text, error.text
    library.prefixroute_destroy(router)
    print("ctypes:", library.prefixroute_version().decode())


main()
