// SPDX-License-Identifier: Apache-2.0

#define PREFIXROUTE_HASH_SEGMENTS HashSegmentsAvx2
#include "src/hash/hash_segments.inc"
