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

static_assert(sizeof(PrefixKey) <= sizeof(prefixroute_key) && alignof(prefixroute_key) % alignof(PrefixKey) == 0 &&
              std::is_trivially_copyable_v<PrefixKey>);

inline void WriteKey(const PrefixKey& key, prefixroute_key* out) { new (out->opaque) PrefixKey(key); }

// What lies there, whether or not it is a key.
inline const PrefixKey& KeyOf(const prefixroute_key& in) {
  return *std::launder(reinterpret_cast<const PrefixKey*>(in.opaque));
}

inline bool IsKey(const prefixroute_key& in) {
  const PrefixKey& key = KeyOf(in);
  if (key.empty()) return true;
  return key.depth_count() <= kMaxPrefixDepths && key.bytes() <= kMaxMaxPrefixBytes &&
         key.depth(key.depth_count() - 1) <= key.bytes();
}

}  // namespace prefixroute::c

#endif  // PREFIXROUTE_SRC_C_KEYS_H_
