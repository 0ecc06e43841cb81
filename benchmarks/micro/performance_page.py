#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures, and writes the tables and plots of docs/performance.md.

performance_page.py [--repetitions N] [--results FILE] prefixroute_micro prefixroute_micro_without_avx512

Takes minutes on an idle machine. With --results, what was measured is kept in FILE, and taken from there if it exists.
The second program is the same, of a build with CXXFLAGS=-DPREFIXROUTE_WITHOUT_AVX512.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

from log_plot import log_plot

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
SIZES = {64: "64 bytes", 256: "256 bytes", 1024: "1 KiB", 2048: "2 KiB", 4096: "4 KiB", 16384: "16 KiB",
         32768: "32 KiB", 65536: "64 KiB", 131072: "128 KiB", 262144: "256 KiB", 1048576: "1 MiB"}
FLEETS = [1, 7, 64, 256, 1024, 4096, 10000]
LENGTHS = [256, 2048, 32768, 131072]


# ---- Measuring.

def run(program, repetitions, benchmarks, processors):
    """By benchmark and counter: the medians over repetitions, which come in random order."""
    command = [program, f"--benchmark_filter={benchmarks}", f"--benchmark_repetitions={repetitions}",
               "--benchmark_enable_random_interleaving=true", "--benchmark_min_time=0.05", "--benchmark_format=json"]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                            preexec_fn=lambda: os.sched_setaffinity(0, processors)).stdout
    report = json.loads(output)
    samples = {}
    for row in report["benchmarks"]:
        if row.get("error_occurred"):
            sys.exit(f"performance_page.py: {row['name']}: {row['error_message']}")
        if row["run_type"] != "iteration":
            continue
        if row.get("overlap", 1) < 0.9:
            sys.exit(f"performance_page.py: {row['name']}: threads hardly ran at one time; is the machine idle?")
        name = re.sub(r"/(manual_time|iterations:\d+|repeats:\d+)", "", row["run_name"])
        for counter, value in row.items():
            if isinstance(value, float):
                samples.setdefault(name, {}).setdefault(counter, []).append(value)
    medians = {name: {counter: statistics.median(values) for counter, values in counters.items()}
               for name, counters in samples.items()}
    return report["context"], medians


def cpu():
    """The processor's name, and the widest vectors that it has."""
    info = pathlib.Path("/proc/cpuinfo").read_text()
    name = re.search(r"^model name\s*: (.*)$", info, re.MULTILINE)
    flags = set(re.search(r"^flags\s*: (.*)$", info, re.MULTILINE)[1].split())
    number = [re.search(rf"^{field}\s*: (.*)$", info, re.MULTILINE)[1] for field in ("cpu family", "model")]
    vectors = "AVX-512" if {"avx512f", "avx512dq"} <= flags else "AVX2" if "avx2" in flags else "SSE2"
    return f"{name[1]} (family {number[0]}, model {number[1]})", vectors


def measure(program, without_avx512, repetitions):
    processors = os.sched_getaffinity(0)
    alone = "Threads|Churn"
    context, found = run(program, repetitions, f"-{alone}", {max(processors)})
    found.update(run(program, repetitions, alone, processors)[1])
    name, vectors = cpu()
    narrow = run(without_avx512, repetitions, TIMED_TARGETS, {max(processors)})[1]
    return {"processor": name, "vectors": vectors, "processors": len(processors), "compiler": context["compiler"],
            "flags": context["flags"], "repetitions": repetitions, "found": found,
            "without_avx512": narrow}


# ---- Tables.

class Found:
    """What was measured, by benchmark and arguments."""

    def __init__(self, medians):
        self.medians = medians

    def counters(self, name, **arguments):
        return self.medians["/".join([f"BM_{name}"] + [f"{key}:{value}" for key, value in arguments.items()])]

    def has(self, name, **arguments):
        return "/".join([f"BM_{name}"] + [f"{key}:{value}" for key, value in arguments.items()]) in self.medians

    def decision(self, name, instances, length, counter="ns"):
        return self.counters(name, instances=instances, bytes=length)[counter]


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "| --- " * len(head) + "|"] +
                     ["| " + " | ".join(row) + " |" for row in rows])


def machine(results, _):
    return (f"{results['processors']} processors of a shared virtual machine, {results['processor']}, with "
            f"{results['vectors']}; {results['compiler']}, {results['flags']}. Medians of {results['repetitions']} "
            "repetitions in random order.")


VERBS = {"strict `Route`": "Route/strict", "`Route`": "Route/prefix_aware",
         "`Acquire` and `Finish`": "AcquireFinish/prefix_aware"}
BOTH_MODES = {"strict `Route`": "RouteThreads/strict", "`Route`": "RouteThreads/prefix_aware",
            "strict `Acquire` and `Finish`": "AcquireFinishThreads/strict",
            "`Acquire` and `Finish`": "AcquireFinishThreads/prefix_aware"}
# Nanoseconds with AVX-512, and with AVX2 alone, for each of VERBS.
TARGETS = {
    (256, 7): [(40, 40), (150, 150), (200, 200)],
    (2048, 7): [(60, 70), (220, 220), (270, 270)],
    (32768, 7): [(400, 550), (700, 900), (800, 1000)],
    (131072, 7): [(1400, 2200), (1800, 2600), (1900, 2700)],
    (2048, 1024): [(200, 750), (600, 1200), (700, 1300)],
    (2048, 10000): [(1500, 6000), (3000, 8000), (3000, 8000)],
}
# The floor, hash and scores, of the machine that the targets were set on, likewise.
TARGET_FLOORS = {(256, 7): (14.7, 14.0), (2048, 7): (32.0, 34.9), (32768, 7): (357, 481), (131072, 7): (1405, 1889),
                 (2048, 1024): (145, 677), (2048, 10000): (1141, 6230)}


# The benchmarks that TARGETS needs.
TIMED_TARGETS = "^BM_(" + "|".join(VERBS.values()) + ")/instances:(" + "|".join(
    f"{instances}/bytes:{length}" for length, instances in TARGETS) + ")/"


def yes_or_no(met):
    return "yes" if met else "**no**"


def timed_rows(found, column):
    """What, found, target, whether it is met, the target by this machine's floor, and whether that is."""
    for (length, instances), targets_of_size in TARGETS.items():
        for (verb, name), pair in zip(VERBS.items(), targets_of_size):
            value = found.decision(name, instances, length)
            floor = found.decision(name, instances, length, "floor_ns")
            here = pair[column] * floor / TARGET_FLOORS[length, instances][column]
            yield [f"{verb}, {SIZES[length]}, {instances:,} instances", number(value), f"{pair[column]:,g}",
                   yes_or_no(value <= pair[column]), number(here), yes_or_no(value <= here)]


def times(results, found):
    wide, narrow = timed_rows(found, 0), timed_rows(Found(results["without_avx512"]), 1)
    if results["vectors"] != "AVX-512":
        sys.exit("performance_page.py: this machine has no AVX-512, of which half of the table of targets is")
    return table(["", "AVX-512", "target", "met", "by this floor", "met", "AVX2", "target", "met", "by this floor",
                  "met"], [first + second[1:] for first, second in zip(wide, narrow)])


def ratio_rows(found):
    """What, found, target, whether it is met."""
    def row(what, value, limit, met, unit=""):
        return [what, number(value) + unit, limit + unit, yes_or_no(met)]

    def at_most(what, value, target, unit=""):
        return row(what, value, f"at most {target:,g}", value <= target, unit)

    for length, instances in TARGETS:
        yield at_most(f"strict `Route`, {SIZES[length]}, {instances:,} instances, to hash and scores",
                      found.decision("Route/strict", instances, length, "ratio"), 1.25)
    yield at_most("`Route`, 32 KiB, 7 instances, to the hash",
                  found.decision("Route/prefix_aware", 7, 32768, "ratio_hash"), 1.9)
    for label, name in BOTH_MODES.items():
        speedup = found.counters(name, instances=7, bytes=2048, threads=2)["speedup"]
        yield row(f"{label}, two threads to one", speedup, "at least 1.9", speedup >= 1.9)
    for label, name in {"`Route`": "Route", "`Acquire` and `Finish`": "AcquireFinish"}.items():
        distinct = found.counters(f"{name}Distinct", instances=7, bytes=2048, distinct=10000000)
        yield at_most(f"{label}, 10 million distinct prefixes, to 1,000", distinct["ratio"], 2)
    router = found.counters("Memory", instances=7)
    yield at_most("memory in all, 7 instances", router["bytes"] / 2**20, 8, " MiB")
    yield row("its growth by 50,000 more distinct prefixes", router["growth"] / 2**10, "at most 64",
              router["growth"] <= 2**16, " KiB")


def ratios(_, found):
    return table(["", "found", "target", "met"], ratio_rows(found))


def in_c(_, found):
    names = [("strict `prefixroute_route`", "CRoute/strict"), ("`prefixroute_route`", "CRoute/prefix_aware"),
             ("strict `prefixroute_acquire` and `_finish`", "CAcquireFinish/strict"),
             ("`prefixroute_acquire` and `_finish`", "CAcquireFinish/prefix_aware")]
    rows = []
    for label, name in names:
        for instances in (7, 1024):
            counters = found.counters(name, instances=instances, bytes=2048)
            rows.append([f"{label}, {instances:,} instances"] + [number(counters[counter])
                                                                for counter in ("ns", "cpp_ns", "ratio")])
    return table(["", "`c.h`", "`router.h`", "ratio"], rows)


def by_fleet(_, found):
    names = [("strict `Route`", "Route/strict"), ("... 3 different weights", "Route/strict_three_weights"),
             ("... all weights differ", "Route/strict_all_weights_differ"), ("`Route`", "Route/prefix_aware"),
             ("... prompts never seen before", "RouteCold"), ("... 3 different weights", "Route/three_weights"),
             ("... all weights differ", "Route/all_weights_differ"),
             ("`Acquire` and `Finish`", "AcquireFinish/prefix_aware"),
             ("`Route`, LEAST_OUTSTANDING_REQUESTS", "Route/least_outstanding"), ("`Route`, RANDOM", "Route/random")]
    rows = [["floor: hash and scores"] + [number(found.decision("Route/strict", n, 2048, "floor_ns")) for n in FLEETS]]
    rows += [[label] + [number(found.decision(name, n, 2048)) for n in FLEETS] for label, name in names]
    return table(["instances"] + [f"{n:,}" for n in FLEETS], rows)


def by_length(_, found):
    def row(label, name, instances, counter="ns"):
        return [label] + [number(found.decision(name, instances, length, counter)) for length in LENGTHS]

    rows = []
    for instances in (7, 1024):
        at = f", {instances:,} instances"
        rows += [row("floor: read once", "Route/strict", instances, "read_ns"),
                 row("floor: hash", "Route/strict", instances, "hash_ns")] if instances == 7 else []
        rows += [row("floor: hash and scores" + at, "Route/strict", instances, "floor_ns"),
                 row("strict `Route`" + at, "Route/strict", instances),
                 row("`Route`" + at, "Route/prefix_aware", instances),
                 row("`Acquire` and `Finish`" + at, "AcquireFinish/prefix_aware", instances)]
    return table(["prefix"] + [SIZES[length] for length in LENGTHS], rows)


def keys(_, found):
    lengths = [length for length in SIZES if found.has("PrefixKeyFromDram", bytes=length)]

    def row(label, name, counter):
        return [label] + [number(found.counters(name, bytes=length)[counter]) for length in lengths]

    return table(["bytes"] + [SIZES[length] for length in lengths], [
        row("floor: read once", "PrefixKey/in_one_piece", "read_ns"),
        row("floor: hash", "PrefixKey/in_one_piece", "hash_ns"),
        row("`MakePrefixKey`", "PrefixKey/in_one_piece", "ns"),
        row("`PrefixHasher`, 4 KiB pieces", "PrefixKey/in_4_KiB_pieces", "ns"),
        row("floor: read once from DRAM", "PrefixKeyFromDram", "read_ns"),
        row("`MakePrefixKey` from DRAM", "PrefixKeyFromDram", "ns")])


def threads(_, found):
    rows = []
    for label, name in BOTH_MODES.items():
        for wanted, suffix in (("", ""), (", one instance", "_same_instance")):
            counters = found.counters(name + suffix, instances=7, bytes=2048, threads=2)
            rows.append([label + wanted] + [number(counters[counter])
                                            for counter in ("alone_ns", "ns", "speedup", "bare_speedup")])
    return table(["", "one thread", "each of two", "rate of two to one", "bare hash and scores"], rows)


def churn(_, found):
    rows = []
    for label, name in BOTH_MODES.items():
        for instances in (7, 1024):
            counters = found.counters(name.replace("Threads", "Churn"), instances=instances, bytes=2048)
            rows.append([f"{label}, {instances:,} instances"] + [number(counters[counter])
                                                                for counter in ("calm_ns", "ns", "ratio")])
    return table(["", "calm", "a change each millisecond", "ratio"], rows)


def changes(_, found):
    fleets = [n for n in [2] + FLEETS if found.has("SetInstances", instances=n)]

    def row(label, counter, form):
        return [label] + [form(found.counters("SetInstances", instances=n)[counter]) for n in fleets]

    return table(["instances"] + [f"{n:,}" for n in fleets], [
        row("`SetInstances`, microseconds", "ns", lambda ns: number(ns / 1000)),
        row("keys moved", "moved", "{:.2%}".format), row("keys that had to", "had_to_move", "{:.2%}".format)])


def memory(_, found):
    fleets = (7, 1024, 10000)
    counters = [found.counters("Memory", instances=n) for n in fleets]
    return table(["instances"] + [f"{n:,}" for n in fleets], [
        ["MiB in all"] + [number(each["bytes"] / 2**20) for each in counters],
        ["growth by 50,000 more distinct prefixes"] + [f"{each['growth']:,.0f}" for each in counters]])


BLOCKS = {"machine": machine, "times": times, "ratios": ratios, "by_fleet": by_fleet, "by_length": by_length, "keys": keys,
          "threads": threads, "churn": churn, "changes": changes, "in_c": in_c, "memory": memory}


# ---- Plots.

DECIDERS = {"Acquire and Finish": "AcquireFinish/prefix_aware", "Route": "Route/prefix_aware",
            "strict Route": "Route/strict"}


def plots(found):
    by_n = {**DECIDERS, "Route, LEAST_OUTSTANDING": "Route/least_outstanding", "Route, RANDOM": "Route/random"}
    series = {label: [(n, found.decision(name, n, 2048)) for n in FLEETS] for label, name in by_n.items()}
    series["floor: hash and scores"] = [(n, found.decision("Route/strict", n, 2048, "floor_ns")) for n in FLEETS]
    yield "instances", log_plot("A decision by instances (prefix of 2 KiB)", "instances", "ns", series,
                                {n: str(n) for n in FLEETS})

    series = {label: [(length, found.decision(name, 7, length)) for length in LENGTHS]
              for label, name in DECIDERS.items()}
    for label, counter in (("floor: hash and scores", "floor_ns"), ("floor: read once", "read_ns")):
        series[label] = [(length, found.decision("Route/strict", 7, length, counter)) for length in LENGTHS]
    yield "lengths", log_plot("A decision by length of the prefix (7 instances)", "prefix", "ns", series,
                              {length: SIZES[length] for length in LENGTHS})

    counts = {10**power: label for power, label in zip(range(3, 8), ("1,000", "10,000", "100,000", "1 M", "10 M"))}
    series = {label: [(n, found.counters(name, instances=7, bytes=2048, distinct=n)["ns"]) for n in counts]
              for label, name in (("Acquire and Finish", "AcquireFinishDistinct"), ("Route", "RouteDistinct"))}
    yield "distinct", log_plot("A decision by distinct prefixes (of 2 KiB, 7 instances)", "distinct prefixes", "ns",
                               series, counts)

    series = {}
    for label, name in (("strict", "strict"), ("strict, one instance", "strict_same_instance"),
                        ("PREFIX_AWARE", "prefix_aware"), ("PREFIX_AWARE, one instance", "prefix_aware_same_instance")):
        by_threads = {count: found.counters(f"AcquireFinishThreads/{name}", instances=7, bytes=2048, threads=count)
                      for count in (2, 4, 8, 16, 32, 64)
                      if found.has(f"AcquireFinishThreads/{name}", instances=7, bytes=2048, threads=count)}
        series[label] = [(1, 1000 / by_threads[2]["alone_ns"])]
        series[label] += [(count, 1000 * count / counters["ns"]) for count, counters in by_threads.items()]
    yield "threads", log_plot("Acquire and Finish by threads (prefix of 2 KiB, 7 instances)", "threads",
                              "millions a second in all", series, {n: str(n) for n, _ in series["strict"]})


def write_page(results):
    found = Found(results["found"])
    page = DOCS / "performance.md"
    text = page.read_text()
    for name, block in BLOCKS.items():
        begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            sys.exit(f"performance_page.py: {page.name} must have one {begin.strip()} and one {end}")
        before, rest = text.split(begin)
        text = before + begin + block(results, found) + "\n" + end + rest.split(end)[1]
    page.write_text(text)
    (DOCS / "performance").mkdir(exist_ok=True)
    for name, svg in plots(found):
        (DOCS / "performance" / f"{name}.svg").write_text(svg)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("program")
    parser.add_argument("without_avx512")
    arguments = parser.parse_args()

    if arguments.results and arguments.results.exists():
        results = json.loads(arguments.results.read_text())
    else:
        results = measure(arguments.program, arguments.without_avx512, arguments.repetitions)
        if arguments.results:
            arguments.results.write_text(json.dumps(results))
    write_page(results)


main()
