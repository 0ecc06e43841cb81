// SPDX-License-Identifier: Apache-2.0

#define PREFIXROUTE_SCAN_KERNELS scan_json_avx2
#include "src/payload/kernels.inc"
