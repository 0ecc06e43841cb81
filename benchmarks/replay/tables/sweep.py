#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tries other values of the constants of PREFIX_AWARE: prints a Markdown table of what each makes of the workloads.

sweep.py directory-of-traces [name=value,value ...]

Names are those in src/strategy/constants.h; without any, each constant is halved and doubled. Builds a copy of the
sources for each value, in a directory that it removes.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

from workloads import Replay, each, geometric_mean

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
CONSTANTS = "src/strategy/constants.h"
LOADS = (0.7, 1.15)
SEED = (1,)
REFERENCE = ["prefix_tree", "prefix_score", "precise", "precise_2"]


def constants():
    with open(os.path.join(ROOT, CONSTANTS)) as file:
        return {name: float(value) for name, value in re.findall(r"double (k\w+) = ([0-9.]+);", file.read())}


class Variants:
    """The sources with one constant changed, built again and again in one place."""

    def __init__(self, directory):
        self.source = os.path.join(directory, "source")
        self.build = os.path.join(directory, "build")
        for part in ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "include", "src", "cmake", "benchmarks"):
            path = os.path.join(ROOT, part)
            copy = shutil.copytree if os.path.isdir(path) else shutil.copy
            os.makedirs(self.source, exist_ok=True)
            copy(path, os.path.join(self.source, part))
        with open(os.path.join(self.source, CONSTANTS)) as file:
            self.text = file.read()
        self._run("cmake", "-S", self.source, "-B", self.build, "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                  "-DPREFIXROUTE_BUILD_TESTS=OFF", "-DPREFIXROUTE_BUILD_EXAMPLES=OFF")

    @staticmethod
    def _run(*command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            sys.exit(done.stdout)

    def make(self, name, value):
        text, count = re.subn(rf"(double {name} = )[0-9.]+;", rf"\g<1>{value!r};", self.text)
        if name is not None and count != 1:
            sys.exit(f"{name}: no such constant in {CONSTANTS}")
        with open(os.path.join(self.source, CONSTANTS), "w") as file:
            file.write(text)
        self._run("cmake", "--build", self.build, "--target", "prefixroute_replay", "-j", str(os.cpu_count()))
        return os.path.join(self.build, "benchmarks", "replay", "prefixroute_replay")


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: sweep.py directory-of-traces [name=value,value ...]")
    wanted = {}
    for argument in sys.argv[2:]:
        name, _, values = argument.partition("=")
        try:
            wanted[name] = [float(value) for value in values.split(",")]
        except ValueError:
            sys.exit(f"{argument}: not name=value,value ...")
    if not wanted:
        wanted = {name: [value / 2, value * 2] for name, value in constants().items()}

    with tempfile.TemporaryDirectory() as directory:
        variants = Variants(directory)
        replay = Replay(variants.make(None, 0), sys.argv[1])
        each(replay.capacity, replay.workloads())
        single = [(workload, load, ()) for workload in replay.workloads() for load in LOADS]
        many = [(workload, LOADS[0], ("--gateways=16",)) for workload in replay.workloads()]
        jobs = single + many
        best = dict(zip(jobs, each(lambda job: replay.seeds(*job[:2], REFERENCE if not job[2] else ["least_outstanding"],
                                                            job[2], SEED), jobs)))

        def ratios(jobs, metrics):
            rows = each(lambda job: replay.seeds(job[0], job[1], ["prefix_aware"], job[2], SEED)["prefix_aware"], jobs)
            return [geometric_mean(row[metric] / min(rule[metric] for rule in best[job].values())
                                   for job, row in zip(jobs, rows)) for metric in metrics]

        print("| constants | mean | P90 | P99 | 16 replicas: mean | P99 |\n| --- | --- | --- | --- | --- | --- |")
        tries = [(None, 0)] + [(name, value) for name, values in wanted.items() for value in values]
        for name, value in tries:
            variants.make(name, value)
            figures = ratios(single, ("mean", "p90", "p99")) + ratios(many, ("mean", "p99"))
            label = "as they are" if name is None else f"{name} {value:g}"
            print(f"| {label} | " + " | ".join(f"{figure:.3f}" for figure in figures) + " |", flush=True)


main()
