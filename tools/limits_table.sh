#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The table of docs/strict_mode.md, in Markdown: a row a trace, a column a prefix limit in tokens. Each cell is the hit rate,
# and in brackets the busiest instance against the mean.
#
#   tools/limits_table.sh build/demo/benchmarks/replay/prefixroute_replay --speed=5 16,128,1024 traces/*.jsonl.gz
set -euo pipefail

usage() {
  echo "usage: limits_table.sh <prefixroute_replay> [--flag=value ...] <limits> <trace> ..." >&2
  exit 2
}
[ $# -ge 3 ] || usage
replay=$1
shift
flags=()
while [[ "${1:-}" == --* ]]; do
  flags+=("$1")
  shift
done
[ $# -ge 2 ] || usage
limits=$1
shift

IFS=, read -ra columns <<<"$limits"
printf '| trace | ceiling | RANDOM |'
printf ' %s |' "${columns[@]}"
printf '\n| --- | --- | --- |'
printf ' --- |%.0s' "${columns[@]}"
printf '\n'
for trace in "$@"; do
  "$replay" "${flags[@]}" --rules=random,strict --max_prefix_tokens="$limits" "$trace" |
    awk -v name="$(basename "$trace" | sed 's/\.jsonl.*//')" '
      / would hit / { for (i = 1; i < NF; ++i) if ($i == "hit") ceiling = $(i + 1); sub(/:$/, "", ceiling) }
      $1 == "random" { row = row " " $6 " |" }
      $1 ~ /^strict_/ { row = row " " $6 " (" $10 ") |" }
      END { print "| " name " | " ceiling " |" row }'
done
