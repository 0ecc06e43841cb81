// SPDX-License-Identifier: Apache-2.0

#include "src/rendezvous/scan.h"

namespace prefixroute::internal {

extern const ScanKernels kScanBaseline;
#ifdef __x86_64__
extern const ScanKernels kScanAvx2;
extern const ScanKernels kScanAvx512;
#endif

RunnableScans FindRunnableScans() {
  RunnableScans scans{{&kScanBaseline}, 1};
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) scans.kernels[scans.count++] = &kScanAvx2;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    scans.kernels[scans.count++] = &kScanAvx512;
  }
#endif
  return scans;
}

const ScanKernels& WidestScan() {
  const RunnableScans scans = FindRunnableScans();
  return *scans.kernels[scans.count - 1];
}

}  // namespace prefixroute::internal
