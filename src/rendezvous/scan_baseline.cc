// SPDX-License-Identifier: Apache-2.0

#define PREFIXROUTE_SCAN_KERNELS scan_baseline
#include "src/rendezvous/scan.inc"
