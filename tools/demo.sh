#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Shows what the router is worth: installs what is missing, builds, replays traffic, prints the table; then sends real
# requests through the gateway to small engines. The traffic is generated; where PREFIXROUTE_TRACES names a folder of
# traces (benchmarks/replay), those are replayed too.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/install_packages.sh python3

echo "Building prefixroute_replay in build/demo ..."
cmake -S . -B build/demo -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DPREFIXROUTE_BUILD_TESTS=OFF -DPREFIXROUTE_BUILD_PAYLOAD=ON >/dev/null
cmake --build build/demo --target prefixroute_replay >/dev/null
replay=build/demo/benchmarks/replay/prefixroute_replay

echo "Sending generated traffic through the router to seven simulated engines ..."
echo
"$replay" --instances=7 --rules=random,least_outstanding,prefix_aware

if [ -n "${PREFIXROUTE_TRACES:-}" ]; then
  shopt -s nullglob
  traces=("$PREFIXROUTE_TRACES"/*.jsonl "$PREFIXROUTE_TRACES"/*.jsonl.gz)
  if [ ${#traces[@]} -eq 0 ]; then
    echo "PREFIXROUTE_TRACES: no *.jsonl or *.jsonl.gz in $PREFIXROUTE_TRACES" >&2
    exit 1
  fi
  echo
  "$replay" --speed=5 --rules=random,least_outstanding,strict,prefix_aware --max_prefix_tokens=512,1024 "${traces[@]}"
fi

echo
echo "Building the gateway, a small engine and a load generator ..."
cmake --build build/demo --target prefixroute_gateway example_engine prefixroute_http_load >/dev/null
echo
benchmarks/http/gateway_demo.py build/demo

echo
echo "More: $replay --help; docs/gateway.md"
