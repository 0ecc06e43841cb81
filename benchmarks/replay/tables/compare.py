#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints PREFIX_AWARE beside the comparators on every workload, as a Markdown table.

compare.py prefixroute_replay directory-of-traces
"""

import sys

from workloads import COMPARATORS, LOADS, Replay, each, geometric_mean, seconds, usage

SHOWN = ["least_outstanding", "bounded_hash", "prefix_tree", "prefix_score", "precise", "prefix_aware"]
METRICS = ("mean", "p50", "p90")


def main():
    if len(sys.argv) != 3:
        usage()
    replay = Replay(*sys.argv[1:])
    each(replay.capacity, replay.workloads())
    jobs = [(workload, load) for workload in replay.workloads() for load in LOADS]
    results = each(lambda job: replay.seeds(*job, COMPARATORS + ["prefix_aware"]), jobs)

    print("| workload | load | " + " | ".join(SHOWN) + " | hits | to the best |")
    print("| --- " * (len(SHOWN) + 4) + "|")
    ratios = []
    for (workload, load), rules in zip(jobs, results):
        own = rules["prefix_aware"]
        to_best = [own[m] / min(rules[rule][m] for rule in COMPARATORS) for m in METRICS]
        ratios.append((workload, load, to_best, own["busiest"]))
        cells = ["/".join(seconds(rules[rule][m]) for m in METRICS) for rule in SHOWN]
        print(f"| {workload} | {load:g} | " + " | ".join(cells) + f" | {own['hits']:.2f} | " +
              "/".join(f"{ratio:.2f}" for ratio in to_best) + " |")
    print()
    for i, metric in enumerate(METRICS):
        all_of_it = [ratio[2][i] for ratio in ratios]
        worst = max(ratios, key=lambda ratio: ratio[2][i])
        above = sum(ratio > 1.05 for ratio in all_of_it)
        print(f"- {metric}: {geometric_mean(all_of_it):.2f} times the best comparator in the geometric mean; above 1.05 "
              f"in {above} of {len(all_of_it)}; worst {worst[2][i]:.2f}, {worst[0]} at {worst[1]:g}")
    print("- speeds at a load of 1: " +
          ", ".join(f"{workload} {replay.capacity(workload):.3g}" for workload in replay.workloads()))


main()
