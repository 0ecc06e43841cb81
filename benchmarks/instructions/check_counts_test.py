#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_counts.py passes on the counts that it found itself, and fails on others.

check_counts_test.py prefixroute_instructions
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("check_counts.py")
PROGRAM = sys.argv.pop()


class CheckCountsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.counts = pathlib.Path(cls.folder.name, "counts.json")
        run = cls.check("--update")
        if run.stdout.startswith("skipped: "):
            raise unittest.SkipTest(run.stdout)
        cls.found = json.loads(cls.counts.read_text())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def check(cls, *flags):
        return subprocess.run([sys.executable, SCRIPT, *flags, "--counts", cls.counts, PROGRAM], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    def check_doctored(self, **changes):
        """By case, what the count kept is multiplied by."""
        doctored = json.loads(json.dumps(self.found))
        for name in changes:
            doctored["instructions_a_call"][name] = round(doctored["instructions_a_call"][name] * changes[name], 1)
        self.counts.write_text(json.dumps(doctored))
        return doctored["instructions_a_call"], self.check()

    def test_passes_on_the_counts_found(self):
        _, run = self.check_doctored()
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn(f"{len(self.found['instructions_a_call'])} cases", run.stdout)

    def test_passes_on_what_is_within_the_tolerance(self):
        _, run = self.check_doctored(**{"MakePrefixKey 256": 1.02, "Route strict 7": 0.98})
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_names_what_became_dearer_and_what_became_cheaper(self):
        kept, run = self.check_doctored(**{"MakePrefixKey 256": 1.1, "Route strict 7": 0.9})
        found = self.found["instructions_a_call"]
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertRegex(run.stdout, f"MakePrefixKey 256: {found['MakePrefixKey 256']} .* less .* "
                                     f"{kept['MakePrefixKey 256']} kept")
        self.assertRegex(run.stdout, f"Route strict 7: {found['Route strict 7']} .* more .* "
                                     f"{kept['Route strict 7']} kept")
        self.assertEqual(run.stdout.count(" kept\n"), 2, run.stdout)
        self.assertIn("--update", run.stdout)

    def test_names_a_case_without_a_count_and_a_count_without_a_case(self):
        doctored = json.loads(json.dumps(self.found))
        doctored["instructions_a_call"]["Gone"] = doctored["instructions_a_call"].pop("MakePrefixKey 256")
        self.counts.write_text(json.dumps(doctored))
        run = self.check()
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("MakePrefixKey 256: ", run.stdout)
        self.assertIn("Gone: ", run.stdout)

    def test_skips_another_build(self):
        self.counts.write_text(json.dumps({**self.found, "build": "x86_64, GNU 2, Debug"}))
        run = self.check()
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("skipped: the counts are of x86_64, GNU 2, Debug", run.stdout)


unittest.main()
