# SPDX-License-Identifier: Apache-2.0
"""A small engine on loopback, which answers by server-sent events and counts what it has at once, itself."""

import asyncio
import contextlib
import sys

HEADER = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


async def read_head(reader):
    lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
    return lines[0], headers


async def read_body(reader, headers):
    if headers.get("transfer-encoding") != "chunked":
        return await reader.readexactly(int(headers.get("content-length", 0)))
    body = b""
    while size := int(await reader.readline(), 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body


NOTHING, HEADER_ONLY, FIRST_EVENT = range(3)


class Engine:
    """Sends the beginning of each answer, and the rest when release() is called; with `status`, that alone."""

    def __init__(self):
        self.status = None
        self.beginning = FIRST_EVENT
        self.running = self.peak = self.total = self.aborted = self.connections = 0
        self.bodies = []
        self._released = asyncio.Event()
        self._handlers = set()

    async def start(self, port=0):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, limit=1 << 20)
        self.port = self._server.sockets[0].getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"

    async def stop(self):
        self._server.close()
        for handler in list(self._handlers):
            handler.cancel()
        await self._server.wait_closed()

    def release(self):
        self._released.set()

    def hold(self):
        self._released.clear()
        self.peak = self.total = self.aborted = 0
        self.bodies.clear()

    async def _serve(self, reader, writer):
        self.connections += 1
        task = asyncio.current_task()
        self._handlers.add(task)
        try:
            while True:
                await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._handlers.discard(task)
            writer.close()

    async def _answer(self, reader, writer):
        _, headers = await read_head(reader)
        self.running += 1
        self.total += 1
        self.peak = max(self.peak, self.running)
        try:
            self.bodies.append(await read_body(reader, headers))
            if self.status is not None:
                writer.write(b"HTTP/1.1 %d Sorry\r\nContent-Length: 0\r\n\r\n" % self.status)
                return await writer.drain()
            answer = [HEADER, chunk(b"data: first\n\n"), chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"]
            begun = self.beginning
            writer.write(b"".join(answer[:begun]))
            await writer.drain()
            if not await self._wait_or_lose(reader):
                self.aborted += 1
                raise ConnectionResetError
            writer.write(b"".join(answer[begun:]))
            await writer.drain()
        finally:
            self.running -= 1

    async def _wait_or_lose(self, reader):
        """Whether the answer was released before the peer was gone."""
        released = asyncio.ensure_future(self._released.wait())
        lost = asyncio.ensure_future(reader.read(1))
        await asyncio.wait({released, lost}, return_when=asyncio.FIRST_COMPLETED)
        was_lost = lost.done()
        for future in (released, lost):
            future.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await future
        return not was_lost


async def main(ports):
    """Engines that answer at once, on those ports."""
    engines = [Engine() for _ in ports]
    for engine, port in zip(engines, ports):
        engine.release()
        await engine.start(port)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main([int(port) for port in sys.argv[1:]]))
