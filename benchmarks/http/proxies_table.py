#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays traces through real proxies to small engines, and writes docs/proxies.md. Takes some 20 minutes.

  proxies_table.py --build=build/gcc --traces=FOLDER [--only=PART] [--write]

Without --write it prints; --only keeps the fronts whose name has PART in it. PREFIXROUTE_TRACES may name the folder.
The shared library, for OpenResty, is the build's, or that which `ctest -R package.shared.install` has made there."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import textwrap

import proxies

ENGINES = 8
REQUESTS = 2000
WORKLOADS = (
    # name, arrivals' speed, tokens an engine's cache holds, the engines' own speed
    ("tau_airline", 60, 100_000, 0.2),
    ("kdconv_zh", 100, 30_000, 0.1),
)
LONG, SHORT = 7000, 128  # What a hash looks at, in bytes: one that fits the first workload, and one the second.

PAGE = """# Through real proxies

PREFIX_AWARE in nginx, beside what nginx and HAProxy bring along. Each row is a real proxy on loopback, with {engines} of the
[small engines](../examples/engine) behind it, which say themselves what they found cached; all rows get the same
{requests} requests at the same times. The first rows are the [simulator](../benchmarks/replay) on the same trace and with
the same engines, where the router is called directly. Times are the engines' own seconds: they run slower than the clock,
so that two cores suffice for all.

{command}

| front | setting |
| --- | --- |
| nginx, PREFIX_AWARE | the [module](../examples/nginx), `prefix_route strategy=prefix_aware`; 4 workers, as in all rows of nginx |
| OpenResty, PREFIX_AWARE | the [example in Lua](../examples/openresty), also with 4 workers |
| gateway, PREFIX_AWARE | the [example of a gateway](../examples/gateway), as it is by default |
| nginx, `hash` | `hash $beginning consistent`, a `map` of the first bytes of `$request_body` |
| HAProxy, `hash` | `balance hash req.body,bytes(0,N)`, `hash-type consistent`, `hash-balance-factor 125`; 2 threads |

The prompt is the first thing in the body. *Busiest* is the engine with the most requests, against the mean. Each row is
one run; the engines' ports differ from run to run, and with them what a hash gives to whom.

{tables}

## What that says

{findings}
"""


def table(rows):
    lines = ["| | hit rate | TTFT mean | P50 | P90 | P99 | busiest | idlest |", "| --- " + "| ---: " * 7 + "|"]
    for name, row in rows.items():
        ttft = row["ttft_seconds"]
        failed = f" ({row['failed']} failed)" if row["failed"] else ""
        lines.append(f"| {name}{failed} | {row['hit_rate']:.3f} | {ttft['mean']:.3f} | {ttft['p50']:.3f} | "
                     f"{ttft['p90']:.3f} | {ttft['p99']:.3f} | {row['busiest']:.2f} | {row['idlest']:.2f} |")
    return "\n".join(lines)


def simulate(build, trace, speed, cache_tokens):
    """The simulator's rows, and the hit rate of one unlimited cache."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        subprocess.run([f"{build}/benchmarks/replay/prefixroute_replay", f"--limit={REQUESTS}", f"--speed={speed}",
                        f"--instances={ENGINES}", f"--cache_tokens={cache_tokens}",
                        "--rules=prefix_aware,least_outstanding", f"--json={report.name}", trace],
                       check=True, stdout=subprocess.DEVNULL)
        (simulated,) = json.load(report)
    names = {"prefix_aware": "simulator, PREFIX_AWARE", "least_outstanding": "simulator, least outstanding"}
    return {names[row["rule"]]: row for row in simulated["rules"]}, simulated["ceiling"]


def shared_library(build):
    for path in ("libprefixroute.so", "tests/package/install_shared/moved/lib/libprefixroute.so"):
        if os.path.exists(f"{build}/{path}"):
            return f"{build}/{path}"
    sys.exit(f"{build}: has no libprefixroute.so; `ctest -R package.shared.install` there makes one")


def fronts(build, workload):
    module = f"{build}/examples/nginx/ngx_http_prefixroute_module.so"
    library = shared_library(build)
    yield "nginx, PREFIX_AWARE", lambda folder, engines: proxies.nginx_prefix_route(folder, engines, module)
    yield "OpenResty, PREFIX_AWARE", lambda folder, engines: proxies.openresty(folder, engines, library)
    yield "gateway, PREFIX_AWARE", lambda folder, engines: proxies.gateway(
        folder, engines, f"{build}/examples/gateway/prefixroute_gateway")
    yield "nginx, round robin", proxies.nginx
    yield "nginx, `least_conn`", lambda folder, engines: proxies.nginx(folder, engines, balance="least_conn;")
    for prefix_bytes in (LONG, SHORT):
        if workload == "tau_airline" and prefix_bytes == SHORT:
            continue  # All to one engine, which would take an hour.
        yield f"nginx, `hash`, {prefix_bytes:,} bytes", (
            lambda folder, engines, n=prefix_bytes: proxies.nginx_hash(folder, engines, n))
    for prefix_bytes in (LONG, SHORT):
        yield f"HAProxy, `hash`, {prefix_bytes:,} bytes", (
            lambda folder, engines, n=prefix_bytes: proxies.haproxy_hash(folder, engines, n))


def measure(build, make_front, trace, speed, cache_tokens, engine_speed):
    with tempfile.TemporaryDirectory(prefix="prefixroute-proxies-") as folder:
        with proxies.Engines(f"{build}/examples/engine/example_engine", ENGINES,
                             [f"--cache_tokens={cache_tokens}", f"--speed={engine_speed}"]) as engines:
            with make_front(folder, engines.addresses) as front:
                return proxies.load(f"{build}/benchmarks/http/prefixroute_http_load", front.port, engines.addresses,
                                    [f"--limit={REQUESTS}", f"--speed={speed}", f"--engine_speed={engine_speed}",
                                     "--timeout=600", trace], folder)


def findings(tables):
    tau, kdconv = tables["tau_airline"], tables["kdconv_zh"]
    ours, blind = "nginx, PREFIX_AWARE", "nginx, `least_conn`"

    def hits(rows, name):
        return f"{rows[name]['hit_rate']:.3f}"

    def apart(rows, name):
        return f"{100 * abs(rows[name]['hit_rate'] / rows['simulator, PREFIX_AWARE']['hit_rate'] - 1):.1f} %"

    def p90(rows, name):
        return f"{rows[name]['ttft_seconds']['p90']:.3f} s"

    def hashed(proxy, prefix_bytes):
        return f"{proxy}, `hash`, {prefix_bytes:,} bytes"

    return "\n".join(textwrap.fill(finding, 120, subsequent_indent="  ", break_on_hyphens=False) for finding in (
        f"- **PREFIX_AWARE through real proxies is what the simulator says.** Hit rates through nginx with four workers, which "
        f"share one block of memory, are {apart(tau, ours)} (tau_airline) and {apart(kdconv, ours)} (kdconv_zh) from the "
        f"simulator's; through OpenResty {apart(tau, 'OpenResty, PREFIX_AWARE')} and "
        f"{apart(kdconv, 'OpenResty, PREFIX_AWARE')}, through the gateway {apart(tau, 'gateway, PREFIX_AWARE')} and "
        f"{apart(kdconv, 'gateway, PREFIX_AWARE')}.",
        f"- **Against balancers that don't look at the prompt** it wins by much: a hit rate of {hits(tau, ours)} against "
        f"{hits(tau, blind)} of `least_conn`, and {hits(kdconv, ours)} against {hits(kdconv, blind)}; TTFT P90 "
        f"{p90(tau, ours)} against {p90(tau, blind)}, and {p90(kdconv, ours)} against {p90(kdconv, blind)}.",
        f"- **Against a hash of the right number of bytes** it wins little, or nothing. In tau_airline, where all prompts "
        f"share 6,155 bytes, {LONG:,} are right: {hits(tau, ours)} against {hits(tau, hashed('nginx', LONG))} (nginx) and "
        f"{hits(tau, hashed('HAProxy', LONG))} (HAProxy), TTFT P90 {p90(tau, ours)} against "
        f"{p90(tau, hashed('nginx', LONG))} and {p90(tau, hashed('HAProxy', LONG))}. In kdconv_zh, where {SHORT} are right: "
        f"{hits(kdconv, ours)} against {hits(kdconv, hashed('nginx', SHORT))} and "
        f"{hits(kdconv, hashed('HAProxy', SHORT))}. Whoever knows that number, and whose traffic all fits it, needs no "
        f"library. nginx's hash has no bound, so the busiest engine had {tau[hashed('nginx', LONG)]['busiest']:.2f} times the mean in tau_airline.",
        f"- **Against a hash of the wrong number** it wins by much again. {LONG:,} bytes in kdconv_zh, whose prompts are "
        f"shorter, so that each turn of a conversation has another hash: {hits(kdconv, hashed('nginx', LONG))}. {SHORT} bytes "
        f"in tau_airline are the same for all: nginx would send all to one engine (not run), and HAProxy's bound scatters "
        f"them: {hits(tau, hashed('HAProxy', SHORT))}, hardly better than not looking. PREFIX_AWARE was told nothing of "
        f"either."))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(proxies.ROOT / "build/gcc"))
    parser.add_argument("--traces", default=os.environ.get("PREFIXROUTE_TRACES"))
    parser.add_argument("--only", default="")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if not options.traces:
        parser.error("--traces: which folder has tau_airline.jsonl.gz and kdconv_zh.jsonl.gz?")
    tables, texts = {}, []
    for workload, speed, cache_tokens, engine_speed in WORKLOADS:
        trace = f"{options.traces}/{workload}.jsonl.gz"
        rows, ceiling = simulate(options.build, trace, speed, cache_tokens)
        for name, make_front in fronts(options.build, workload):
            if options.only in name:
                rows[name] = measure(options.build, make_front, trace, speed, cache_tokens, engine_speed)
                print(f"{workload}: {name}: hit rate {rows[name]['hit_rate']:.3f}", file=sys.stderr, flush=True)
        tables[workload] = rows
        texts.append(f"## {workload}\n\nThe first {REQUESTS:,} requests, {speed} times as fast as the trace says; a cache of "
                     f"{cache_tokens:,} tokens an engine. One unlimited cache for all would hit {ceiling:.3f}.\n\n" + table(rows))
    if options.only:
        print("\n\n".join(texts))
        return
    page = PAGE.format(engines=ENGINES, requests=f"{REQUESTS:,}", tables="\n\n".join(texts),
                       findings=findings(tables).rstrip(),
                       command="`benchmarks/http/proxies_table.py --write` has made this page.")
    if options.write:
        (proxies.ROOT / "docs/proxies.md").write_text(page, encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
