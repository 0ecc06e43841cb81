// SPDX-License-Identifier: Apache-2.0
//
// A PrefixKey where a prefixroute_key lies.

#ifndef PREFIXROUTE_SRC_C_KEYS_H_
#define PREFIXROUTE_SRC_C_KEYS_H_

#include <new>
#include <type_traits>

#include "prefixroute/c.h"
#include "prefixroute/prefix_key.h"

namespace prefixroute::c {

static_assert(sizeof(PrefixKey) <= sizeof(prefixroute_key) && alignof(PrefixKey) <= alignof(prefixroute_key) &&
              std::is_trivially_copyable_v<PrefixKey>);

inline void WriteKey(const PrefixKey& key, prefixroute_key* out) { new (out->opaque) PrefixKey(key); }

// Null where it is no key.
inline const PrefixKey* ReadKey(const prefixroute_key* in) {
  const auto* key = std::launder(reinterpret_cast<const PrefixKey*>(in->opaque));
  const size_t depths = key->depth_count();
  if (depths == 0) return key;
  const bool sane = depths <= kMaxPrefixDepths && key->bytes() <= kMaxMaxPrefixBytes;
  return sane && key->depth(depths - 1) <= key->bytes() ? key : nullptr;
}

}  // namespace prefixroute::c

#endif  // PREFIXROUTE_SRC_C_KEYS_H_
