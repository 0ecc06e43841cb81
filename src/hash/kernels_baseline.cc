// SPDX-License-Identifier: Apache-2.0

#define PREFIXROUTE_HASH_KERNELS hash_baseline
#include "src/hash/kernels.inc"
