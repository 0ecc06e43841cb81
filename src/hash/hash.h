// SPDX-License-Identifier: Apache-2.0
//
// 64-bit hashes of byte strings: XXH3_64 with seed 0, the same everywhere, by the widest vectors that the machine has,
// whatever it was compiled for.

#ifndef PREFIXROUTE_SRC_HASH_HASH_H_
#define PREFIXROUTE_SRC_HASH_HASH_H_

#include <cstdint>
#include <string_view>

#include "prefixroute/prefix_key.h"
#include "src/hash/kernels.h"

namespace prefixroute::internal {

inline uint64_t HashBytes(std::string_view bytes) { return WidestHashKernels().hash_bytes(bytes.data(), bytes.size()); }

// Makes of `key` what MakePrefixKey() returns, where it lies.
void FillPrefixKey(std::string_view prefix, std::string_view scope, uint64_t max_prefix_bytes, PrefixKey& key);

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_HASH_HASH_H_
