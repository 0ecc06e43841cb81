// SPDX-License-Identifier: Apache-2.0

#define PREFIXROUTE_HASH_KERNELS kHashBaseline
#include "src/hash/kernels.inc"
