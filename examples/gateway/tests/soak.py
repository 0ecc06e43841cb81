#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""soak.py [--seconds N] [--clients N]: random requests, cancels, kills and restarts of engines, and reloads. At the end
nothing may be outstanding, memory and file descriptors must be what they were, and no request may have been lost that
an engine was up to serve.

The gateway and the engine (examples/engine) are named by PREFIXROUTE_GATEWAY and PREFIXROUTE_ENGINE."""

import argparse
import asyncio
import collections
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

from harness import PATIENCE, Gateway, die_with_parent, read_body, read_chunk, read_head, reset, until

ENGINE = os.environ["PREFIXROUTE_ENGINE"]
ENGINES = 4
PREFIXES = 40
CANCELS = 0.2
# What memory may grow by in the last three quarters of the time: the allocator's slack.
MEMORY_SLACK_KIB = 16 << 10


class EngineProcess:
    """An engine, always at one port: none that the system would give to a connection while the engine is down."""

    def __init__(self):
        while True:
            self.port = random.randrange(15_000, 32_000)
            with socket.socket() as probe:
                try:
                    probe.bind(("127.0.0.1", self.port))
                    break
                except OSError:
                    continue
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None
        self.kills = 0

    def start(self):
        self.process = subprocess.Popen(
            [ENGINE, f"--port={self.port}", "--speed=20"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, preexec_fn=die_with_parent)

    async def up(self):
        async def listens():
            try:
                (await asyncio.open_connection("127.0.0.1", self.port))[1].close()
                return True
            except OSError:
                return False
        await until(listens, "the engine listens")

    def kill(self):
        self.kills += 1
        self.process.kill()
        self.process.wait()

    def running(self):
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=PATIENCE) as page:
            lines = page.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines
                   if line.startswith(("vllm:num_requests_running", "vllm:num_requests_waiting")))


class Soak:
    def __init__(self, gateway, engines):
        self.gateway, self.engines = gateway, engines
        self.ending = False
        self.outcomes = collections.Counter()
        self.lost = []

    def body(self):
        prefix = random.randrange(PREFIXES)
        text = f"{prefix} " * random.choice((50, 500, 5_000)) + str(random.random())
        return json.dumps({"model": "example", "messages": [{"role": "user", "content": text}],
                           "stream": random.random() < 0.7, "stream_options": {"include_usage": True},
                           "max_tokens": random.choice((1, 10, 100))}).encode()

    async def client(self):
        while not self.ending:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.gateway.port, limit=1 << 26)
            except OSError as error:
                self.lost.append(f"can't connect: {error}")
                continue
            try:
                while not self.ending and random.random() < 0.9:
                    if not await self.one(reader, writer):
                        break
            finally:
                writer.close()

    async def one(self, reader, writer):
        """One request; whether the connection can carry another."""
        body = self.body()
        cancel = random.random() < CANCELS
        kills = [each.kills for each in self.engines]
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        if cancel and random.random() < 0.5:
            await asyncio.sleep(random.random() * 0.02)
            return self.cancel(writer)
        begun = False
        try:
            head = await asyncio.wait_for(read_head(reader), PATIENCE)
            status = int(head.line.split()[1])
            if status != 200:
                self.lost.append(f"{status}: {await read_body(reader, head)}")
                return True
            begun = True
            if head.get("Transfer-Encoding") is None:
                answer = await asyncio.wait_for(read_body(reader, head), PATIENCE)
                whole = json.loads(answer)["usage"] is not None
            else:
                answer = b""
                while data := await asyncio.wait_for(read_chunk(reader), PATIENCE):
                    answer += data
                    if cancel and random.random() < 0.3:
                        return self.cancel(writer)
                whole = answer.endswith(b"data: [DONE]\n\n")
        except (asyncio.IncompleteReadError, ConnectionError, ValueError) as error:
            if not begun:
                self.lost.append(f"no answer: {error!r}")
            elif kills == [each.kills for each in self.engines]:
                self.lost.append(f"broken off, while no engine was killed: {error!r}")
            self.outcomes["broken off"] += 1
            return False
        except asyncio.TimeoutError:
            self.lost.append("stuck")
            return False
        if not whole:
            self.lost.append("not whole, and yet ended well")
        self.outcomes["served"] += 1
        return True

    def cancel(self, writer):
        self.outcomes["cancelled"] += 1
        if random.random() < 0.5:
            reset(writer)
        return False

    async def kill_engines(self):
        """One at a time is down."""
        while not self.ending:
            await asyncio.sleep(random.uniform(0.3, 2))
            victim = random.choice(self.engines)
            victim.kill()
            await asyncio.sleep(random.choice((0, 0.2, 1.5)))
            victim.start()
            await victim.up()
            self.outcomes["engines killed"] += 1
            # Until the gateway knows, another one must not go: it would leave requests without an engine in the end.
            await until(self.all_well, "the gateway sees that the engine is well")

    async def all_well(self):
        metrics = await self.gateway.metrics()
        return not any(value for name, value in metrics.items() if name.startswith("draining"))

    async def reload(self):
        while not self.ending:
            await asyncio.sleep(random.uniform(0.2, 1))
            self.configure(random.random() < 0.2)
            await self.gateway.reload()
            self.outcomes["reloads"] += 1
            # Weights and the strategy change; now and then an instance goes.
            self.configure(False)

    def configure(self, without_one):
        instances = [{"url": each.url, "weight": random.choice((1, 1, 2))} for each in self.engines]
        if without_one:
            instances.pop(random.randrange(len(instances)))
        self.gateway.configure(instances, strategy=random.choice(("PREFIX_AWARE", "PREFIX_AWARE", "RANDOM")),
                               health={"interval": 0.2}, timeouts={"connect": 5})

    def memory_kib(self):
        with open(f"/proc/{self.gateway.process.pid}/status", encoding="ascii") as status:
            return int(next(line for line in status if line.startswith("VmRSS")).split()[1])

    def files(self):
        return len(os.listdir(f"/proc/{self.gateway.process.pid}/fd"))


async def run(seconds, clients):
    failures = []
    with tempfile.TemporaryDirectory(prefix="prefixroute-soak-") as folder:
        engines = [EngineProcess() for _ in range(ENGINES)]
        gateway = Gateway(folder)
        soak = Soak(gateway, engines)
        try:
            for each in engines:
                each.start()
            for each in engines:
                await each.up()
            soak.configure(False)
            await gateway.start()
            files = soak.files()
            tasks = [asyncio.create_task(soak.client()) for _ in range(clients)]
            tasks += [asyncio.create_task(soak.kill_engines()), asyncio.create_task(soak.reload())]
            begin = time.monotonic()
            warm = peak = 0
            while (now := time.monotonic() - begin) < seconds and all(not task.done() for task in tasks):
                await asyncio.sleep(0.25)
                if now < seconds / 4:
                    warm = max(warm, soak.memory_kib())
                peak = max(peak, soak.memory_kib())
            soak.ending = True
            await asyncio.gather(*tasks)

            async def outstanding():
                return (await gateway.metrics())["outstanding_all"]

            async def nothing_outstanding():
                return await outstanding() == 0
            try:
                await until(nothing_outstanding, "nothing is outstanding")
                await until(lambda: sum(each.running() for each in engines) == 0, "engines have nothing to do")
                # But for those of the polls.
                await until(lambda: soak.files() <= files + 2 * ENGINES, "file descriptors are what they were")
            except AssertionError as error:
                failures.append(str(error))
            if peak > warm + MEMORY_SLACK_KIB:
                failures.append(f"memory grew from {warm} to {peak} KiB")
            metrics = await gateway.metrics()
            print(f"{seconds} s, {clients} clients: {dict(soak.outcomes)}; retries {metrics['retries_total']:.0f}; "
                  f"memory {warm} KiB in the first quarter, {peak} KiB at most; file descriptors {files} at the start, "
                  f"{soak.files()} at the end; lost {len(soak.lost)}", flush=True)
        finally:
            await gateway.stop()
            for each in engines:
                if each.process is not None:
                    each.kill()
        if gateway.process.returncode != 0:
            failures.append(f"the gateway has ended with {gateway.process.returncode}: {gateway.log()[-3000:]}")
    failures += soak.lost[:20]
    if not soak.outcomes["served"] or not soak.outcomes["engines killed"] or not soak.outcomes["reloads"]:
        failures.append(f"too little has happened: {dict(soak.outcomes)}")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--clients", type=int, default=32)
    arguments = parser.parse_args()
    failures = asyncio.run(run(arguments.seconds, arguments.clients))
    for failure in failures:
        print(f"FAILED: {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
