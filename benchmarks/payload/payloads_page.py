#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures, and writes the table of docs/payloads.md.

payloads_page.py prefixroute_payload_benchmark
"""

import json
import pathlib
import re
import statistics
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/payloads.md"
REPETITIONS = 5
SIZES = {2048: "2 KiB", 32768: "32 KiB", 1048576: "1 MiB"}
BODIES = {
    "few_long_messages": "4 messages, in lines of some 80 bytes",
    "many_short_messages": "messages of some 150 bytes",
    "source_code": "source code: `\\\"`, `\\t`, `\\n`",
    "escaped_text": "Chinese as `\\uXXXX`",
    "many_tools": "three quarters tools",
    "image": "an image in base64",
    "token_ids": "`input_ids`",
}
TIMES = ["ns", "read_ns", "hash_ns", "index_ns", "walk_ns"]


def measure(program):
    """The program's context; by body, size and counter, the medians over repetitions, which come in random order."""
    command = [program, f"--benchmark_repetitions={REPETITIONS}", "--benchmark_enable_random_interleaving=true",
               "--benchmark_min_time=0.05", "--benchmark_format=json"]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    samples = {}
    for row in report["benchmarks"]:
        if row.get("error_occurred"):
            sys.exit(f"payloads_page.py: {row['name']}: {row['error_message']}")
        if row["run_type"] == "iteration":
            body, size = re.match(r"BM_Read/(\w+)/bytes:(\d+)/", row["name"]).groups()
            for counter in ["gb_per_s"] + TIMES:
                samples.setdefault((body, int(size), counter), []).append(row[counter])
    return report["context"], {key: statistics.median(values) for key, values in samples.items()}


def processor():
    info = pathlib.Path("/proc/cpuinfo").read_text()
    name, family, model = (re.search(rf"^{field}\s*: (.*)$", info, re.MULTILINE)[1]
                           for field in ("model name", "cpu family", "model"))
    return f"{name} (family {family}, model {model})"


def microseconds(nanoseconds):
    value = nanoseconds / 1000
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    context, found = measure(sys.argv[1])
    lines = [f"Microseconds, medians of {REPETITIONS} repetitions in random order, on a shared virtual machine, "
             f"{processor()}; {context['compiler']}, {context['flags']}.", "",
             "| body | of | GB/s | `Read()` | bytes read once | XXH3 | simdjson: index | simdjson: all values |",
             "| --- " * 8 + "|"]
    for size, size_text in SIZES.items():
        for body, text in BODIES.items():
            times = [microseconds(found[body, size, counter]) for counter in TIMES]
            lines.append(f"| {size_text} | {text} | {found[body, size, 'gb_per_s']:.2f} | {' | '.join(times)} |")
    PAGE.write_text(re.sub(r"(<!-- begin cost -->\n).*?(<!-- end cost -->)",
                           lambda match: match[1] + "\n".join(lines) + "\n" + match[2],
                           PAGE.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    main()
