# SPDX-License-Identifier: Apache-2.0
"""The gateway in a process of its own, engines that do what a test says, and plain requests. All on loopback."""

import asyncio
import contextlib
import ctypes
import json
import logging
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import tempfile
import unittest

GATEWAY = os.environ["PREFIXROUTE_GATEWAY"]
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
PATIENCE = 30  # Seconds until what must happen counts as not happening.

# It writes of handlers that were cancelled. What engines have to complain of is asserted by GatewayTest.
logging.getLogger("asyncio").setLevel(logging.CRITICAL)

SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start_small():
    """Also with a limit of files that is the gateway's to raise."""
    die_with_parent()
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(value):
    return b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n\n"


def chat(text, **fields):
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": text}], **fields}).encode()


async def until(condition, what):
    """Waits until the condition, a function or a coroutine function, is true."""
    for _ in range(PATIENCE * 100):
        result = condition()
        if await result if asyncio.iscoroutine(result) else result:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{what}: not within {PATIENCE} s")


class Head:
    """The first line and the header of a request or an answer."""

    def __init__(self, data):
        lines = data.decode("latin-1").split("\r\n")
        self.line = lines[0]
        self.fields = [tuple(line.split(": ", 1)) for line in lines[1:] if line]

    def all(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def get(self, name, default=None):
        return next(iter(self.all(name)), default)


async def read_head(reader):
    return Head(await reader.readuntil(b"\r\n\r\n"))


async def read_chunk(reader):
    size = int(await reader.readline(), 16)
    data = await reader.readexactly(size)
    await reader.readexactly(2)
    return data


async def read_body(reader, head):
    if head.get("Transfer-Encoding") == "chunked":
        body = b""
        while data := await read_chunk(reader):
            body += data
        return body
    if head.get("Content-Length") is None and head.line.startswith("HTTP/"):
        return await reader.read()
    return await reader.readexactly(int(head.get("Content-Length", 0)))


def reset(writer):
    """Closes with RST."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Call:
    """A request that an engine has got, and the way to answer it."""

    def __init__(self, engine, head, body, reader, writer):
        self.engine, self.head, self.body, self.reader, self.writer = engine, head, body, reader, writer
        self.method, self.path = head.line.split()[:2]

    async def send(self, data):
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self, body=b"{}", status=200, headers=(), kind="application/json"):
        head = f"HTTP/1.1 {status} Said\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        await self.send((head + "".join(f"{h}\r\n" for h in headers) + "\r\n").encode() + body)

    async def stream(self, events, held=0):
        """Sends the events but the last `held` of them, and those once the engine is released."""
        await self.send(SSE + b"".join(chunk(e) for e in events[:len(events) - held]))
        if held:
            await self.hold()
        await self.send(b"".join(chunk(e) for e in events[len(events) - held:]) + b"0\r\n\r\n")

    async def hold(self):
        """Returns when the engine is released; ends the call when the gateway closes the connection before."""
        released = asyncio.ensure_future(self.engine.released.wait())
        lost = asyncio.ensure_future(self.reader.read(1))
        await asyncio.wait({released, lost}, return_when=asyncio.FIRST_COMPLETED)
        was_lost = lost.done()
        for future in (released, lost):
            future.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await future
        if was_lost:
            self.engine.aborted += 1
            raise ConnectionResetError


async def hello(call):
    await call.answer(b'{"said": "hello"}')


async def two_events(call):
    await call.stream([event({"n": 1}), event(b"[DONE]")], held=1)


class Engine:
    """Answers each POST, and each GET that is not a poll, by `behave`."""

    def __init__(self, behave=hello):
        self.behave = behave
        self.health = 200
        self.metrics = ""
        self.running = self.peak = self.total = self.aborted = self.connections = self.polls = 0
        self.calls = []
        self.complaints = []
        self.released = asyncio.Event()
        self.port = 0
        self._server = None
        self._handlers = set()

    async def start(self, listener=None):
        if listener is None:
            listener = socket.create_server(("127.0.0.1", self.port))
        self._server = await asyncio.start_server(self._serve, sock=listener, limit=1 << 26, backlog=4096)
        self.port = self._server.sockets[0].getsockname()[1]
        self.id = f"127.0.0.1:{self.port}"

    @property
    def url(self):
        return f"http://{self.id}"

    def listener(self):
        """One more holder of the socket it listens at, so that connections are not refused when it stops."""
        return self._server.sockets[0].dup()

    async def stop(self):
        """As if killed: all connections are closed. It may be started again, at the same port."""
        if self._server is None:
            return
        self._server.close()
        for handler in list(self._handlers):
            handler.cancel()
        await asyncio.gather(*self._handlers, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    async def _serve(self, reader, writer):
        self.connections += 1
        task = asyncio.current_task()
        self._handlers.add(task)
        try:
            while True:
                head = await read_head(reader)
                call = Call(self, head, await read_body(reader, head), reader, writer)
                if call.path == "/health":
                    self.polls += 1
                    await call.answer(status=self.health)
                elif call.path == "/metrics":
                    await call.answer(self.metrics.encode(), kind="text/plain")
                else:
                    await self._behave(call)
                if head.get("Connection") == "close":
                    break
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._handlers.discard(task)
            writer.close()

    async def _behave(self, call):
        self.calls.append(call)
        self.running += 1
        self.total += 1
        self.peak = max(self.peak, self.running)
        try:
            await self.behave(call)
        except AssertionError as error:
            self.complaints.append(str(error))
        finally:
            self.running -= 1


class Answer:
    """An answer of which the header has come."""

    def __init__(self, reader, writer, head):
        self.reader, self.writer, self.head = reader, writer, head
        self.status = int(head.line.split()[1])

    async def event(self):
        return await asyncio.wait_for(read_chunk(self.reader), PATIENCE)

    async def body(self):
        return await asyncio.wait_for(read_body(self.reader, self.head), PATIENCE)

    async def json(self):
        return json.loads(await self.body())

    def drop(self):
        self.writer.close()

    def reset(self):
        reset(self.writer)


class Gateway:
    def __init__(self, folder):
        self.folder = folder
        self.port = self.admin_port = None
        self.process = None
        self._writers = []

    def configure(self, engines, **config):
        """The fast polls and short limits are for tests; `config` comes over them, section by section."""
        whole = {
            "listen": "127.0.0.1:0", "threads": 2, "decision_headers": True,
            "instances": [each if isinstance(each, dict) else {"url": each.url} for each in engines],
            "health": {"interval": 0.1, "timeout": 5}, "load": {"interval": 0.1},
        }
        for key, value in config.items():
            if isinstance(value, dict):
                whole[key] = {**whole.get(key, {}), **value}
            else:
                whole[key] = value
        self.write_config(json.dumps(whole))

    def write_config(self, text):
        with open(f"{self.folder}/config.json", "w", encoding="utf-8") as file:
            file.write(text)

    async def start(self, *flags, stderr=None):
        with open(f"{self.folder}/log", "wb") as log:
            self.process = subprocess.Popen(
                [GATEWAY, "--config", f"{self.folder}/config.json", *flags], stdin=subprocess.DEVNULL,
                stdout=log, stderr=stderr or log, start_new_session=True, preexec_fn=start_small,
                # With AddressSanitizer, memory that was freed is kept for a while.
                env={**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=1"})
        await until(self._listening, "the gateway listens")

    def _listening(self):
        found = re.search(r"listens at 127\.0\.0\.1:(\d+)(?:, for metrics at 127\.0\.0\.1:(\d+))?\n", self.log())
        if found:
            self.port = int(found[1])
            self.admin_port = int(found[2] or found[1])
            return True
        if self.process.poll() is not None:
            raise AssertionError("the gateway has ended: " + self.log())
        return False

    def running(self):
        return self.process is not None and self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    async def ended(self):
        await until(lambda: not self.running(), "the gateway ends")
        return self.process.returncode

    async def stop(self):
        for writer in self._writers:
            writer.close()
        if not self.running():
            return
        self.signal(signal.SIGTERM)
        try:
            await self.ended()
        finally:
            if self.running():
                self.process.kill()
                self.process.wait()

    def log(self):
        with open(f"{self.folder}/log", encoding="utf-8", errors="replace") as log:
            return log.read()

    async def reload(self, what="has a new config"):
        count = self.log().count(what)
        self.signal(signal.SIGHUP)
        await until(lambda: self.log().count(what) > count, what)

    async def connect(self, port=None):
        reader, writer = await asyncio.open_connection("127.0.0.1", port or self.port, limit=1 << 26)
        self._writers.append(writer)
        return reader, writer

    async def open(self, body=None, path="/v1/chat/completions", method=None, headers=(), port=None):
        reader, writer = await self.connect(port)
        return await self.request(reader, writer, body, path, method, headers)

    async def request(self, reader, writer, body=None, path="/v1/chat/completions", method=None, headers=()):
        method = method or ("GET" if body is None else "POST")
        head = f"{method} {path} HTTP/1.1\r\nHost: test\r\n" + "".join(f"{h}\r\n" for h in headers)
        if body is not None:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        writer.write(head.encode() + b"\r\n" + (body or b""))
        await writer.drain()
        return Answer(reader, writer, await asyncio.wait_for(read_head(reader), PATIENCE))

    async def raw(self, data):
        """Everything that comes back until the gateway closes the connection."""
        reader, writer = await self.connect()
        writer.write(data)
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        with contextlib.suppress(ConnectionError):
            return await asyncio.wait_for(reader.read(), PATIENCE)
        return b""

    async def metrics(self):
        """By name and labels."""
        answer = await self.open(path="/metrics", headers=["Connection: close"], port=self.admin_port)
        text = (await answer.body()).decode()
        answer.drop()
        return {name: float(value) for name, value in re.findall(r"^prefixroute_([^#]\S*) (\S+)$", text, re.M)}

    async def metric(self, name):
        return (await self.metrics())[name]


class GatewayTest(unittest.IsolatedAsyncioTestCase):
    engine_count = 3

    async def asyncSetUp(self):
        asyncio.get_running_loop().set_debug(False)  # On in tests by default, and slow with thousands of streams.
        folder = tempfile.TemporaryDirectory(prefix="prefixroute-gateway-")
        self.addCleanup(folder.cleanup)
        self.gateway = Gateway(folder.name)
        self.engines = [Engine() for _ in range(self.engine_count)]
        for each in self.engines:
            await each.start()

    async def asyncTearDown(self):
        try:
            self.release()
            if self.gateway.running():
                await until(self.nothing_outstanding, "every count is 0")
        finally:
            await self.gateway.stop()
            for each in self.engines:
                await each.stop()
        self.assertEqual([each.complaints for each in self.engines if each.complaints], [])
        log = self.gateway.log()
        for trace in ("Sanitizer", "runtime error"):
            self.assertNotIn(trace, log)
        if self.gateway.process is not None:
            self.assertIn(self.gateway.process.returncode, self.exit_codes, log)

    exit_codes = (0,)

    async def nothing_outstanding(self):
        metrics = await self.gateway.metrics()
        return all(value == 0 for name, value in metrics.items() if name.startswith(("outstanding", "pending")))

    def behave(self, behaviour):
        for each in self.engines:
            each.behave = behaviour

    def release(self):
        for each in self.engines:
            each.released.set()

    async def start(self, **config):
        self.gateway.configure(self.engines, **config)
        await self.gateway.start()

    async def until_metric(self, name, value):
        async def reached():
            return await self.gateway.metric(name) == value
        await until(reached, f"{name} is {value}")

    def engine_of(self, answer):
        return next(each for each in self.engines if each.id == answer.head.get("X-Prefixroute-Instance"))
