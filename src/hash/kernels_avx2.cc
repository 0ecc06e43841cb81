// SPDX-License-Identifier: Apache-2.0

#define PREFIXROUTE_HASH_KERNELS hash_avx2
#include "src/hash/kernels.inc"
