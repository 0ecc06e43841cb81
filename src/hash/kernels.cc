// SPDX-License-Identifier: Apache-2.0

#include "src/hash/kernels.h"

#include <atomic>

namespace prefixroute::internal {

extern const HashKernels hash_baseline;
#ifdef __x86_64__
extern const HashKernels hash_avx2;
extern const HashKernels hash_avx512;

Runnable<HashKernels> RunnableHashKernels() { return RunnableOf(hash_baseline, hash_avx2, hash_avx512); }
#else
Runnable<HashKernels> RunnableHashKernels() { return RunnableOf(hash_baseline); }
#endif

const HashKernels& WidestHashKernels() {
  static std::atomic<const HashKernels*> widest{nullptr};
  const HashKernels* kernels = widest.load(std::memory_order_relaxed);
  if (kernels == nullptr) {
    kernels = &RunnableHashKernels().widest();
    widest.store(kernels, std::memory_order_relaxed);
  }
  return *kernels;
}

}  // namespace prefixroute::internal
