#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build_module.sh <folder>: builds <folder>/ngx_http_prefixroute_module.so for Debian's nginx, by the headers and the
# configure of its nginx-dev. $CC compiles; PREFIXROUTE_CFLAGS and PREFIXROUTE_LIBS say where the library is, if
# pkg-config does not.
set -euo pipefail
module=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"

# Configured anew only where something has changed: it takes longer than the rest.
inputs=$(sha256sum "$module/config" /usr/share/nginx/src/conf_flags
  echo "$(nginx -v 2>&1) ${CC:-} ${PREFIXROUTE_CFLAGS:-} ${PREFIXROUTE_LIBS:-}")
if [ ! -e inputs ] || [ "$inputs" != "$(cat inputs)" ]; then
  rm -rf inputs src objs
  cp -rL /usr/share/nginx/src src
  (
    cd src
    . ./conf_flags
    ./configure "${NGX_CONF_FLAGS[@]}" ${CC:+--with-cc="$CC"} --add-dynamic-module="$module" --builddir=../objs
  ) >configure.log || { tail -n 30 configure.log >&2; exit 1; }
  echo "$inputs" >inputs
fi
rm -f objs/ngx_http_prefixroute_module.so  # make doesn't know that it depends on the library.
unset MAKEFLAGS                            # Of a make that has called us.
make -C src -s -f ../objs/Makefile modules
cp objs/ngx_http_prefixroute_module.so new.so
mv -f new.so ngx_http_prefixroute_module.so  # An nginx that runs keeps the one that it has.
