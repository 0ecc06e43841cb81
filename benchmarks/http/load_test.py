#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""prefixroute_http_load against engines, with no proxy between."""

import http.client
import os
import re
import subprocess
import tempfile
import unittest

import proxies

BUILD = os.environ["PREFIXROUTE_BUILD"]
LOAD = f"{BUILD}/benchmarks/http/prefixroute_http_load"
SMALL = ["--limit=40", "--applications=2", "--prefix_tokens=640", "--question_tokens=32", "--output_tokens=4"]


class LoadTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="prefixroute-load-")
        self.addCleanup(self._folder.cleanup)

    def engine(self, speed):
        engines = proxies.Engines(f"{BUILD}/examples/engine/example_engine", 1, [f"--speed={speed}"])
        self.addCleanup(engines.__exit__)
        return engines.addresses[0]

    def load(self, address, flags, engines=()):
        return proxies.load(LOAD, address.split(":")[1], engines, flags, self._folder.name)

    def peak(self, address):
        connection = http.client.HTTPConnection(address, timeout=proxies.PATIENCE)
        self.addCleanup(connection.close)
        connection.request("GET", "/metrics")
        metrics = connection.getresponse().read().decode()
        return int(re.search(r"^engine_requests_peak\{.*\} (\d+)$", metrics, re.M)[1])

    def test_closed_loop(self):
        address = self.engine(5)
        report = self.load(address, ["--concurrency=4", "--engine_speed=5", *SMALL], [address])
        self.assertEqual((report["requests"], report["failed"], self.peak(address)), (40, 0, 4))
        (engine,) = report["engines"]
        self.assertEqual((engine["requests"], engine["prompt_tokens"]), (40, report["prompt_tokens"]))
        self.assertEqual(engine["hit_rate"], report["hit_rate"])
        # Of the two applications' prompts the first requests find nothing; four come at once.
        self.assertGreater(report["hit_rate"], 0.75)
        self.assertLess(report["hit_rate"], 0.95)
        # A step takes 20 ms of the engine's time, whatever the clock says.
        self.assertGreaterEqual(report["ttft_seconds"]["p50"], 0.02)

    def test_open_loop_waits_for_nobody(self):
        address = self.engine(1)
        report = self.load(address, ["--rate=1000", *SMALL])
        self.assertEqual(report["failed"], 0)
        self.assertGreater(self.peak(address), 4)

    def test_failures_are_counted(self):
        report = self.load(f"127.0.0.1:{proxies.free_port()}", ["--rate=1000", *SMALL])
        self.assertEqual((report["failed"], report["errors"]), (40, {"connect: Connection refused": 40}))

    def test_what_is_wrong_is_said(self):
        for flags, code, complaint in ((["--speed=0"], 2, "--speed=0: not above 0"),
                                       (["nowhere.jsonl"], 1, "nowhere.jsonl"),
                                       ([f"--engines=127.0.0.1:{proxies.free_port()}", "--limit=1"], 1, "/metrics")):
            done = subprocess.run([LOAD, *flags], capture_output=True, text=True, timeout=proxies.PATIENCE, check=False)
            self.assertEqual(done.returncode, code)
            self.assertIn(complaint, done.stderr)


if __name__ == "__main__":
    unittest.main()
