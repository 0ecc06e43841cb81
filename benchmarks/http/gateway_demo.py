#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends real requests through the gateway to small engines, by each strategy in turn, and prints what came of it.

gateway_demo.py BUILD
"""

import sys
import tempfile

import proxies

ENGINES = 7
APPLICATIONS = 70
CACHE_TOKENS = 200_000  # Of an engine: it keeps some 20 of the prompts.
ENGINE_SPEED = 5
REQUESTS = 600


def measure(build, strategy):
    with tempfile.TemporaryDirectory(prefix="prefixroute-demo-") as folder, \
         proxies.Engines(f"{build}/examples/engine/example_engine", ENGINES,
                         [f"--cache_tokens={CACHE_TOKENS}", f"--speed={ENGINE_SPEED}"]) as engines:
        with proxies.gateway(folder, engines.addresses, f"{build}/examples/gateway/prefixroute_gateway",
                             strategy) as gateway:
            return proxies.load(f"{build}/benchmarks/http/prefixroute_http_load", gateway.port, engines.addresses,
                                [f"--engine_speed={ENGINE_SPEED}", f"--limit={REQUESTS}",
                                 f"--applications={APPLICATIONS}"], folder)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: gateway_demo.py build-directory")
    print(f"{REQUESTS} streams through the gateway to {ENGINES} engines, {APPLICATIONS} applications with prompts of 8,000 "
          f"tokens of their own.\nThe first of each finds cold caches: no more than {1 - APPLICATIONS / REQUESTS:.0%} can hit. "
          "The engines' own seconds:\n")
    print(f"{'strategy':<28}{'TTFT P50':>10}{'P90':>10}{'hits':>8}{'busiest':>10}{'idlest':>9}{'failed':>9}")
    for strategy in ("RANDOM", "LEAST_OUTSTANDING_REQUESTS", "PREFIX_AWARE"):
        row = measure(sys.argv[1], strategy)
        ttft = row["ttft_seconds"]
        print(f"{strategy:<28}{ttft['p50']:>8.3f} s{ttft['p90']:>8.3f} s{row['hit_rate']:>8.0%}{row['busiest']:>10.2f}"
              f"{row['idlest']:>9.2f}{row['failed']:>9}", flush=True)


main()
