// SPDX-License-Identifier: Apache-2.0

#include "src/hash/kernels.h"

#include <atomic>

namespace prefixroute::internal {

extern const HashKernels kHashBaseline;
#ifdef __x86_64__
extern const HashKernels kHashAvx2;
extern const HashKernels kHashAvx512;

Runnable<HashKernels> RunnableHashKernels() { return RunnableOf(kHashBaseline, kHashAvx2, kHashAvx512); }
#else
Runnable<HashKernels> RunnableHashKernels() { return RunnableOf(kHashBaseline); }
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
