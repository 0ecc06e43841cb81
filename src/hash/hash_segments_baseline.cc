// SPDX-License-Identifier: Apache-2.0

#define PREFIXROUTE_HASH_SEGMENTS HashSegmentsBaseline
#include "src/hash/hash_segments.inc"
