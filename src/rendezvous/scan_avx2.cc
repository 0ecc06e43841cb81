// SPDX-License-Identifier: Apache-2.0

#define PREFIXROUTE_SCAN_KERNELS scan_avx2
#include "src/rendezvous/scan.inc"
