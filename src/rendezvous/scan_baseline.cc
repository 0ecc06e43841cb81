// SPDX-License-Identifier: Apache-2.0

#define PREFIXROUTE_SCAN_KERNELS kScanBaseline
#include "src/rendezvous/scan.inc"
