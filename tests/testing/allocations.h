// SPDX-License-Identifier: Apache-2.0
//
// Counts what a program takes from the heap and gives back, by whatever way: new, malloc, a library. Include it in one
// source of a program, for it defines malloc.

#ifndef PREFIXROUTE_TESTS_TESTING_ALLOCATIONS_H_
#define PREFIXROUTE_TESTS_TESTING_ALLOCATIONS_H_

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "tests/testing/scale.h"

namespace prefixroute::test {

inline std::atomic<uint64_t> blocks_taken{0};
inline std::atomic<uint64_t> blocks_returned{0};
inline std::atomic<uint64_t> bytes_taken{0};

inline void CountTaken(size_t bytes) {
  blocks_taken.fetch_add(1, std::memory_order_relaxed);
  bytes_taken.fetch_add(bytes, std::memory_order_relaxed);
}
inline void CountReturned() { blocks_returned.fetch_add(1, std::memory_order_relaxed); }

// How often `action` takes or returns memory. No other thread may run meanwhile.
template <typename Action>
uint64_t HeapCallsOf(Action action) {
  const uint64_t before = blocks_taken + blocks_returned;
  action();
  return blocks_taken + blocks_returned - before;
}

inline uint64_t LiveBlocks() { return blocks_taken - blocks_returned; }

}  // namespace prefixroute::test

#if PREFIXROUTE_TEST_SANITIZED

// The sanitizer's own malloc stays, and tells. GCC has this in its libraries, but the header is Clang's alone.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void*, size_t),
                                                         void (*free_hook)(const volatile void*));
inline const int hooks_installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void*, size_t bytes) { prefixroute::test::CountTaken(bytes); },
    [](const volatile void*) { prefixroute::test::CountReturned(); });

#else

// glibc's own, by the names under which it can be called from a malloc that takes its place. operator new goes through
// malloc and aligned_alloc.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* memory, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void* memory);

void* malloc(size_t bytes) {
  prefixroute::test::CountTaken(bytes);
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  prefixroute::test::CountTaken(count * bytes);
  return __libc_calloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  if (memory != nullptr) prefixroute::test::CountReturned();
  if (memory == nullptr || bytes != 0) prefixroute::test::CountTaken(bytes);
  return __libc_realloc(memory, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  prefixroute::test::CountTaken(bytes);
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  *memory = memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  if (memory != nullptr) prefixroute::test::CountReturned();
  __libc_free(memory);
}
}

#endif  // PREFIXROUTE_TEST_SANITIZED

#endif  // PREFIXROUTE_TESTS_TESTING_ALLOCATIONS_H_
