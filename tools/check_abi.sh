#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check_abi.sh [--update]: fails where the C APIs of the shared libraries are not, to the binary, what cmake/abi has
# recorded. With --update it shows the difference, and records what there is.
#
# A function may be added, and a field at the end of a struct that has struct_size; then record it. Whatever else
# changes breaks programs that are compiled already: raise PREFIXROUTE_ABI_VERSION in c.h, and the minor version.
set -euo pipefail
cd "$(dirname "$0")/.."

build=build/abi
tools/install_packages.sh abigail-tools python3

# The names of types are those that GCC gives them.
cmake -S . -B "$build" -G Ninja -DCMAKE_CXX_COMPILER=g++ -DCMAKE_BUILD_TYPE=Debug -DBUILD_SHARED_LIBS=ON \
  -DPREFIXROUTE_BUILD_PAYLOAD=ON -DPREFIXROUTE_BUILD_TESTS=OFF -DPREFIXROUTE_BUILD_EXAMPLES=OFF \
  -DPREFIXROUTE_BUILD_BENCHMARKS=OFF >/dev/null
cmake --build "$build" --target prefixroute prefixroute_payload >/dev/null

failed=0
for library in prefixroute prefixroute_payload; do
  recorded=cmake/abi/$library.abi
  found=$build/$library.abi
  abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --type-id-style hash \
    --headers-dir include --drop-private-types "$build/lib$library.so" |
    python3 cmake/abi/prune.py >"$found"
  if [ "${1:-}" = --update ]; then
    [ ! -e "$recorded" ] || abidiff "$recorded" "$found" || true
    cp "$found" "$recorded"
    echo "recorded in $recorded"
  elif [ ! -e "$recorded" ] || ! abidiff "$recorded" "$found"; then
    echo "check_abi.sh: the C API of lib$library.so is not what $recorded has recorded" >&2
    failed=1
  fi
done
exit "$failed"
