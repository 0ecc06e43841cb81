#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""haproxy.cfg in a real HAProxy, on loopback: what README.md says that it can."""

import asyncio
import ctypes
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FOLDER.parent / "nginx/tests"))
for variable in ("PREFIXROUTE_NGINX_MODULE", "PREFIXROUTE_NGINX_MODULE_WITHOUT_PAYLOAD"):
    os.environ.setdefault(variable, "")  # gateway.py wants them; here is no module.

from engine import Engine, read_head  # pylint: disable=wrong-import-position
from gateway import PATIENCE, Stream, free_ports, until  # pylint: disable=wrong-import-position

HAPROXY = os.environ["PREFIXROUTE_HAPROXY"]
CONF = FOLDER / "haproxy.cfg"
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
BODY = b'{"prompt": "' + b"You are a helpful assistant. " * 40 + b'"}'


class HaproxyTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.engines = [Engine() for _ in range(3)]
        for each in self.engines:
            await each.start()
        (self.port,) = free_ports(1)
        folder = tempfile.TemporaryDirectory(prefix="prefixroute-haproxy-")
        self.addCleanup(folder.cleanup)
        conf = CONF.read_text(encoding="ascii").replace("127.0.0.1:8080", f"127.0.0.1:{self.port}")
        for i, each in enumerate(self.engines):
            conf = conf.replace(f"127.0.0.1:800{i + 1}", each.address)
        self.assertIsNone(re.search(r":80\d\d\b", conf))
        pathlib.Path(folder.name, "haproxy.cfg").write_text(conf, encoding="ascii")
        self._process = subprocess.Popen([HAPROXY, "-db", "-f", f"{folder.name}/haproxy.cfg"],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                         preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        await until(self._answers, "HAProxy answers")

    async def _answers(self):
        self.assertIsNone(self._process.poll(), "HAProxy has ended")
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.close()
            await writer.wait_closed()
            return True
        except OSError:
            return False

    async def asyncTearDown(self):
        self._process.kill()
        self._process.wait()
        for each in self.engines:
            await each.stop()

    async def open(self, body=BODY):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20)
        writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: test\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        status, headers = await asyncio.wait_for(read_head(reader), PATIENCE)
        return Stream(reader, writer, int(status.split()[1]), headers)

    def release(self):
        for each in self.engines:
            each.release()

    async def get(self, body=BODY):
        self.release()
        stream = await self.open(body)
        await stream.rest()
        return stream

    async def test_the_bound(self):
        for streams, bound in ((8, 4), (24, 10), (48, 20)):  # ceil(1.25 * streams / 3)
            with self.subTest(streams=streams):
                for each in self.engines:
                    each.hold()
                opened = await asyncio.gather(*(self.open() for _ in range(streams)))
                # Who of them gets what is left of a division, HAProxy decides by their order.
                self.assertIn(max(each.peak for each in self.engines), (bound - 1, bound))
                self.release()
                for stream in opened:
                    self.assertTrue((await stream.rest()).endswith(b"data: [DONE]\n\n"))

    async def test_the_first_bytes_decide(self):
        same = BODY.ljust(4096, b" ")
        homes = {(await self.get(same + b"%d" % i)).headers["x-instance"] for i in range(8)}
        self.assertEqual(len(homes), 1)
        others = {(await self.get(b"%d" % i + same)).headers["x-instance"] for i in range(40)}
        self.assertEqual(len(others), 3)

    async def test_503_is_tried_elsewhere(self):
        home = int((await self.get()).headers["x-instance"][len("engine"):]) - 1
        self.engines[home].status = 503
        answer = await self.get()
        self.assertEqual(answer.status, 200)
        self.assertNotEqual(answer.headers["x-instance"], f"engine{home + 1}")

    async def test_clients_that_leave(self):
        opened = [await self.open() for _ in range(6)]
        for stream in opened:
            stream.drop()
        await until(lambda: sum(each.aborted for each in self.engines) == 6, "the engines see it")


class ConfigurationTest(unittest.TestCase):
    def test_haproxy_has_no_complaint(self):
        done = subprocess.run([HAPROXY, "-c", "-f", CONF], capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual((done.returncode, "WARNING" in done.stderr + done.stdout), (0, False), done.stderr)


if __name__ == "__main__":
    unittest.main()
