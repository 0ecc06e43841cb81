// SPDX-License-Identifier: Apache-2.0

#include "prefixroute/prefix_key.h"

#include <algorithm>
#include <new>

#include "prefixroute/rendezvous.h"
#include "src/hash/hash.h"
#include "src/hash/xxh3.h"

namespace prefixroute {
namespace internal {

class PrefixKeyBuilder {
 public:
  static uint64_t NotZero(uint64_t value) { return value == 0 ? 1 : value; }

  static void SetWhole(PrefixKey& key, uint64_t value, uint64_t bytes) {
    key.value_ = NotZero(value);
    key.bytes_ = bytes;
    key.depth_count_ = 1;
    key.whole_ = true;
    key.fingerprints_[0] = key.value_;
  }

  // `chain` has F(d) of every depth; `end` is what the key's value is made of.
  static void Set(PrefixKey& key, const uint64_t* chain, size_t depth_count, uint64_t end, uint64_t bytes,
                  uint64_t scope_hash) {
    if (depth_count == 0) return SetWhole(key, end ^ scope_hash, bytes);
    key.value_ = NotZero(end ^ scope_hash);
    key.bytes_ = bytes;
    key.depth_count_ = static_cast<uint32_t>(depth_count);
    for (size_t i = 0; i < depth_count; ++i) key.fingerprints_[i] = NotZero(chain[i] ^ scope_hash);
  }

  static void Fill(PrefixKey& key, std::string_view prefix, uint64_t scope_hash) {
    uint64_t value;
    const size_t depth_count =
        WidestHashKernels().hash_prefix(prefix.data(), prefix.size(), scope_hash, kPrefixDepths.data(),
                                        kMaxPrefixDepths, key.fingerprints_.data(), &value);
    if (depth_count == 0) return SetWhole(key, value, prefix.size());
    key.value_ = value;
    key.bytes_ = prefix.size();
    key.depth_count_ = static_cast<uint32_t>(depth_count);
    key.whole_ = false;
  }

  static void Clear(PrefixKey& key) {
    key.value_ = 0;
    key.bytes_ = 0;
    key.depth_count_ = 0;
    key.whole_ = false;
  }
};

}  // namespace internal

namespace {

using internal::PrefixKeyBuilder;

// Chained, so that parts are kept apart; the one added keeps a part apart from none. A part is short, and hashed
// sooner than the widest vectors are called.
uint64_t AddToScopeHash(uint64_t scope_hash, std::string_view part) {
  return part.empty() ? scope_hash : MixBits(scope_hash ^ XXH3_64bits(part.data(), part.size())) + 1;
}

XXH3_state_t* State(unsigned char* memory) { return std::launder(reinterpret_cast<XXH3_state_t*>(memory)); }
const XXH3_state_t* State(const unsigned char* memory) {
  return std::launder(reinterpret_cast<const XXH3_state_t*>(memory));
}

}  // namespace

PrefixKey PrefixKey::FromHash(uint64_t hash, uint64_t bytes) {
  PrefixKey key;
  PrefixKeyBuilder::SetWhole(key, hash, std::clamp<uint64_t>(bytes, 1, kMaxMaxPrefixBytes));
  return key;
}

void internal::FillPrefixKey(std::string_view prefix, std::string_view scope, uint64_t max_prefix_bytes,
                             PrefixKey& key) {
  prefix = prefix.substr(0, std::min(max_prefix_bytes, kMaxMaxPrefixBytes));
  if (prefix.empty()) return PrefixKeyBuilder::Clear(key);
  PrefixKeyBuilder::Fill(key, prefix, AddToScopeHash(0, scope));
}

PrefixKey MakePrefixKey(std::string_view prefix, std::string_view scope, uint64_t max_prefix_bytes) {
  PrefixKey key;
  internal::FillPrefixKey(prefix, scope, max_prefix_bytes, key);
  return key;
}

PrefixHasher::PrefixHasher(uint64_t max_prefix_bytes)
    : max_prefix_bytes_(std::min(max_prefix_bytes, kMaxMaxPrefixBytes)) {
  static_assert(sizeof(XXH3_state_t) <= sizeof(state_));
  static_assert(alignof(XXH3_state_t) <= 64);
  XXH3_64bits_reset(new (state_) XXH3_state_t);
}

void PrefixHasher::AddScope(std::string_view part) { scope_hash_ = AddToScopeHash(scope_hash_, part); }

void PrefixHasher::Update(std::string_view piece) {
  piece = piece.substr(0, max_prefix_bytes_ - bytes_);
  while (!piece.empty()) {
    const uint64_t begin = depth_count_ == 0 ? 0 : kPrefixDepths[depth_count_ - 1];
    const uint64_t depth = depth_count_ == kMaxPrefixDepths ? UINT64_MAX : kPrefixDepths[depth_count_];
    const std::string_view part = piece.substr(0, depth - bytes_);
    piece.remove_prefix(part.size());
    const bool ends = bytes_ + part.size() == depth;
    uint64_t hash;
    if (ends && bytes_ == begin) {
      hash = internal::HashBytes(part);  // A segment in one piece takes no detour.
    } else {
      internal::WidestHashKernels().update(State(state_), part.data(), part.size());
      if (ends) {
        hash = internal::WidestHashKernels().digest(State(state_));
        XXH3_64bits_reset(State(state_));
      }
    }
    if (ends) {
      chain_[depth_count_] = MixBits((depth_count_ == 0 ? 0 : chain_[depth_count_ - 1]) ^ hash);
      ++depth_count_;
    }
    bytes_ += part.size();
  }
}

PrefixKey PrefixHasher::Key() const {
  PrefixKey key;
  if (bytes_ == 0) return key;
  uint64_t end = depth_count_ == 0 ? 0 : chain_[depth_count_ - 1];
  const uint64_t begin = depth_count_ == 0 ? 0 : kPrefixDepths[depth_count_ - 1];
  if (begin < bytes_) end = MixBits(end ^ internal::WidestHashKernels().digest(State(state_)));
  PrefixKeyBuilder::Set(key, chain_.data(), depth_count_, end, bytes_, scope_hash_);
  return key;
}

}  // namespace prefixroute
