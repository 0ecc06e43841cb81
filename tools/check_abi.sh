#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check_abi.sh [--update]: fails where the C API of the shared library is not, to the binary, what cmake/abi/c_api.abi
# has recorded. With --update it shows the difference, and records what there is.
#
# A function may be added, and a field at the end of a struct that has struct_size; then record it. Whatever else
# changes breaks programs that are compiled already: raise PREFIXROUTE_ABI_VERSION in c.h, and the minor version.
set -euo pipefail
cd "$(dirname "$0")/.."

recorded=cmake/abi/c_api.abi
build=build/abi
tools/install_packages.sh abigail-tools python3

# The names of types are those that GCC gives them.
cmake -S . -B "$build" -G Ninja -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=Debug -DBUILD_SHARED_LIBS=ON \
  -DPREFIXROUTE_BUILD_TESTS=OFF -DPREFIXROUTE_BUILD_EXAMPLES=OFF -DPREFIXROUTE_BUILD_BENCHMARKS=OFF >/dev/null
cmake --build "$build" --target prefixroute >/dev/null
abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --type-id-style hash \
  --headers-dir include --drop-private-types "$build/libprefixroute.so" |
  python3 cmake/abi/prune.py >"$build/c_api.abi"

if [ ! -e "$recorded" ] || ! abidiff "$recorded" "$build/c_api.abi"; then
  if [ "${1:-}" != --update ]; then
    echo "check_abi.sh: the C API is not what $recorded has recorded" >&2
    exit 1
  fi
fi
if [ "${1:-}" = --update ]; then
  cp "$build/c_api.abi" "$recorded"
  echo "recorded in $recorded"
fi
