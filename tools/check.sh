#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check.sh [--without leg | leg ...]: all that must hold before a change goes in: every leg, all but one, or those named.
# Runs them all even if one fails; the log of each is build/<leg>.log.
# Only by name: "races", the races of 256 threads under ThreadSanitizer a thousand times each (10 minutes).
set -euo pipefail
cd "$(dirname "$0")/.."

# The legs after "gcc" leave out tests/package, which installs static and shared and uses both with both compilers, and
# what takes minutes and doesn't depend on the compiler.
gcc() { build_and_test gcc; }
clang() { build_and_test clang -LE 'package|slow'; }
asan() { build_and_test asan -LE 'package|slow'; }
tsan() { build_and_test tsan -LE 'package|slow'; }
races() {
  cmake --preset tsan && cmake --build --preset tsan --target stress_race_test &&
    PREFIXROUTE_RACE_ROUNDS=1000 build/tsan/tests/stress_race_test --gtest_filter='*RaceTest*'
}
tidy() {
  cmake --preset clang && run-clang-tidy -quiet -p build/clang '/(src|benchmarks|examples)/.*\.cc$'
}
format() {
  git ls-files -z '*.h' '*.c' '*.cc' | xargs -0 clang-format --dry-run -Werror
}
instructions() {
  cmake --preset gcc && cmake --build --preset gcc --target prefixroute_instructions &&
    benchmarks/instructions/check_counts.py build/gcc/benchmarks/instructions/prefixroute_instructions
}
abi() { tools/check_abi.sh; }
all=(format tidy instructions abi gcc clang asan tsan)

build_and_test() {
  local preset=$1
  shift
  cmake --preset "$preset" && cmake --build --preset "$preset" &&
    ctest --test-dir "build/$preset" --output-on-failure -j "$(nproc)" "$@"
}

legs=("${@:-${all[@]}}")
if [ "${1:-}" = --without ]; then
  legs=()
  for leg in "${all[@]}"; do [ "$leg" = "${2:-}" ] || legs+=("$leg"); done
fi
for leg in "${legs[@]}"; do
  if [[ " ${all[*]} races " != *" $leg "* ]]; then
    echo "check.sh: no leg \"$leg\"; there are: ${all[*]} races" >&2
    exit 2
  fi
done

tools/install_packages.sh clang clang-tidy clang-format python3 valgrind
mkdir -p build
summary=""
failed=0
for leg in "${legs[@]}"; do
  echo "$leg ..."
  begin=$SECONDS
  if "$leg" >"build/$leg.log" 2>&1; then
    result=passed
  else
    result=FAILED
    failed=1
    tail -n 50 "build/$leg.log"
  fi
  summary+=$(printf '%-14s %-6s %5d s  build/%s.log' "$leg" "$result" $((SECONDS - begin)) "$leg")$'\n'
done
printf '\n%s' "$summary"
exit "$failed"
