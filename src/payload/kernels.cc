// SPDX-License-Identifier: Apache-2.0

#include "src/payload/kernels.h"

#include <atomic>

namespace prefixroute::internal {

extern const ScanKernels scan_json_baseline;
#ifdef __x86_64__
extern const ScanKernels scan_json_avx2;
extern const ScanKernels scan_json_avx512;

Runnable<ScanKernels> RunnableScanKernels() {
  // Bytes are compared by AVX-512BW, which RunnableOf() doesn't ask for.
  __builtin_cpu_init();
  return RunnableOf(scan_json_baseline, scan_json_avx2,
                    __builtin_cpu_supports("avx512bw") ? scan_json_avx512 : scan_json_avx2);
}
#else
Runnable<ScanKernels> RunnableScanKernels() { return RunnableOf(scan_json_baseline); }
#endif

const ScanKernels& WidestScanKernels() {
  static std::atomic<const ScanKernels*> widest{nullptr};
  const ScanKernels* kernels = widest.load(std::memory_order_relaxed);
  if (kernels == nullptr) {
    kernels = &RunnableScanKernels().widest();
    widest.store(kernels, std::memory_order_relaxed);
  }
  return *kernels;
}

}  // namespace prefixroute::internal
