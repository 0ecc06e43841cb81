// SPDX-License-Identifier: Apache-2.0
//
// Takes the place of the program's operator new, to count.

#include "benchmarks/micro/allocations.h"

#include <cstdlib>
#include <new>

namespace {

thread_local uint64_t allocations = 0;

void* Allocate(size_t bytes, size_t alignment) {
  ++allocations;
  void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return Allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(size_t bytes, std::align_val_t alignment) { return Allocate(bytes, static_cast<size_t>(alignment)); }
// AddressSanitizer brings a nothrow one of its own, whose memory our delete would not be for.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  return Allocate(bytes, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace prefixroute {

uint64_t Allocations() { return allocations; }

}  // namespace prefixroute
