#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# install_packages.sh [package ...]: installs what the build needs, and the packages named, as far as they are missing.
# For Debian and Ubuntu, as root or through sudo.
set -euo pipefail

needed=(
  g++ make cmake ninja-build pkg-config
  libabsl-dev libxxhash-dev                    # The library.
  libgtest-dev libgmock-dev libbenchmark-dev   # Its tests and benchmarks.
  libsimdjson-dev                              # What the payload component is measured beside.
  luajit2                                      # One of its tests; luajit excludes nginx's Lua module.
  nginx nginx-dev                              # The nginx module and its tests.
  libnginx-mod-http-lua lua-resty-core haproxy # The examples of OpenResty and HAProxy.
  zlib1g-dev nlohmann-json3-dev                # prefixroute_replay, which reads traces.
  libboost-dev                                 # The examples of an engine and of a gateway.
  prometheus-cpp-dev                           # The gateway.
  curl wrk                                     # Its clients, in tests.
  "$@"
)

if ! command -v apt-get >/dev/null; then
  echo "No apt-get here: installing nothing. By Debian's names, the build needs: ${needed[*]}" >&2
  exit 0
fi

missing=()
for package in "${needed[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null || true)
  grep -qx installed <<<"$status" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "Packages are missing. Run this as root: apt-get install -y ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

# Debian starts a service as it installs it, but nobody asked for a web server on port 80.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod +x "$policy"
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
fi

echo "Installing ${missing[*]} ..."
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
