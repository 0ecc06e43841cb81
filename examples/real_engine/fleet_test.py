#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Three real engines behind the gateway, by RANDOM and by PREFIX_AWARE: what the clients and the engines see of it.

fleet_test.py prefixroute_gateway directory

Installs node-llama-cpp from npm into the directory (83 MB, kept there), makes a model, and fails if PREFIX_AWARE does
not keep what README.md says. Needs Node.js 20 or newer and npm; without them, or if npm can't install, it says SKIPPED.
"""

import concurrent.futures
import contextlib
import http.client
import json
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ENGINES = 3
PREFIXES = 8
PREFIX_TOKENS = 4000
SLOTS = "6"  # Of each engine, each with room for one prefix: what all engines can keep is twice what there is.
REQUESTS_OF_A_PREFIX = 16
AT_ONCE = 6
MAX_TOKENS = 8


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(0)


def install(directory):
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm:
        skip("Node.js and npm are not installed")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(re.match(r"v(\d+)", version)[1]) < 20:
        skip(f"Node.js is {version}, and must be 20 or newer")
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json", "engine.mjs"):
        shutil.copy(HERE / name, directory)
    if not (directory / "node_modules" / "node-llama-cpp").exists():
        # Without optional packages: those are builds for graphics processors, 600 MB.
        done = subprocess.run([npm, "ci", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund"],
                              cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=300)
        if done.returncode != 0:
            shutil.rmtree(directory / "node_modules", ignore_errors=True)
            skip("npm can't install node-llama-cpp: " + done.stdout.strip()[-300:])
    subprocess.run([sys.executable, HERE / "make_model.py", directory / "model.gguf"], check=True)
    return node


@contextlib.contextmanager
def running(command, first_line, stream, **options):
    """Starts a program; gives the match of the line by which it says that it is ready; ends it."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True, **{stream: subprocess.PIPE}, **options) as process:
        try:
            lines = []
            for line in getattr(process, stream):
                lines.append(line)
                if match := re.search(first_line, line):
                    break
            else:
                sys.exit("".join(lines) + f"{command[0]} has ended")
            yield match
        finally:
            process.terminate()


def request(address, prefix, number):
    """The time to the first token, and the usage."""
    body = json.dumps({"model": "random", "stream": True, "stream_options": {"include_usage": True},
                       "max_tokens": MAX_TOKENS,
                       "messages": [{"role": "system", "content": prefix}, {"role": "user", "content": f"{number:06}"}]})
    connection = http.client.HTTPConnection(address, timeout=120)
    begin = time.monotonic()
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        sys.exit(f"status {response.status}: {response.read()!r}")
    first = usage = None
    tokens = 0
    for line in response:
        if not line.startswith(b"data: {"):
            continue
        first = first or time.monotonic() - begin
        event = json.loads(line[len(b"data: "):])
        usage = event.get("usage") or usage
        tokens += any(choice["delta"].get("content") for choice in event["choices"])
    connection.close()
    assert tokens == MAX_TOKENS and usage is not None, (tokens, usage)
    return first, usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]


def sum_of(metrics, name):
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", metrics, re.MULTILINE))


def measure(gateway, node, directory, strategy):
    draw = random.Random(1)
    prefixes = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz ", k=PREFIX_TOKENS)) for _ in range(PREFIXES)]
    order = prefixes * REQUESTS_OF_A_PREFIX
    draw.shuffle(order)
    with contextlib.ExitStack() as programs:
        command = [node, directory / "engine.mjs", "--model", directory / "model.gguf", "--slots", SLOTS]
        engines = [programs.enter_context(running(command, r"^(\d+)$", "stdout", cwd=directory))[1]
                   for _ in range(ENGINES)]
        command = [gateway, "--listen", "127.0.0.1:0", "--strategy", strategy]
        for port in engines:
            command += ["--instance", f"http://127.0.0.1:{port}"]
        address = programs.enter_context(running(command, r"listens at (\S+)", "stderr"))[1]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            answers = list(pool.map(lambda job: request(address, job[1], job[0]), enumerate(order)))
        with urllib.request.urlopen(f"http://{address}/metrics") as response:
            metrics = response.read().decode()
    times = sorted(first for first, _, _ in answers)
    prompt_tokens = sum_of(metrics, "prefixroute_prompt_tokens_total")
    assert prompt_tokens == sum(prompt for _, prompt, _ in answers), "the gateway did not see every usage"
    assert sum_of(metrics, "prefixroute_outstanding_all") == 0
    return {"p50": statistics.median(times), "p90": times[len(times) * 9 // 10],
            "hits": sum(cached for _, _, cached in answers) / prompt_tokens,
            "expected": sum_of(metrics, "prefixroute_expected_cached_tokens_total") / prompt_tokens}


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: fleet_test.py prefixroute_gateway directory")
    gateway, directory = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    node = install(directory)
    print("| strategy | TTFT P50 | P90 | prompt tokens that the engines found cached | that the router expected |")
    print("| --- | --- | --- | --- | --- |")
    results = {}
    for strategy in ("RANDOM", "PREFIX_AWARE"):
        result = results[strategy] = measure(gateway, node, directory, strategy)
        expected = "" if strategy == "RANDOM" else f"{result['expected']:.0%}"
        print(f"| {strategy} | {1000 * result['p50']:.0f} ms | {1000 * result['p90']:.0f} ms | {result['hits']:.0%} | "
              f"{expected} |", flush=True)
    own = results["PREFIX_AWARE"]
    assert own["p50"] <= results["RANDOM"]["p50"] / 3, "TTFT P50 is above a third of RANDOM's"
    assert own["hits"] >= 0.85, "the engines found less than 85 % cached"
    assert abs(own["hits"] - own["expected"]) <= 0.1, "the router expected more than 10 points more or less"


main()
