// SPDX-License-Identifier: Apache-2.0

#define PREFIXROUTE_HASH_KERNELS kHashAvx2
#include "src/hash/kernels.inc"
