#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# pkg_config.sh <installed lib folder> <package> <source> <output> <compiler> <flag>...: builds and runs a consumer as one
# does without CMake. $MORE_LIBS come last.
set -eu

lib=$1
package=$2
source=$3
output=$4
shift 4
export PKG_CONFIG_PATH="$lib/pkgconfig"
# shellcheck disable=SC2046  # pkg-config prints words.
"$@" $(pkg-config --cflags "$package") "$(dirname "$0")/$source" -o "$output" $(pkg-config --libs "$package") ${MORE_LIBS:-}
LD_LIBRARY_PATH="$lib" "$output"
