// SPDX-License-Identifier: Apache-2.0

#include "src/c/keys.h"

#include <cstdint>
#include <string_view>

#include "prefixroute/rendezvous.h"
#include "src/c/call.h"

using prefixroute::PrefixHasher;
using prefixroute::PrefixKey;
using prefixroute::c::IsKey;
using prefixroute::c::KeyOf;
using prefixroute::c::WriteKey;

namespace {

// The first word says that a hasher is here; the hasher comes at the first address that is aligned as it must be.
constexpr size_t kAlignment = alignof(PrefixHasher);
static_assert(sizeof(uint64_t) + (kAlignment - sizeof(uint64_t)) + sizeof(PrefixHasher) <= sizeof(prefixroute_hasher));
static_assert(std::is_trivially_destructible_v<PrefixHasher>);

uint64_t MarkOf(const prefixroute_hasher* hasher) {
  return prefixroute::MixBits(reinterpret_cast<uintptr_t>(hasher)) | 1;
}

bool IsAligned(const prefixroute_hasher* hasher) {
  return hasher != nullptr && reinterpret_cast<uintptr_t>(hasher) % alignof(prefixroute_hasher) == 0;
}

bool IsHasher(const prefixroute_hasher* hasher) { return IsAligned(hasher) && hasher->opaque[0] == MarkOf(hasher); }

size_t OffsetOf(const prefixroute_hasher* hasher) {
  const auto after_mark = reinterpret_cast<uintptr_t>(&hasher->opaque[1]);
  return sizeof(uint64_t) + (kAlignment - after_mark % kAlignment) % kAlignment;
}

void* PlaceOf(prefixroute_hasher* hasher) { return reinterpret_cast<unsigned char*>(hasher) + OffsetOf(hasher); }
PrefixHasher& HasherOf(prefixroute_hasher* hasher) {
  return *std::launder(static_cast<PrefixHasher*>(PlaceOf(hasher)));
}
const PrefixHasher& HasherOf(const prefixroute_hasher* hasher) {
  return HasherOf(const_cast<prefixroute_hasher*>(hasher));
}

bool IsMemory(const void* bytes, size_t size) { return bytes != nullptr || size == 0; }
std::string_view View(const void* bytes, size_t size) { return {static_cast<const char*>(bytes), size}; }

}  // namespace

extern "C" {

prefixroute_status prefixroute_key_make(const void* prefix, size_t prefix_size, const void* scope, size_t scope_size,
                                        uint64_t max_prefix_bytes, prefixroute_key* key) noexcept {
  if (key == nullptr || !IsMemory(prefix, prefix_size) || !IsMemory(scope, scope_size)) {
    return PREFIXROUTE_INVALID_ARGUMENT;
  }
  WriteKey(prefixroute::MakePrefixKey(View(prefix, prefix_size), View(scope, scope_size), max_prefix_bytes), key);
  return PREFIXROUTE_OK;
}

prefixroute_status prefixroute_key_from_hash(uint64_t hash, uint64_t bytes, prefixroute_key* key) noexcept {
  if (key == nullptr) return PREFIXROUTE_INVALID_ARGUMENT;
  WriteKey(PrefixKey::FromHash(hash, bytes), key);
  return PREFIXROUTE_OK;
}

uint64_t prefixroute_key_value(const prefixroute_key* key) noexcept {
  return key != nullptr && IsKey(*key) ? KeyOf(*key).value() : 0;
}

uint64_t prefixroute_key_bytes(const prefixroute_key* key) noexcept {
  return key != nullptr && IsKey(*key) ? KeyOf(*key).bytes() : 0;
}

prefixroute_status prefixroute_hasher_init(prefixroute_hasher* hasher, uint64_t max_prefix_bytes) noexcept {
  if (!IsAligned(hasher)) return PREFIXROUTE_INVALID_ARGUMENT;
  hasher->opaque[0] = MarkOf(hasher);
  new (PlaceOf(hasher)) PrefixHasher(max_prefix_bytes);
  return PREFIXROUTE_OK;
}

prefixroute_status prefixroute_hasher_add_scope(prefixroute_hasher* hasher, const void* part, size_t size) noexcept {
  if (!IsHasher(hasher) || !IsMemory(part, size)) return PREFIXROUTE_INVALID_ARGUMENT;
  HasherOf(hasher).AddScope(View(part, size));
  return PREFIXROUTE_OK;
}

prefixroute_status prefixroute_hasher_update(prefixroute_hasher* hasher, const void* piece, size_t size) noexcept {
  if (!IsHasher(hasher) || !IsMemory(piece, size)) return PREFIXROUTE_INVALID_ARGUMENT;
  HasherOf(hasher).Update(View(piece, size));
  return PREFIXROUTE_OK;
}

prefixroute_status prefixroute_hasher_key(const prefixroute_hasher* hasher, prefixroute_key* key) noexcept {
  if (!IsHasher(hasher) || key == nullptr) return PREFIXROUTE_INVALID_ARGUMENT;
  WriteKey(HasherOf(hasher).Key(), key);
  return PREFIXROUTE_OK;
}

int32_t prefixroute_hasher_full(const prefixroute_hasher* hasher) noexcept {
  return IsHasher(hasher) && HasherOf(hasher).full() ? 1 : 0;
}

}  // extern "C"
