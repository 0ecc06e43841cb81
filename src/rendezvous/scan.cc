// SPDX-License-Identifier: Apache-2.0

#include "src/rendezvous/scan.h"

namespace prefixroute::internal {

extern const ScanKernels scan_baseline;
#ifdef __x86_64__
extern const ScanKernels scan_avx2;
extern const ScanKernels scan_avx512;

Runnable<ScanKernels> RunnableScans() { return RunnableOf(scan_baseline, scan_avx2, scan_avx512); }
#else
Runnable<ScanKernels> RunnableScans() { return RunnableOf(scan_baseline); }
#endif

}  // namespace prefixroute::internal
