// SPDX-License-Identifier: Apache-2.0
//
// The key of a prompt prefix: what the router looks at instead of the bytes. A Router makes it by itself from
// Request::prefix; use this file when the prompt arrives in pieces (a chunked body, a buffer chain), or when the host
// has a hash of the prefix already.

#ifndef PREFIXROUTE_PREFIX_KEY_H_
#define PREFIXROUTE_PREFIX_KEY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "prefixroute/export.h"

namespace prefixroute {

namespace internal {
class PrefixKeyBuilder;
}

// How many bytes of a prompt count by default: a coding agent's prompt has 400 kB in the median.
inline constexpr uint64_t kDefaultMaxPrefixBytes = uint64_t{1} << 20;
inline constexpr uint64_t kMaxMaxPrefixBytes = uint64_t{1} << 24;

// A key has a fingerprint of the prefix's first kPrefixDepths[0] bytes, of its first kPrefixDepths[1], and so on to its
// end: every 64 bytes at first, then each depth about 1.25 times the one before, in whole steps of 64. So whatever two
// prompts share is found to within some 64 bytes or a fifth of its length, at any scale; 40 depths lie within 1 MiB.
inline constexpr size_t kMaxPrefixDepths = 52;
inline constexpr auto kPrefixDepths = [] {
  std::array<uint64_t, kMaxPrefixDepths> depths{};
  uint64_t depth = 64;
  for (uint64_t& each : depths) {
    each = depth;
    const uint64_t step = depth / 4 < 64 ? 64 : (depth / 4 + 63) / 64 * 64;
    depth += step;
  }
  return depths;
}();

// The key of one prefix within one scope. A value; the same on every machine and build, and in every later release
// of the same minor version.
class PREFIXROUTE_EXPORT PrefixKey {
 public:
  // The empty key: that of an empty prefix, which has no home.
  PrefixKey() {}  // NOLINT(modernize-use-equals-default): what was not written is not read.

  // A key from a hash that the host has already, which must cover the prefix and the scope, and use all 64 bits
  // well (0 counts as 1). It is found again as a whole, or not at all. `bytes` is the prefix's length, from 1 to
  // kMaxMaxPrefixBytes (the nearer of them, if not), by which its work is weighed against that of other requests.
  static PrefixKey FromHash(uint64_t hash, uint64_t bytes = 4096);

  bool empty() const { return depth_count_ == 0; }
  // A hash of the whole prefix, and how many bytes that is.
  uint64_t value() const { return value_; }
  uint64_t bytes() const { return bytes_; }

  // The depths that lie within the prefix, and the fingerprint of all bytes to there. A prefix shorter than the
  // first depth has one, its value.
  size_t depth_count() const { return depth_count_; }
  uint64_t depth(size_t index) const { return whole_ ? bytes_ : kPrefixDepths[index]; }
  uint64_t fingerprint(size_t index) const { return fingerprints_[index]; }

  friend bool operator==(const PrefixKey& a, const PrefixKey& b) {
    return a.value_ == b.value_ && a.bytes_ == b.bytes_;
  }
  friend bool operator!=(const PrefixKey& a, const PrefixKey& b) { return !(a == b); }

 private:
  friend class internal::PrefixKeyBuilder;

  uint64_t value_ = 0;
  uint64_t bytes_ = 0;
  uint32_t depth_count_ = 0;
  bool whole_ = false;  // The one fingerprint is the value.
  std::array<uint64_t, kMaxPrefixDepths> fingerprints_;
};

// The key of the first `max_prefix_bytes` (at most kMaxMaxPrefixBytes; give the router's RouterOptions::key_bytes()) of
// `prefix`, any bytes at all, within `scope`.
// Each byte is hashed once: with MixBits of rendezvous.h, and xxHash's 64-bit XXH3 with seed 0,
//
//   F(0) = 0,  F(d) = MixBits(F(d-1) ^ XXH3_64(bytes from depth d-1 to depth d))
//   S = 0                                         without a scope,
//   S = MixBits(S' ^ XXH3_64(part)) + 1           for each part of the scope in turn, S' being the S before it,
//   fingerprint(d) = F(d) ^ S
//   value = MixBits(F(last) ^ XXH3_64(the bytes after it)) ^ S, or fingerprint(last) where there are none.
//
// where 0 counts as 1 for both. Not cryptographic: whoever chooses prompts can make two with one key, or displace what
// is remembered of others' prompts; it costs cache hits, and nothing else. O(min(prefix.size(), max_prefix_bytes)).
// Does not allocate.
PREFIXROUTE_EXPORT PrefixKey MakePrefixKey(std::string_view prefix, std::string_view scope = {},
                                           uint64_t max_prefix_bytes = kDefaultMaxPrefixBytes);

// Makes the same key from pieces: however the prefix is cut, Key() equals MakePrefixKey() of the whole.
//
//   PrefixHasher hasher;
//   hasher.AddScope(model);
//   for (std::string_view piece : body) hasher.Update(piece);
//   const PrefixKey key = hasher.Key();
//   request.key = &key;
//
// Keeps no pieces and does not allocate (about 1 KiB, by value). For one thread at a time.
class PREFIXROUTE_EXPORT PrefixHasher {
 public:
  // Bytes beyond `max_prefix_bytes` are not read; give the router's RouterOptions::key_bytes().
  explicit PrefixHasher(uint64_t max_prefix_bytes = kDefaultMaxPrefixBytes);

  // Adds one part of the scope: model, adapter, tenant, cache salt. Parts are kept apart, so ("a", "bc") is not
  // ("ab", "c"); one part equals Request::scope. An empty part adds nothing.
  void AddScope(std::string_view part);

  // Adds the next bytes of the prefix.
  void Update(std::string_view piece);

  // True when further bytes can't change the key.
  bool full() const { return bytes_ == max_prefix_bytes_; }

  // The key of all that was added so far; more may follow.
  PrefixKey Key() const;

 private:
  alignas(64) unsigned char state_[576];  // An XXH3_state_t, whose header stays inside the library.
  std::array<uint64_t, kMaxPrefixDepths> chain_;
  size_t depth_count_ = 0;
  uint64_t scope_hash_ = 0;
  uint64_t max_prefix_bytes_;
  uint64_t bytes_ = 0;
};

}  // namespace prefixroute

#endif  // PREFIXROUTE_PREFIX_KEY_H_
