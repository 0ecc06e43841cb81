#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# payload_exports.sh <nm> <shared library>: fails where it exports anything but what payload.h and payload_c.h declare.
set -eu

# Without the nodes of the version script, and what says which node a symbol belongs to.
exported=$("$1" -DC --defined-only "$2" | grep -v ' A ' | sed 's/^[0-9a-f]* . //; s/@@.*//')
for expected in 'prefixroute::PayloadReader::Read(' 'prefixroute_payload_read$'; do
  printf '%s\n' "$exported" | grep -q "^$expected" || {
    echo "$expected is not exported"
    exit 1
  }
done
stray=$(printf '%s\n' "$exported" |
  grep -Ev '^prefixroute::(PayloadReader::|PayloadFormName\()|^prefixroute_payload_[a-z_]+$' || true)
if [ -n "$stray" ]; then
  printf 'Exported, and should not be:\n%s\n' "$stray"
  exit 1
fi
printf '%s\n' "$exported"
