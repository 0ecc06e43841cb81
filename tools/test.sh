#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds everything, runs every test once.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/install_packages.sh
cmake --preset gcc >/dev/null
cmake --build --preset gcc
ctest --test-dir build/gcc --output-on-failure -j "$(nproc)"
