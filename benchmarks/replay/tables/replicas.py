#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what several replicas of a gateway that share nothing make of PREFIX_AWARE, as a Markdown table.

replicas.py prefixroute_replay directory-of-traces [seconds-between-load-reports]
"""

import sys

from workloads import Replay, each, geometric_mean, seconds, usage

REPLICAS = (4, 16)
LOADS = (0.5, 0.9)
RULES = ["least_outstanding", "prefix_tree", "prefix_score", "prefix_aware"]


def main():
    if len(sys.argv) not in (3, 4):
        usage("[seconds-between-load-reports]")
    replay = Replay(*sys.argv[1:3])
    reports = [f"--report={float(sys.argv[3]):g}"] if len(sys.argv) == 4 else []
    each(replay.capacity, replay.workloads())
    jobs = [(replicas, workload, load) for replicas in REPLICAS for workload in replay.workloads() for load in LOADS]

    def work(job):
        replicas, workload, load = job
        many = replay.seeds(workload, load, RULES, [f"--gateways={replicas}", *reports])
        return many, replay.seeds(workload, load, ["prefix_aware"])["prefix_aware"]

    print("| replicas | workload | load | " + " | ".join(RULES) + " | hits, to one gateway's | P99, to least_outstanding's |")
    print("| --- " * (len(RULES) + 5) + "|")
    hits, tails = [], []
    for (replicas, workload, load), (many, single) in zip(jobs, each(work, jobs)):
        own = many["prefix_aware"]
        hits.append(own["hits"] / single["hits"])
        tails.append(own["p99"] / many["least_outstanding"]["p99"])
        cells = [f"{seconds(many[rule]['p50'])}/{seconds(many[rule]['p90'])}/{many[rule]['hits']:.2f}" for rule in RULES]
        print(f"| {replicas} | {workload} | {load:g} | " + " | ".join(cells) + f" | {hits[-1]:.2f} | {tails[-1]:.2f} |")
    print(f"\n- hits below 0.9 of one gateway's in {sum(hit < 0.9 for hit in hits)} of {len(hits)}, "
          f"{geometric_mean(hits):.2f} in the geometric mean; P99 above least_outstanding's in "
          f"{sum(tail > 1 for tail in tails)}, {geometric_mean(tails):.2f} in the geometric mean")


main()
