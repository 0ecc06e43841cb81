// SPDX-License-Identifier: Apache-2.0

#include "src/hash/hash.h"

#include "src/hash/xxh3.h"

namespace prefixroute::internal {

uint64_t HashBytes(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace prefixroute::internal
