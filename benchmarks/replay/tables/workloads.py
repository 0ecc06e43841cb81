# SPDX-License-Identifier: Apache-2.0
"""The workloads of the tables in docs/prefix_aware.md, and how prefixroute_replay is run on them."""

import concurrent.futures
import json
import math
import os
import subprocess
import sys
import tempfile

TRACES = ["mooncake_conversation", "mooncake_synthetic", "mooncake_arxiv_1000", "tau_airline", "miniswe_agent",
          "faquad_pt", "kdconv_zh"]
# Name: flags, and the requests a second that a load of 1 means.
GENERATED = {"long_context": (["--workload=long_context", "--seconds=1800"], 10),
             "short_context": (["--workload=short_context", "--seconds=600"], 20)}
SEEDS = (1, 2, 3)
# A load is a share of what RANDOM carries: the speed at which nine of ten of its requests still get their first token
# within so many seconds.
CARRIED_SECONDS = 5.0
LOADS = (0.4, 0.7, 1.0, 1.3)
COMPARATORS = ["random", "least_outstanding", "bounded_hash", "prefix_tree", "prefix_score", "precise", "precise_2"]


def usage(extra=""):
    sys.exit(f"usage: {os.path.basename(sys.argv[0])} prefixroute_replay directory-of-traces {extra}".rstrip())


class Replay:
    def __init__(self, program, directory):
        self.program = program
        self.directory = directory
        self.carried = {}
        if not os.access(program, os.X_OK):
            sys.exit(f"{program}: no program")
        missing = [self._file(trace) for trace in TRACES if not os.path.exists(self._file(trace))]
        if missing:
            sys.exit("no such file: " + ", ".join(missing))

    def _file(self, trace):
        return os.path.join(self.directory, trace + ".jsonl.gz")

    def workloads(self):
        return TRACES + list(GENERATED)

    def run(self, workload, speed, rules, flags=()):
        """One simulation: {rule: its figures}."""
        if workload in GENERATED:
            fixed, rate = GENERATED[workload]
            arguments = fixed + [f"--rate={rate * speed:g}"]
        else:
            arguments = [self._file(workload), f"--speed={speed:g}"]
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            command = [self.program, *arguments, *flags, "--rules=" + ",".join(rules), "--json=" + report.name]
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if done.returncode != 0:
                sys.exit(done.stderr)
            return {row["rule"]: row for row in json.load(report)[0]["rules"]}

    def capacity(self, workload):
        """The speed that RANDOM just carries, to within some percent."""
        if workload not in self.carried:
            def carries(speed):
                return self.run(workload, speed, ["random"])["random"]["ttft_seconds"]["p90"] < CARRIED_SECONDS
            low = 0.1
            while carries(low * 2) and low < 5000:
                low *= 2
            high = low * 2
            for _ in range(5):
                middle = math.sqrt(low * high)
                low, high = (middle, high) if carries(middle) else (low, middle)
            self.carried[workload] = low
        return self.carried[workload]

    def seeds(self, workload, load, rules, flags=(), seeds=SEEDS):
        """Means over seeds: {rule: {"mean", "p50", "p90", "p99", "hits", "busiest"}}."""
        means = {}
        for seed in seeds:
            speed = load * self.capacity(workload)
            for rule, row in self.run(workload, speed, rules, [f"--seed={seed}", *flags]).items():
                figures = dict(row["ttft_seconds"], hits=row["hit_rate"], busiest=row["busiest"])
                mean = means.setdefault(rule, dict.fromkeys(figures, 0.0))
                for name, value in figures.items():
                    mean[name] += value / len(seeds)
        return means


def each(work, jobs):
    """work(job) of each, on all cores, in order."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(work, jobs))


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def seconds(value):
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 10 else f"{value:.0f}"
