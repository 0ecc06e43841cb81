#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the hot calls to the instructions that they are known to take, within 3 %.

check_counts.py [--update] [--counts FILE] prefixroute_instructions

Counts by valgrind's callgrind, and compares with counts.json beside this script. Fails where a call takes more, or
less: what became cheaper must not become dearer again. --update writes the counts found. Counts hold for one compiler
and build type, with AVX2, which is the widest that valgrind knows: with others this checks nothing, and says so.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

TOLERANCE = 0.03
MEASURED = "PrefixrouteMeasured"


def describe(program):
    """What the program was built with, and which vectors the machine has."""
    lines = subprocess.run([program, "--describe"], check=True, capture_output=True, text=True).stdout.splitlines()
    return dict(line.split(" ", 1) for line in lines)


def instructions(dump):
    for line in dump.read_text().splitlines():
        if line.startswith("summary: "):
            return int(line.split()[1])
    sys.exit(f"check_counts.py: callgrind wrote no summary to {dump.name}")


def measure(program):
    """Instructions a call, by case."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "out")
        run = subprocess.run(
            ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", f"--zero-before={MEASURED}",
             f"--dump-after={MEASURED}", program],
            check=True, stdout=subprocess.PIPE, text=True)
        cases = [line.split(" ", 1)[1].rsplit(" ", 1) for line in run.stdout.splitlines() if line.startswith("case ")]
        dumps = [pathlib.Path(f"{out}.{number}") for number in range(1, len(cases) + 1)]
        one_more = pathlib.Path(f"{out}.{len(cases) + 1}")
        if not cases or not all(dump.exists() for dump in dumps) or one_more.exists():
            sys.exit(f"check_counts.py: callgrind doesn't have one dump for each of the {len(cases)} cases")
        return {name: round(instructions(dump) / int(calls), 1)
                for (name, calls), dump in zip(cases, dumps)}


def complaints(kept, found):
    for name in sorted(kept.keys() | found.keys()):
        if name not in kept:
            yield f"{name}: {found[name]} instructions a call, and no count is kept"
        elif name not in found:
            yield f"{name}: a count of {kept[name]} is kept, and there is no such case"
        elif abs(found[name] - kept[name]) > TOLERANCE * kept[name]:
            word = "more" if found[name] > kept[name] else "less"
            yield (f"{name}: {found[name]} instructions a call, {abs(found[name] / kept[name] - 1):.1%} {word} than the "
                   f"{kept[name]} kept")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the counts found")
    parser.add_argument("--counts", type=pathlib.Path, default=pathlib.Path(__file__).with_name("counts.json"))
    parser.add_argument("program")
    arguments = parser.parse_args()

    about = describe(arguments.program)
    if about["vectors"] != "AVX2":
        print("skipped: this machine has no AVX2, with which the counts were found")
        return
    if arguments.update:
        counts = {"build": about["build"], "instructions_a_call": measure(arguments.program)}
        arguments.counts.write_text(json.dumps(counts, indent=2) + "\n")
        return
    kept = json.loads(arguments.counts.read_text())
    if about["build"] != kept["build"]:
        print(f"skipped: the counts are of {kept['build']}, and the program is of {about['build']}")
        return
    found = measure(arguments.program)
    failed = list(complaints(kept["instructions_a_call"], found))
    for complaint in failed:
        print(complaint)
    if failed:
        sys.exit(f"Where that is meant: {sys.argv[0]} --update {arguments.program}")
    print(f"{len(found)} cases take what they did, within {TOLERANCE:.0%}")


main()
