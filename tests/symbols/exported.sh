#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# exported.sh <nm> <shared library>: fails where it exports anything that isn't the public part of prefixroute::.
set -eu

exported=$("$1" -DC --defined-only "$2" | sed 's/^[0-9a-f]* . //')
printf '%s\n' "$exported" | grep -q '^prefixroute::Router::Acquire(' || {
  echo "prefixroute::Router::Acquire is not exported"
  exit 1
}
stray=$(printf '%s\n' "$exported" | grep -Ev '^((typeinfo|typeinfo name|vtable) for )?prefixroute::' || true)
internal=$(printf '%s\n' "$exported" | grep -E '^([a-z ]* for )?prefixroute::internal::' || true)
if [ -n "$stray$internal" ]; then
  printf 'Exported, and should not be:\n%s\n%s\n' "$stray" "$internal"
  exit 1
fi
printf '%s\n' "$exported"
