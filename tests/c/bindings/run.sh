#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# run.sh <shared library> <command> <argument>...: runs the command; skips, with 77, where the library or the command is
# missing.
set -eu

library=$1
shift
if [ ! -e "$library" ]; then
  echo "skipped: no shared library at $library"
  exit 77
fi
if ! command -v "$1" >/dev/null; then
  echo "skipped: no $1 here"
  exit 77
fi
exec "$@"
