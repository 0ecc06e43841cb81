// SPDX-License-Identifier: Apache-2.0

#include "src/rendezvous/scan.h"

namespace prefixroute::internal {

extern const ScanKernels kScanBaseline;
#ifdef __x86_64__
extern const ScanKernels kScanAvx2;
extern const ScanKernels kScanAvx512;

Runnable<ScanKernels> RunnableScans() { return RunnableOf(kScanBaseline, kScanAvx2, kScanAvx512); }
#else
Runnable<ScanKernels> RunnableScans() { return RunnableOf(kScanBaseline); }
#endif

}  // namespace prefixroute::internal
