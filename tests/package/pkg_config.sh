#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# pkg_config.sh <installed lib folder> <output> <compiler> <flag>...: builds and runs the consumer as one does without
# CMake.
set -eu

lib=$1
output=$2
shift 2
export PKG_CONFIG_PATH="$lib/pkgconfig"
# shellcheck disable=SC2046  # pkg-config prints words.
"$@" $(pkg-config --cflags prefixroute) "$(dirname "$0")/consumer.cc" -o "$output" $(pkg-config --libs prefixroute)
LD_LIBRARY_PATH="$lib" "$output"
