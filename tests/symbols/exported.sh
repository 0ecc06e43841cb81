#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# exported.sh <nm> <shared library>: fails where it exports anything but what its public headers declare.
set -eu

# Without the nodes of the version script, and what says which node a symbol belongs to.
exported=$("$1" -DC --defined-only "$2" | grep -v ' A ' | sed 's/^[0-9a-f]* . //; s/@@.*//')
case ${2##*/} in
  libprefixroute_payload.so)
    wanted='prefixroute::PayloadReader::Read( prefixroute_payload_read$'
    allowed='^prefixroute::(PayloadReader::|PayloadFormName\()|^prefixroute_payload_[a-z_]+$'
    ;;
  *)
    wanted='prefixroute::Router::Acquire( prefixroute_acquire$'
    allowed='^((typeinfo|typeinfo name|vtable) for )?prefixroute::|^prefixroute_[a-z_]+$'
    ;;
esac
for expected in $wanted; do
  printf '%s\n' "$exported" | grep -q "^$expected" || {
    echo "$expected is not exported"
    exit 1
  }
done
stray=$(printf '%s\n' "$exported" | grep -Ev "$allowed" || true)
internal=$(printf '%s\n' "$exported" | grep -E '^([a-z ]* for )?prefixroute::internal::' || true)
if [ -n "$stray$internal" ]; then
  printf 'Exported, and should not be:\n%s\n%s\n' "$stray" "$internal"
  exit 1
fi
printf '%s\n' "$exported"
