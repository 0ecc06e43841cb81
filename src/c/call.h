// SPDX-License-Identifier: Apache-2.0
//
// What the functions of c.h have in common: statuses, texts, sizes of structs, and no exception that leaves.

#ifndef PREFIXROUTE_SRC_C_CALL_H_
#define PREFIXROUTE_SRC_C_CALL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "prefixroute/c.h"
#include "prefixroute/router.h"

namespace prefixroute::c {

inline prefixroute_status Fail(prefixroute_error* error, prefixroute_status status, std::string_view text) {
  if (error != nullptr) {
    const size_t size = std::min(text.size(), sizeof(error->text) - 1);
    std::memcpy(error->text, text.data(), size);
    error->text[size] = '\0';
  }
  return status;
}

// Abseil's codes have gRPC's numbers, and so have ours.
inline prefixroute_status Fail(prefixroute_error* error, const absl::Status& status) {
  return Fail(error, status.raw_code(), std::string_view(status.message().data(), status.message().size()));
}

inline prefixroute_status Done(prefixroute_error* error, const absl::Status& status) {
  return status.ok() ? PREFIXROUTE_OK : Fail(error, status);
}

inline prefixroute_status Invalid(prefixroute_error* error, std::string_view text) {
  return Fail(error, PREFIXROUTE_INVALID_ARGUMENT, text);
}

template <typename Call>
prefixroute_status Guarded(prefixroute_error* error, Call call) noexcept {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Fail(error, PREFIXROUTE_OUT_OF_MEMORY, "out of memory");
  } catch (...) {
    return Fail(error, PREFIXROUTE_INTERNAL, "an exception that is not std::bad_alloc");
  }
}

// What goes wrong stays out of the way of what goes well.
#define PREFIXROUTE_COLD [[gnu::cold, gnu::noinline]] inline

PREFIXROUTE_COLD prefixroute_status IsNull(prefixroute_error* error, const char* name) {
  return Invalid(error, absl::StrCat(name, " is null"));
}
// Of pairs of a name and a pointer, in turn.
template <typename... Others>
prefixroute_status CheckNotNull(prefixroute_error* error, const char* name, const void* pointer, Others... others) {
  if (pointer == nullptr) return IsNull(error, name);
  if constexpr (sizeof...(others) != 0) {
    return CheckNotNull(error, others...);
  } else {
    return PREFIXROUTE_OK;
  }
}

PREFIXROUTE_COLD prefixroute_status IsNullOf(prefixroute_error* error, const char* name, size_t count) {
  return Invalid(error, absl::StrCat(name, " is null, but its size is ", count));
}
// Null where there is nothing is as good as any pointer.
inline prefixroute_status CheckMemory(prefixroute_error* error, const char* name, const void* memory, size_t count) {
  return memory != nullptr || count == 0 ? PREFIXROUTE_OK : IsNullOf(error, name, count);
}

PREFIXROUTE_COLD prefixroute_status CheckOtherSize(prefixroute_error* error, const char* name, uint32_t struct_size,
                                                   size_t known_size, size_t alignment) {
  if (struct_size >= known_size && struct_size % alignment == 0) return PREFIXROUTE_OK;
  return Invalid(error, absl::StrCat(name, ".struct_size is ", struct_size, ", not ", known_size,
                                     ", or more in steps of ", alignment));
}
// For a struct that the library writes.
template <typename Struct>
prefixroute_status CheckRoom(prefixroute_error* error, const char* name, const Struct& value) {
  if (value.struct_size == sizeof(Struct)) return PREFIXROUTE_OK;
  return CheckOtherSize(error, name, value.struct_size, sizeof(Struct), alignof(Struct));
}

PREFIXROUTE_COLD prefixroute_status CheckUnknownPart(prefixroute_error* error, const char* name, const void* value,
                                                     uint32_t struct_size, size_t known_size) {
  const auto* bytes = static_cast<const unsigned char*>(value);
  for (size_t i = known_size; i < struct_size; ++i) {
    if (bytes[i] != 0) {
      return Invalid(error, absl::StrCat(name, " has a field at byte ", i, " that this library, which knows ",
                                         known_size, " bytes, doesn't know"));
    }
  }
  return PREFIXROUTE_OK;
}
// For one that it reads: of what it doesn't know it must not be asked anything.
template <typename Struct>
prefixroute_status CheckStruct(prefixroute_error* error, const char* name, const Struct& value) {
  if (value.struct_size == sizeof(Struct)) return PREFIXROUTE_OK;
  const prefixroute_status status = CheckRoom(error, name, value);
  if (status != PREFIXROUTE_OK) return status;
  return CheckUnknownPart(error, name, &value, value.struct_size, sizeof(Struct));
}

// The elements of an array of a caller's structs, which may be longer than the library's.
template <typename Struct>
Struct& Element(Struct* array, size_t index) {
  return *reinterpret_cast<Struct*>(reinterpret_cast<unsigned char*>(array) + index * array[0].struct_size);
}
template <typename Struct>
const Struct& Element(const Struct* array, size_t index) {
  return *reinterpret_cast<const Struct*>(reinterpret_cast<const unsigned char*>(array) + index * array[0].struct_size);
}

inline prefixroute_status CheckCapacity(prefixroute_error* error, size_t capacity, size_t count) {
  if (count <= capacity) return PREFIXROUTE_OK;
  return Fail(error, PREFIXROUTE_BUFFER_TOO_SMALL, absl::StrCat("capacity is ", capacity, ", but there are ", count));
}

// Writes up to `capacity` of `count` elements, of which make(index) is one; `capacity` is 0 or the array checked.
template <typename Struct, typename Make>
prefixroute_status WriteList(prefixroute_error* error, Struct* array, size_t capacity, size_t count, size_t* out_count,
                             Make make) {
  for (size_t i = 0; i < std::min(capacity, count); ++i) {
    Struct element = make(i);
    element.struct_size = array[0].struct_size;
    std::memcpy(&Element(array, i), &element, sizeof(element));
  }
  if (out_count != nullptr) *out_count = count;
  return CheckCapacity(error, capacity, count);
}

inline Router& RouterOf(prefixroute_router* router) { return *reinterpret_cast<Router*>(router); }
inline const Router& RouterOf(const prefixroute_router* router) { return *reinterpret_cast<const Router*>(router); }

}  // namespace prefixroute::c

// Leaves the function with a status that is not PREFIXROUTE_OK.
#define PREFIXROUTE_RETURN_IF_BAD(expression)                                                     \
  if (const prefixroute_status status_of_call = (expression); status_of_call != PREFIXROUTE_OK) { \
    return status_of_call;                                                                        \
  }                                                                                               \
  static_assert(true)

#endif  // PREFIXROUTE_SRC_C_CALL_H_
