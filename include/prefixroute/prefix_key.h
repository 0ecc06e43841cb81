// SPDX-License-Identifier: Apache-2.0
//
// The key of a prompt prefix: what the router looks at instead of the bytes. A Router makes it by itself from
// Request::prefix; use this file when the prompt arrives in pieces (a chunked body, a buffer chain), or when the host
// has a hash of the prefix already.

#ifndef PREFIXROUTE_PREFIX_KEY_H_
#define PREFIXROUTE_PREFIX_KEY_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "prefixroute/export.h"

namespace prefixroute {

// About 2,000 tokens: past the system prompt that all requests of a service share, which must not crowd one instance.
// No limit fits all traffic (docs/replay.md).
inline constexpr uint64_t kDefaultMaxPrefixBytes = 8192;
inline constexpr uint64_t kMaxMaxPrefixBytes = uint64_t{1} << 30;

// The key of one prefix within one scope. A value; the same on every machine and build, and in every later release
// of the same minor version.
class PrefixKey {
 public:
  // The empty key: that of an empty prefix, which has no home.
  constexpr PrefixKey() = default;

  // A key from a hash that the host has already, which must cover the prefix and the scope, and use all 64 bits
  // well. Never empty: 0 counts as 1.
  static constexpr PrefixKey FromHash(uint64_t hash) { return PrefixKey(hash == 0 ? 1 : hash); }

  constexpr bool empty() const { return value_ == 0; }
  constexpr uint64_t value() const { return value_; }

  friend constexpr bool operator==(PrefixKey a, PrefixKey b) { return a.value_ == b.value_; }
  friend constexpr bool operator!=(PrefixKey a, PrefixKey b) { return a.value_ != b.value_; }

 private:
  explicit constexpr PrefixKey(uint64_t value) : value_(value) {}
  uint64_t value_ = 0;
};

// The key of the first `max_prefix_bytes` of `prefix`, any bytes at all, within `scope`:
//
//   0                                             where the prefix is empty,
//   MixBits(XXH3_64(prefix) ^ S)                  otherwise, 0 counting as 1, with
//   S = 0                                         without a scope,
//   S = MixBits(S' ^ XXH3_64(part)) + 1           for each part of the scope in turn, S' being the S before it.
//
// MixBits is that of rendezvous.h, XXH3_64 is xxHash's 64-bit XXH3 with seed 0. Not cryptographic: whoever chooses
// prompts can make two with one key, and gain a cache miss by it.
// O(min(prefix.size(), max_prefix_bytes)). Does not allocate.
PREFIXROUTE_EXPORT PrefixKey MakePrefixKey(std::string_view prefix, std::string_view scope = {},
                                           uint64_t max_prefix_bytes = kDefaultMaxPrefixBytes);

// Makes the same key from pieces: however the prefix is cut, Key() equals MakePrefixKey() of the whole.
//
//   PrefixHasher hasher;
//   hasher.AddScope(model);
//   for (std::string_view piece : body) hasher.Update(piece);
//   request.key = hasher.Key();
//
// Keeps no pieces and does not allocate (about 650 bytes, by value). For one thread at a time.
class PREFIXROUTE_EXPORT PrefixHasher {
 public:
  // Bytes beyond `max_prefix_bytes` are not read; give the router's own limit.
  explicit PrefixHasher(uint64_t max_prefix_bytes = kDefaultMaxPrefixBytes);

  // Adds one part of the scope: model, adapter, tenant, cache salt. Parts are kept apart, so ("a", "bc") is not
  // ("ab", "c"); one part equals Request::scope. An empty part adds nothing.
  void AddScope(std::string_view part);

  // Adds the next bytes of the prefix.
  void Update(std::string_view piece);

  // True when further bytes can't change the key.
  bool full() const { return room_ == 0; }

  // The key of all that was added so far; more may follow.
  PrefixKey Key() const;

 private:
  alignas(64) unsigned char state_[576];  // An XXH3_state_t, whose header stays inside the library.
  uint64_t scope_hash_ = 0;
  uint64_t room_;
  bool empty_ = true;
};

}  // namespace prefixroute

#endif  // PREFIXROUTE_PREFIX_KEY_H_
