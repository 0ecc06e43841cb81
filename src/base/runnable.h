// SPDX-License-Identifier: Apache-2.0
//
// Which of the same kernels, compiled once for each width of vectors, this machine can run: the one place that asks the
// processor. CMakeLists.txt has the flags that go with each width. -DPREFIXROUTE_WITHOUT_AVX512 leaves the widest
// alone, as a processor without it does, so that one machine can measure both.

#ifndef PREFIXROUTE_SRC_BASE_RUNNABLE_H_
#define PREFIXROUTE_SRC_BASE_RUNNABLE_H_

#include <cstddef>

namespace prefixroute::internal {

// The narrowest first.
template <typename Kernels>
struct Runnable {
  const Kernels* kernels[3];
  size_t count;

  const Kernels& widest() const { return *kernels[count - 1]; }
};

// May be called before main(), and by several threads.
template <typename Kernels>
Runnable<Kernels> RunnableOf(const Kernels& baseline
#ifdef __x86_64__
                             ,
                             const Kernels& avx2, const Kernels& avx512
#endif
) {
  Runnable<Kernels> runnable{{&baseline}, 1};
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) runnable.kernels[runnable.count++] = &avx2;
#ifdef PREFIXROUTE_WITHOUT_AVX512
  static_cast<void>(avx512);
#else
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    runnable.kernels[runnable.count++] = &avx512;
  }
#endif
#endif
  return runnable;
}

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_BASE_RUNNABLE_H_
