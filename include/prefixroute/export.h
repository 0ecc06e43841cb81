// SPDX-License-Identifier: Apache-2.0
//
// PREFIXROUTE_EXPORT marks what the shared library exports.

#ifndef PREFIXROUTE_EXPORT_H_
#define PREFIXROUTE_EXPORT_H_

#if defined(PREFIXROUTE_STATIC)
#define PREFIXROUTE_EXPORT
#elif defined(_WIN32)
#if defined(prefixroute_EXPORTS)
#define PREFIXROUTE_EXPORT __declspec(dllexport)
#else
#define PREFIXROUTE_EXPORT __declspec(dllimport)
#endif
#else
#define PREFIXROUTE_EXPORT __attribute__((visibility("default")))
#endif

#endif  // PREFIXROUTE_EXPORT_H_
