// SPDX-License-Identifier: Apache-2.0
//
// The version of these headers. CMakeLists.txt reads it from here.

#ifndef PREFIXROUTE_VERSION_H_
#define PREFIXROUTE_VERSION_H_

#define PREFIXROUTE_VERSION_MAJOR 0
#define PREFIXROUTE_VERSION_MINOR 1
#define PREFIXROUTE_VERSION_PATCH 0

#endif  // PREFIXROUTE_VERSION_H_
