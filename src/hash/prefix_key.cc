// SPDX-License-Identifier: Apache-2.0

#include "prefixroute/prefix_key.h"

#include <algorithm>
#include <new>

#include "prefixroute/rendezvous.h"
#include "src/hash/hash.h"
#include "src/hash/xxh3.h"

namespace prefixroute {
namespace {

// Chained, so that parts are kept apart; the one added keeps a part apart from none.
uint64_t AddToScopeHash(uint64_t scope_hash, std::string_view part) {
  return part.empty() ? scope_hash : MixBits(scope_hash ^ internal::HashBytes(part)) + 1;
}

PrefixKey KeyOf(uint64_t prefix_hash, uint64_t scope_hash) {
  return PrefixKey::FromHash(MixBits(prefix_hash ^ scope_hash));
}

XXH3_state_t* State(unsigned char* memory) { return std::launder(reinterpret_cast<XXH3_state_t*>(memory)); }
const XXH3_state_t* State(const unsigned char* memory) {
  return std::launder(reinterpret_cast<const XXH3_state_t*>(memory));
}

}  // namespace

PrefixKey MakePrefixKey(std::string_view prefix, std::string_view scope, uint64_t max_prefix_bytes) {
  prefix = prefix.substr(0, max_prefix_bytes);
  if (prefix.empty()) return PrefixKey();
  return KeyOf(internal::HashBytes(prefix), AddToScopeHash(0, scope));
}

PrefixHasher::PrefixHasher(uint64_t max_prefix_bytes) : room_(max_prefix_bytes) {
  static_assert(sizeof(XXH3_state_t) <= sizeof(state_));
  static_assert(alignof(XXH3_state_t) <= 64);
  XXH3_64bits_reset(new (state_) XXH3_state_t);
}

void PrefixHasher::AddScope(std::string_view part) { scope_hash_ = AddToScopeHash(scope_hash_, part); }

void PrefixHasher::Update(std::string_view piece) {
  piece = piece.substr(0, room_);
  if (piece.empty()) return;
  room_ -= piece.size();
  empty_ = false;
  XXH3_64bits_update(State(state_), piece.data(), piece.size());
}

PrefixKey PrefixHasher::Key() const {
  if (empty_) return PrefixKey();
  return KeyOf(XXH3_64bits_digest(State(state_)), scope_hash_);
}

}  // namespace prefixroute
