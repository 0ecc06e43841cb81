#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nginx.conf and prefixroute.lua in a real nginx, on loopback. After every case the count must be 0 again."""

import asyncio
import collections
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(FOLDER.parent / "nginx/tests"))
for variable in ("PREFIXROUTE_NGINX_MODULE", "PREFIXROUTE_NGINX_MODULE_WITHOUT_PAYLOAD"):
    os.environ.setdefault(variable, "")  # gateway.py wants them; here is no module.

from engine import Engine  # pylint: disable=wrong-import-position
from gateway import Gateway, until  # pylint: disable=wrong-import-position

LIBRARY = os.environ["PREFIXROUTE_SHARED_LIBRARY"]
HEADER = os.environ["PREFIXROUTE_HEADER"]
BODY = b'{"prompt": "' + b"You are a helpful assistant. " * 40 + b'"}'
STRICT = "strict_prefix_bytes = 64, bound_floor = 0"


class LuaGateway(Gateway):
    def configure_lua(self, engines, workers, max_outstanding, options):
        conf = (FOLDER / "nginx.conf").read_text(encoding="ascii")
        addresses = ", ".join(f'"{each.address}"' for each in engines)
        for pattern, replacement in (
                (r"worker_processes auto;", f"daemon off;\nuser root;\nworker_processes {workers};"),
                (r'"prefixroute",', f'"{LIBRARY}",'),
                (r'"/usr/local/include/prefixroute/c.h"', f'"{HEADER}"'),
                (r"servers = {.*}", f"servers = {{{addresses}}}"),
                (r"max_outstanding = 64", f"max_outstanding = {max_outstanding}"),
                (r"options = {}", f"options = {{{options}}}"),
                (r"client_body_buffer_size 1m", "client_body_buffer_size 64k"),
                (r"listen 127.0.0.1:8080;", f"listen 127.0.0.1:{self.port} reuseport;"),
                (r"add_header X-Instance", "add_header X-Worker $pid;\n      add_header X-Instance")):
            conf, count = re.subn(pattern, replacement, conf)
            assert count == 1, f"nginx.conf has {pattern} {count} times"
        if os.geteuid() != 0:
            conf = conf.replace("user root;\n", "")
        pathlib.Path(self.folder, "nginx.conf").write_text(conf, encoding="ascii")
        shutil.copy(FOLDER / "prefixroute.lua", self.folder)

    async def status(self):
        reader, writer = await self.connect()
        writer.write(b"GET /status HTTP/1.0\r\n\r\n")
        text = (await reader.read()).decode()
        writer.close()
        return {"outstanding": int(re.search(r"^outstanding (\d+)$", text, re.M)[1])}

    async def outstanding(self):
        return (await self.status())["outstanding"]


class OpenRestyTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        folder = tempfile.TemporaryDirectory(prefix="prefixroute-openresty-")
        self.addCleanup(folder.cleanup)
        self.gateway = LuaGateway(folder.name)
        self.engines = [Engine() for _ in range(3)]
        for each in self.engines:
            await each.start()

    async def asyncTearDown(self):
        try:
            self.release()
            await self.outstanding(0)
        finally:
            await self.gateway.stop()
            for each in self.engines:
                await each.stop()
        self.assertNotRegex(self.gateway.log(), r"\[(alert|crit|emerg)\](?!.*exited on signal 9)|lua.*(abort|failed)")

    async def start(self, options=STRICT, workers=4, max_outstanding=0):
        self.gateway.configure_lua(self.engines, workers, max_outstanding, options)
        await self.gateway.start()

    def release(self):
        for each in self.engines:
            each.release()

    def hold(self):
        for each in self.engines:
            each.hold()

    async def outstanding(self, count):
        async def there():
            return await self.gateway.outstanding() == count
        await until(there, f"{count} requests outstanding")

    async def open_many(self, count, body=BODY):
        return await asyncio.gather(*(self.gateway.open(body) for _ in range(count)))

    async def finish(self, streams):
        self.release()
        for stream in streams:
            self.assertTrue((await stream.rest()).endswith(b"data: [DONE]\n\n"))
        await self.outstanding(0)

    async def get(self, body=BODY):
        self.release()
        stream = await self.gateway.open(body)
        await stream.rest()
        return stream

    async def test_relative_bound_of_all_workers_together(self):
        await self.start()
        for streams, bound in ((8, 4), (24, 10), (48, 20)):  # ceil(1.25 * streams / 3)
            with self.subTest(streams=streams):
                self.hold()
                opened = await self.open_many(streams)
                self.assertEqual(max(each.peak for each in self.engines), bound)
                await self.outstanding(streams)
                if streams == 48:
                    self.assertGreater(len({stream.headers["x-worker"] for stream in opened}), 1)
                await self.finish(opened)

    async def test_hard_bound_refuses_with_429(self):
        await self.start("", max_outstanding=10)
        opened = await self.open_many(48)
        self.assertEqual(collections.Counter(stream.status for stream in opened), {200: 30, 429: 18})
        self.assertEqual([each.peak for each in self.engines], [10, 10, 10])
        await self.finish([stream for stream in opened if stream.status == 200])

    async def test_one_prefix_has_one_home(self):
        await self.start("")
        bodies = [b"%d" % i + BODY for i in range(12)] + [b"long" + bytes([65 + i]) * 300000 for i in range(4)]
        for body in bodies:  # The long ones through a file.
            first = (await self.get(body)).headers["x-instance"]
            self.assertEqual({(await self.get(body)).headers["x-instance"] for _ in range(3)}, {first})
        self.assertEqual({each.total > 0 for each in self.engines}, {True})

    async def test_without_a_body(self):
        await self.start("")
        self.assertEqual((await self.get(b"")).status, 200)

    async def test_503_and_refused_connections_are_tried_elsewhere(self):
        await self.start()
        address = (await self.get()).headers["x-instance"]
        home = next(each for each in self.engines if each.address == address)
        home.status = 503
        answer = await self.get()
        self.assertEqual(answer.status, 200)
        tried = answer.headers["x-instance"].split(", ")
        self.assertEqual((len(tried), tried[0]), (2, home.address))
        await home.stop()
        answer = await self.get()
        self.assertEqual((answer.status, len(answer.headers["x-instance"].split(", "))), (200, 2))
        for each in self.engines:
            if each is not home:
                each.status = 503
        answer = await self.get()
        self.assertEqual((answer.status, await self.gateway.outstanding()), (503, 0))

    async def test_clients_that_leave(self):
        await self.start()
        opened = await self.open_many(6)
        await self.outstanding(6)
        for stream in opened:
            stream.drop()
        await self.outstanding(0)
        await until(lambda: sum(each.aborted for each in self.engines) == 6, "the engines see it")

    async def test_reload_with_live_streams(self):
        await self.start()
        opened = await self.open_many(9)
        await self.gateway.reload()
        await self.outstanding(9)  # The new workers' block is the old one's.
        opened += await self.open_many(15)
        self.assertEqual(max(each.peak for each in self.engines), 10)
        await self.finish(opened)

    async def test_a_killed_worker_leaves_nothing(self):
        await self.start(workers=2)
        opened = await self.open_many(12)
        victim = int(opened[0].headers["x-worker"])
        lost = [stream for stream in opened if int(stream.headers["x-worker"]) == victim]
        os.kill(victim, signal.SIGKILL)
        await self.outstanding(12 - len(lost))
        await self.finish([stream for stream in opened if stream not in lost])


if __name__ == "__main__":
    unittest.main()
