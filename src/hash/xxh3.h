// SPDX-License-Identifier: Apache-2.0
//
// The library's only door to xxHash, compiled in so that nothing of it is needed to link or to use the package.

#ifndef PREFIXROUTE_SRC_HASH_XXH3_H_
#define PREFIXROUTE_SRC_HASH_XXH3_H_

#define XXH_INLINE_ALL
#include <xxhash.h>

// XXH3's values are frozen since then.
static_assert(XXH_VERSION_NUMBER >= 800, "prefixroute needs xxHash 0.8.0 or newer");

#endif  // PREFIXROUTE_SRC_HASH_XXH3_H_
