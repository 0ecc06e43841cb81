// SPDX-License-Identifier: Apache-2.0

#include "src/hash/kernels.h"

#include <atomic>

namespace prefixroute::internal {

extern const HashKernels kHashBaseline;
#ifdef __x86_64__
extern const HashKernels kHashAvx2;
extern const HashKernels kHashAvx512;
#endif

RunnableHashKernels FindRunnableHashKernels() {
  RunnableHashKernels runnable{{&kHashBaseline}, 1};
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) runnable.kernels[runnable.count++] = &kHashAvx2;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    runnable.kernels[runnable.count++] = &kHashAvx512;
  }
#endif
  return runnable;
}

const HashKernels& WidestHashKernels() {
  static std::atomic<const HashKernels*> widest{nullptr};
  const HashKernels* kernels = widest.load(std::memory_order_relaxed);
  if (kernels == nullptr) {
    const RunnableHashKernels runnable = FindRunnableHashKernels();
    kernels = runnable.kernels[runnable.count - 1];
    widest.store(kernels, std::memory_order_relaxed);
  }
  return *kernels;
}

}  // namespace prefixroute::internal
