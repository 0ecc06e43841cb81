// SPDX-License-Identifier: Apache-2.0
//
// What hashes bytes, for each width of vectors. For hash.h; call that.

#ifndef PREFIXROUTE_SRC_HASH_KERNELS_H_
#define PREFIXROUTE_SRC_HASH_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#include "src/base/runnable.h"

namespace prefixroute::internal {

struct HashKernels {
  // XXH3_64 with seed 0.
  uint64_t (*hash_bytes)(const char* bytes, size_t size);
  // The same of bytes in pieces: `state` is an XXH3_state_t.
  void (*update)(void* state, const char* bytes, size_t size);
  uint64_t (*digest)(const void* state);
  // The key of a prefix of `size` bytes, at least 1, as prefix_key.h has it, `scope_hash` being its S: writes a
  // fingerprint for each of the `count` depths that lies within the prefix, and the value. Returns how many it wrote.
  size_t (*hash_prefix)(const char* bytes, size_t size, uint64_t scope_hash, const uint64_t* depths, size_t count,
                        uint64_t* fingerprints, uint64_t* value);
};

Runnable<HashKernels> RunnableHashKernels();

// The widest of them. Found at the first call, which may come before main(); by several threads alike.
const HashKernels& WidestHashKernels();

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_HASH_KERNELS_H_
