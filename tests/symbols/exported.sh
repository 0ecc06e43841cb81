#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# exported.sh <nm> <shared library>: fails where it exports anything that is neither the public part of prefixroute:: nor
# what c.h declares.
set -eu

# Without the nodes of the version script, and what says which node a symbol belongs to.
exported=$("$1" -DC --defined-only "$2" | grep -v ' A ' | sed 's/^[0-9a-f]* . //; s/@@.*//')
for expected in 'prefixroute::Router::Acquire(' 'prefixroute_acquire$'; do
  printf '%s\n' "$exported" | grep -q "^$expected" || {
    echo "$expected is not exported"
    exit 1
  }
done
stray=$(printf '%s\n' "$exported" | grep -Ev '^((typeinfo|typeinfo name|vtable) for )?prefixroute::|^prefixroute_[a-z_]+$' || true)
internal=$(printf '%s\n' "$exported" | grep -E '^([a-z ]* for )?prefixroute::internal::' || true)
if [ -n "$stray$internal" ]; then
  printf 'Exported, and should not be:\n%s\n%s\n' "$stray" "$internal"
  exit 1
fi
printf '%s\n' "$exported"
