#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# forbidden.sh <library> <nm> [-D]: fails where the library calls what aborts, prints, throws or reads a clock.
set -eu

library=$1
shift
used=$("$@" -C --undefined-only "$library" | sed -n 's/^ *U //p' | sed 's/@.*//' | sort -u)
printf '%s\n' "$used" | grep -q '^operator new' || {
  echo "$library: no undefined symbols to look at"
  exit 1
}
ends='(abort|_?exit|quick_exit|__assert_fail)'
prints='(_*v?[a-z]*printf(_chk)?|f?puts|f?putc|putchar|fwrite|write|perror|v?syslog|std::(cout|cerr|clog)|stdout|stderr)'
# Whoever includes <iostream> has an ios_base::Init, and some of Abseil's headers do.
streams='std::(basic_[iof]|i?o?stringstream|ostream|istream|ios_base::[^I]).*'
throws='(__cxa_throw|absl::.*ThrowBadStatusOrAccess.*|absl::.*Crash.*)'
clocks='(time|clock|clock_gettime|gettimeofday|std::chrono::.*now\(\)|absl::.*Now\(\))'
found=$(printf '%s\n' "$used" | grep -Ex "$ends|$prints|$streams|$throws|$clocks" || true)
if [ -n "$found" ]; then
  printf '%s uses:\n%s\n' "$library" "$found"
  exit 1
fi
