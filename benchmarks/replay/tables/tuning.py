#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the Markdown tables of docs/tuning.md, of generated traffic: when routing by prefix pays, one property of the
traffic varied at a time; what small caches do; and what a hard bound does to a fleet that is busy and to one that is
overloaded.

tuning.py prefixroute_replay
"""

import json
import os
import random
import subprocess
import sys
import tempfile

from workloads import each, seconds

REQUESTS = 4000
ENGINES = 8
PREFILL_SECONDS_PER_TOKEN = 32e-6  # prefixroute_replay's default.
RULES = ["random", "least_outstanding", "prefix_aware"]
# Tokens that prompts share, of each prompt alone, how many different prompts there are, and how much of the engines' time
# prefill would take if nothing were cached.
USUAL = {"shared": 2000, "own": 200, "prompts": 300, "busy": 0.4}
CASES = ([("shared prompts", {"prompts": count}) for count in (1, 10, 100, 300, 1000, 100_000)] +
         [("their tokens", {"shared": tokens}) for tokens in (50, 200, 1000, 4000, 8000)] +
         [("new tokens behind them", {"own": tokens}) for tokens in (20, 1000, 4000)] +
         [("load", {"busy": share}) for share in (0.05, 0.2, 0.8)])

# Engines, applications of the generated long_context, and how many of their prompts an engine keeps.
SMALL = ((8, 24, 4.8), (8, 24, 6.4), (8, 48, 10.7), (8, 5, 4.3), (3, 8, 4.3))
PROMPT_TOKENS = 9344  # Mean.
# Of the generated long_context: one that PREFIX_AWARE keeps up with, and one that nothing does.
RATES = (60, 120)
BOUNDS = (0, 512, 256, 128, 64, 16)


def write_trace(path, shared, own, prompts, busy):
    draw = random.Random(1)
    rate = busy * ENGINES / ((shared + own) * PREFILL_SECONDS_PER_TOKEN)
    beginnings = {}
    now = 0.0
    with open(path, "w") as file:
        for _ in range(REQUESTS):
            now += draw.expovariate(rate)
            prompt = draw.randrange(prompts)
            if prompt not in beginnings:
                beginnings[prompt] = draw.randbytes(2 * shared).hex()  # Four bytes a token.
            file.write(json.dumps({"timestamp": 1000 * now, "prompt": beginnings[prompt] + draw.randbytes(2 * own).hex(),
                                   "output_bytes": 400}) + "\n")
    return rate


def simulate(program, *flags, rules=RULES):
    """Every rule's figures."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        done = subprocess.run([program, *flags, "--rules=" + ",".join(rules), "--json=" + report.name],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr)
        return {row["rule"]: row for row in json.load(report)[0]["rules"]}


def print_table(head, rows):
    print("| " + " | ".join(head) + " |\n" + "| --- " * len(head) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def times(row):
    return "/".join(seconds(row["ttft_seconds"][metric]) for metric in ("p50", "p90"))


def when_it_pays(program):
    def row(case):
        what, values = case
        ((name, value),) = values.items()
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as trace:
            rate = write_trace(trace.name, **{**USUAL, **values})
            rules = simulate(program, trace.name)
        return [what, f"{value:.0%}" if name == "busy" else f"{value:,}", f"{rate:,.0f}",
                f"{rules['random']['hit_rate']:.2f}", f"{rules['prefix_aware']['hit_rate']:.2f}",
                *(times(rules[rule]) for rule in RULES)]

    print_table(["varied", "", "requests/s", "hits: RANDOM", "PREFIX_AWARE", "P50/P90: RANDOM",
                 "LEAST_OUTSTANDING_REQUESTS", "PREFIX_AWARE"], each(row, CASES))


def small_caches(program):
    def row(case):
        engines, applications, kept = case
        flags = [f"--instances={engines}", f"--applications={applications}",
                 f"--cache_tokens={int(kept * PROMPT_TOKENS)}", f"--rate={1.25 * engines:g}", "--seconds=300"]
        rules = simulate(program, *flags, rules=["least_outstanding", "precise", "prefix_aware"])
        return [str(engines), str(applications), f"{kept:g}",
                *(f"{rules[rule]['hit_rate']:.2f}, {times(rules[rule])}"
                  for rule in ("least_outstanding", "precise", "prefix_aware"))]

    print_table(["engines", "applications", "prompts that an engine keeps", "LEAST_OUTSTANDING_REQUESTS: hits, P50/P90",
                 "*precise*", "PREFIX_AWARE"], each(row, SMALL))


def bounds(program):
    def row(case):
        rate, bound = case
        rules = simulate(program, f"--rate={rate}", "--seconds=300", f"--max_outstanding={bound}")
        own = rules["prefix_aware"]
        return [str(rate), str(bound) if bound else "none", f"{own['in_flight']:.0f}", f"{own['throughput']:.1f}",
                f"{own['refused'] / (own['served'] + own['refused'] + own['failed']):.0%}", f"{own['hit_rate']:.2f}", times(own),
                f"{rules['least_outstanding']['throughput']:.1f}"]

    print_table(["requests/s", "max_outstanding", "in flight an instance", "finished/s", "refused", "hits", "P50/P90",
                 "LEAST_OUTSTANDING_REQUESTS: finished/s"],
                each(row, [(rate, bound) for rate in RATES for bound in BOUNDS]))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: tuning.py prefixroute_replay")
    when_it_pays(sys.argv[1])
    small_caches(sys.argv[1])
    bounds(sys.argv[1])


main()
