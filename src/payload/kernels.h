// SPDX-License-Identifier: Apache-2.0
//
// What steps over JSON and copies its text, 64 bytes at a time, for each width of vectors. For scan.h and
// prompt_writer.cc.
//
// All go from `at` towards `end`, the end of what is there, and read nothing at or beyond it.

#ifndef PREFIXROUTE_SRC_PAYLOAD_KERNELS_H_
#define PREFIXROUTE_SRC_PAYLOAD_KERNELS_H_

#include <stddef.h>
#include <stdint.h>

#include "src/base/runnable.h"

namespace prefixroute::internal {

// How a copy of text came to an end.
enum class TextStop : uint8_t {
  kClosed,     // `at` is behind the closing quote.
  kFull,       // No room is left.
  kLongRun,    // The last kLongRun bytes or more, from `run` to `at`, had no escape.
  kCut,        // The bytes have ended, or an escape isn't all there, at which `at` is.
  kMalformed,  // `at` is at an escape that JSON doesn't know.
};

struct TextCopy {
  const char* at;
  char* out;        // Behind what was written.
  const char* run;  // Where the bytes without an escape begin that come before `at`, and were copied by this call.
  TextStop stop;
};

struct ScanKernels {
  // From behind a string's opening quote to behind the closing one; null if that isn't there.
  const char* (*skip_string)(const char* at, const char* end);
  // From an opening bracket to behind the one that closes it, or another of as many: brackets are counted, not matched.
  // Null if that isn't there.
  const char* (*skip_container)(const char* at, const char* end);
  // The first quote or backslash; `end` if there is none.
  const char* (*find_text_end)(const char* at, const char* end);
  // Copies what a string says from `at`, within the string, to `out`, of which kCopySlack bytes behind `last_out` are
  // room too.
  TextCopy (*copy_text)(const char* at, const char* end, char* out, const char* last_out);
};

// From here on bytes without an escape are better hashed where they lie than copied.
constexpr ptrdiff_t kLongRun = 512;
// What copy_text() may write behind `last_out`.
constexpr ptrdiff_t kCopySlack = 128;

Runnable<ScanKernels> RunnableScanKernels();

// The widest of them. Found at the first call; by several threads alike.
const ScanKernels& WidestScanKernels();

}  // namespace prefixroute::internal

#endif  // PREFIXROUTE_SRC_PAYLOAD_KERNELS_H_
