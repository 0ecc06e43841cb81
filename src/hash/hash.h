// SPDX-License-Identifier: Apache-2.0
//
// 64-bit hashes of byte strings: XXH3_64 with seed 0, the same everywhere.

#ifndef PREFIXROUTE_SRC_HASH_HASH_H_
#define PREFIXROUTE_SRC_HASH_HASH_H_

#include <cstdint>
#include <string_view>

namespace prefixroute::internal {

uint64_t HashBytes(std::string_view bytes);

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_HASH_HASH_H_
