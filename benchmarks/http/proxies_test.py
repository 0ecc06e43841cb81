#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A short trace through real proxies to real sockets: what the simulator says must come true."""

import gzip
import json
import os
import random
import subprocess
import tempfile
import unittest

import proxies

BUILD = os.environ["PREFIXROUTE_BUILD"]
ENGINES = 8
APPLICATIONS = 32
REQUESTS = 400
# Of a prompt of 1,050 tokens; an engine keeps 7 of the 32 applications.
CACHE_TOKENS = 8000
ENGINE_SPEED = 2


def write_trace(path):
    """40 requests a second, each of a random application with 4,000 bytes of its own, and a new question."""
    draw = random.Random(1)
    instructions = ["".join(draw.choices("abcdefgh \"\n", k=4000)) for _ in range(APPLICATIONS)]
    with gzip.open(path, "wt", encoding="ascii") as trace:
        for i in range(REQUESTS):
            prompt = draw.choice(instructions) + "".join(draw.choices("abcdefgh ", k=200))
            trace.write(json.dumps({"timestamp": i * 25, "prompt": prompt, "output_bytes": 40}) + "\n")


class ProxiesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory(prefix="prefixroute-proxies-")
        cls.addClassCleanup(cls._folder.cleanup)
        cls.trace = f"{cls._folder.name}/trace.jsonl.gz"
        write_trace(cls.trace)
        report = f"{cls._folder.name}/simulated.json"
        subprocess.run([f"{BUILD}/benchmarks/replay/prefixroute_replay", f"--instances={ENGINES}",
                        f"--cache_tokens={CACHE_TOKENS}", "--rules=prefix_aware,least_outstanding",
                        f"--json={report}", cls.trace], check=True, stdout=subprocess.DEVNULL)
        with open(report, encoding="utf-8") as simulated:
            cls.simulated = {row["rule"]: row["hit_rate"] for row in json.load(simulated)[0]["rules"]}

    def hit_rate(self, make_front):
        with tempfile.TemporaryDirectory(prefix="prefixroute-proxies-") as folder:
            with proxies.Engines(f"{BUILD}/examples/engine/example_engine", ENGINES,
                                 [f"--cache_tokens={CACHE_TOKENS}", f"--speed={ENGINE_SPEED}"]) as engines:
                with make_front(folder, engines.addresses) as front:
                    report = proxies.load(f"{BUILD}/benchmarks/http/prefixroute_http_load", front.port,
                                          engines.addresses, [f"--engine_speed={ENGINE_SPEED}", self.trace], folder)
        self.assertEqual(report["failed"], 0, report["errors"])
        self.assertEqual(sum(engine["requests"] for engine in report["engines"]), REQUESTS)
        return report["hit_rate"]

    def test_nginx_prefix_aware(self):
        module = f"{BUILD}/examples/nginx/ngx_http_prefixroute_module.so"
        ours = self.hit_rate(lambda folder, engines: proxies.nginx_prefix_route(folder, engines, module))
        others = self.hit_rate(lambda folder, engines: proxies.nginx(folder, engines, balance="least_conn;"))
        self.assertGreater(ours, others + 0.3)
        self.assertAlmostEqual(ours / self.simulated["prefix_aware"], 1, delta=0.05)

    @unittest.skipUnless(proxies.program("haproxy"), "haproxy is not installed")
    def test_haproxy_hash(self):
        self.assertGreater(self.hit_rate(lambda folder, engines: proxies.haproxy_hash(folder, engines, 2000)),
                           self.simulated["least_outstanding"] + 0.15)


if __name__ == "__main__":
    unittest.main()
