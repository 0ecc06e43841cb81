// SPDX-License-Identifier: Apache-2.0

#define PREFIXROUTE_HASH_KERNELS hash_avx512
#include "src/hash/kernels.inc"
