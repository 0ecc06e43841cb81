# SPDX-License-Identifier: Apache-2.0
"""Engines, the proxies that can stand before them, and a load, all on loopback. What is started ends with this process,
however that ends."""

import ctypes
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
PATIENCE = 20  # Seconds until what must happen counts as not happening.


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Process:
    """A group of processes of its own, to be killed as one."""

    def __init__(self, command, **more):
        self._process = subprocess.Popen(command, start_new_session=True,
                                         preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM), **more)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def running(self):
        return self._process.poll() is None


class Engines(Process):
    def __init__(self, program, count, flags):
        super().__init__([program, f"--engines={count}", *flags], stdout=subprocess.PIPE, text=True)
        line = self._process.stdout.readline()
        self._process.stdout.close()
        if not line:
            raise RuntimeError(f"{program} has ended at once")
        self.addresses = json.loads(line)["engines"]


class Proxy(Process):
    """One that listens on `port`; what it says goes to `folder`."""

    def __init__(self, command, folder, port):
        self.port = port
        with open(f"{folder}/output", "wb") as output:
            super().__init__(command, stdout=output, stderr=output)
        try:
            self._wait(folder)
        except BaseException:
            self.__exit__()
            raise

    def _wait(self, folder):
        for _ in range(PATIENCE * 50):
            if not self.running():
                with open(f"{folder}/output", encoding="utf-8", errors="replace") as output:
                    raise RuntimeError("the proxy has ended: " + output.read())
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError(f"the proxy does not listen after {PATIENCE} s")


NGINX_CONF = """
{user}
daemon off;
worker_processes {workers};
pid {folder}/pid;
error_log {folder}/error.log;
{main}
events {{ worker_connections 4096; }}
http {{
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  access_log off;
  client_max_body_size 64m;
  client_body_buffer_size 1m;
  client_body_in_single_buffer on;
  {http}
  upstream engines {{
    {balance}
    {servers}
    keepalive 64;
  }}
  server {{
    listen 127.0.0.1:{port} reuseport;
    location / {{
      proxy_pass http://engines;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 10m;
      {location}
    }}
  }}
}}
"""


def nginx(folder, engines, balance="", main="", http="", location="", workers=4):
    port = free_port()
    user = "user root;" if os.geteuid() == 0 else ""
    servers = "\n    ".join(f"server {address} max_fails=0;" for address in engines)
    with open(f"{folder}/nginx.conf", "w", encoding="ascii") as conf:
        conf.write(NGINX_CONF.format(**locals()))
    return Proxy([program("nginx"), "-p", folder, "-c", f"{folder}/nginx.conf", "-e", f"{folder}/error.log"], folder,
                 port)


def nginx_prefix_route(folder, engines, module, parameters=""):
    return nginx(folder, engines, main=f"load_module {module};",
                 balance=f"prefix_route strategy=prefix_aware zone=engines:16m {parameters};")


def nginx_hash(folder, engines, prefix_bytes):
    first = f'map $request_body $beginning {{ "~^(?<first>[\\s\\S]{{1,{prefix_bytes}}})" $first; }}'
    return nginx(folder, engines, http=first, balance="hash $beginning consistent;")


def openresty(folder, engines, shared_library):
    servers = ", ".join(f'"{address}"' for address in engines)
    return nginx(
        folder, engines,
        main="load_module /usr/lib/nginx/modules/ndk_http_module.so;\n"
             "load_module /usr/lib/nginx/modules/ngx_http_lua_module.so;",
        http=f"""lua_package_path "{ROOT}/examples/openresty/?.lua;;";
  lua_shared_dict prefixroute 16k;
  init_by_lua_block {{
    require("prefixroute").init{{library = "{shared_library}", header = "{ROOT}/include/prefixroute/c.h",
                                servers = {{{servers}}}, max_outstanding = 0, options = {{}}}}
  }}
  init_worker_by_lua_block {{ require("prefixroute").init_worker() }}""",
        balance='balancer_by_lua_block { require("prefixroute").balance() }',
        location="""access_by_lua_block { require("prefixroute").access() }
      body_filter_by_lua_block { require("prefixroute").first_token() }
      log_by_lua_block { require("prefixroute").finish() }""")


def gateway(folder, engines, program_path, strategy="PREFIX_AWARE"):
    port = free_port()
    command = [program_path, "--listen", f"127.0.0.1:{port}", "--strategy", strategy]
    for address in engines:
        command += ["--instance", f"http://{address}"]
    return Proxy(command, folder, port)


HAPROXY_CFG = """
global
  nbthread 2
  maxconn 8000
  tune.bufsize 131072
defaults
  mode http
  timeout connect 5s
  timeout client 10m
  timeout server 10m
  option http-no-delay
listen gateway
  bind 127.0.0.1:{port}
  option http-buffer-request
  {balance}
  {servers}
"""


def haproxy(folder, engines, balance):
    port = free_port()
    servers = "\n  ".join(f"server engine{i} {address}" for i, address in enumerate(engines))
    with open(f"{folder}/haproxy.cfg", "w", encoding="ascii") as conf:
        conf.write(HAPROXY_CFG.format(**locals()))
    return Proxy([program("haproxy"), "-db", "-f", f"{folder}/haproxy.cfg"], folder, port)


def haproxy_hash(folder, engines, prefix_bytes):
    return haproxy(folder, engines, f"balance hash req.body,bytes(0,{prefix_bytes})\n"
                   "  hash-type consistent\n  hash-balance-factor 125")


def program(name):
    """Debian has them where users don't look."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")


def load(http_load, port, engines, flags, folder):
    """What prefixroute_http_load reports."""
    path = f"{folder}/load.json"
    with Process([http_load, f"--target=127.0.0.1:{port}", "--engines=" + ",".join(engines), f"--json={path}",
                  *flags], stdout=subprocess.DEVNULL) as process:
        if process._process.wait() != 0:
            raise RuntimeError(f"{http_load} has failed")
    with open(path, encoding="utf-8") as report:
        return json.load(report)
