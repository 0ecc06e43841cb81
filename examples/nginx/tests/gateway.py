# SPDX-License-Identifier: Apache-2.0
"""nginx with the module, in a folder of its own, and requests to it."""

import asyncio
import ctypes
import os
import re
import signal
import socket
import subprocess

from engine import read_body, read_head

MODULE = os.environ["PREFIXROUTE_NGINX_MODULE"]
MODULE_WITHOUT_PAYLOAD = os.environ["PREFIXROUTE_NGINX_MODULE_WITHOUT_PAYLOAD"]
NGINX = os.environ.get("PREFIXROUTE_NGINX", "nginx")
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
PATIENCE = 20  # Seconds until what must happen counts as not happening.

CONF = """
{user}
daemon off;
worker_processes {workers};
pid {folder}/pid;
error_log {folder}/error.log info;
load_module {module};
events {{ worker_connections 512; }}
http {{
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  access_log {folder}/access.log;
  client_max_body_size 8m;
  upstream engines {{
    {upstream}
  }}
  server {{
    listen 127.0.0.1:{port} reuseport;
    listen 127.0.0.1:{http2_port} http2 reuseport;
    location / {{
      proxy_pass http://engines;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_next_upstream error timeout http_503 non_idempotent;
      add_header X-Instance $prefix_route_instance always;
      add_header X-Reason $prefix_route_reason always;
      add_header X-Rank $prefix_route_rank always;
      add_header X-Matched $prefix_route_matched_bytes always;
      add_header X-Form $prefix_route_form always;
      add_header X-Worker $pid always;
      {location}
    }}
    location = /status {{ prefix_route_status; }}
    {server}
  }}
}}
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


async def until(condition, what):
    """Waits until the condition, a function or a coroutine function, is true."""
    for _ in range(PATIENCE * 50):
        result = condition()
        if await result if asyncio.iscoroutine(result) else result:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"{what}: not within {PATIENCE} s")


class Stream:
    """One request, of whose answer the header has come."""

    def __init__(self, reader, writer, status, headers):
        self._reader, self._writer = reader, writer
        self.status, self.headers = status, headers

    async def first(self):
        """The first event."""
        size = int(await self._reader.readline(), 16)
        event = await self._reader.readexactly(size)
        await self._reader.readline()
        return event

    async def rest(self):
        body = await asyncio.wait_for(read_body(self._reader, self.headers), PATIENCE)
        self.drop()
        return body

    def drop(self):
        self._writer.close()


class Gateway:
    def __init__(self, folder):
        self.folder = str(folder)
        self.port, self.http2_port = free_ports(2)
        self._process = None
        self._writers = []

    def configure(self, upstream, workers=2, location="", server="", module=MODULE):
        user = "user root;" if os.geteuid() == 0 else ""
        with open(f"{self.folder}/nginx.conf", "w", encoding="ascii") as conf:
            conf.write(CONF.format(folder=self.folder, port=self.port, http2_port=self.http2_port,
                                   **{k: v for k, v in locals().items() if k not in ("self", "conf")}))

    def _command(self, *more):
        return [NGINX, "-p", self.folder, "-c", f"{self.folder}/nginx.conf", "-e", f"{self.folder}/error.log", *more]

    def check(self):
        """What `nginx -t` says, and whether it is content."""
        done = subprocess.run(self._command("-t"), capture_output=True, text=True, timeout=PATIENCE, check=False)
        return done.returncode == 0, done.stderr

    async def start(self):
        # In a group of its own, to be killed as one; ended by the system if this process is.
        self._process = subprocess.Popen(self._command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                         start_new_session=True,
                                         preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM))
        await until(self._answers, "nginx answers")

    async def _answers(self):
        if self._process.poll() is not None:
            raise AssertionError("nginx has ended: " + self.log())
        try:
            await self.status()
            return True
        except OSError:
            return False

    def running(self):
        return self._process is not None and self._process.poll() is None

    async def stop(self):
        for writer in self._writers:
            writer.close()
        if self.running():
            self._process.terminate()
            try:
                await until(lambda: self._process.poll() is not None, "nginx ends")
            finally:
                if self.running():
                    os.killpg(self._process.pid, signal.SIGKILL)

    def workers(self):
        children = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(self._process.pid)], capture_output=True,
                                  text=True, check=False).stdout.splitlines()
        return {int(line.split()[0]): "shutting down" in line for line in children if "worker process" in line}

    def send(self, signal_number):
        self._process.send_signal(signal_number)

    async def reload(self):
        """Returns when the new workers have taken over."""
        before = set(self.workers())
        self.send(signal.SIGHUP)
        await until(lambda: all(old or pid not in before for pid, old in self.workers().items()) and
                    any(pid not in before for pid in self.workers()), "new workers")

    def log(self):
        if not os.path.exists(f"{self.folder}/error.log"):
            return ""
        with open(f"{self.folder}/error.log", encoding="utf-8", errors="replace") as log:
            return log.read()

    async def connect(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 20)
        self._writers.append(writer)
        return reader, writer

    async def open(self, body=b"", path="/", chunked=False, headers=()):
        reader, writer = await self.connect()
        head = f"POST {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n" + "".join(f"{h}\r\n" for h in headers)
        if chunked:
            writer.write(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n")
            for begin in range(0, len(body), 1000):
                piece = body[begin:begin + 1000]
                writer.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            writer.write(b"0\r\n\r\n")
        else:
            writer.write(head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        try:
            await writer.drain()
            first_line, answer_headers = await asyncio.wait_for(read_head(reader), PATIENCE)
        except BaseException:
            writer.close()
            raise
        return Stream(reader, writer, int(first_line.split()[1]), answer_headers)

    async def status(self):
        """The status page, by name and labels."""
        reader, writer = await self.connect()
        writer.write(b"GET /status HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
        _, headers = await asyncio.wait_for(read_head(reader), PATIENCE)
        text = (await read_body(reader, headers)).decode()
        writer.close()
        return {name: int(value) for name, value in re.findall(r"^([^#].*) (\d+)$", text, re.M)}

    async def outstanding(self):
        return (await self.status())['prefix_route_outstanding_all{upstream="engines"}']
