#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure_latency.py prefixroute_gateway [--requests N]: what the gateway adds to a request on loopback. Requests go by
turns to an engine directly and through the gateway, over connections that are kept, one at a time; the engine answers
at once. Prints medians, and from the gateway's own histogram how long it took to choose."""

import argparse
import ctypes
import json
import multiprocessing
import re
import signal
import socket
import statistics
import subprocess
import threading
import time
import urllib.request

PR_SET_PDEATHSIG = 1
BODY_BYTES = 32 << 10
PREFIXES = 8
WARM_UP = 200
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
FIRST = b"f\r\ndata: {\"n\":1}\n\n\r\n"
REST = b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n"


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def receive(connection, end):
    data = b""
    while end not in data:
        more = connection.recv(65536)
        if not more:
            raise ConnectionError(data)
        data += more
    return data


def serve(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        try:
            head, body = receive(connection, b"\r\n\r\n").split(b"\r\n\r\n", 1)
        except ConnectionError:
            return
        if head.startswith(b"GET"):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            continue
        missing = int(re.search(rb"Content-Length: (\d+)", head)[1]) - len(body)
        while missing > 0:
            missing -= len(connection.recv(min(missing, 1 << 20)))
        connection.sendall(HEAD + FIRST)
        connection.sendall(REST)


def engine(port):
    die_with_parent()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port.send(server.getsockname()[1])
        while True:
            threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()


class Client:
    def __init__(self, port):
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def request(self, body):
        """Seconds to the first event, and to the end."""
        begin = time.perf_counter()
        self.connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: engine\r\n"
                                b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        answer = receive(self.connection, b"data: ")
        first = time.perf_counter()
        if not answer.endswith(b"0\r\n\r\n"):
            receive(self.connection, b"0\r\n\r\n")
        return first - begin, time.perf_counter() - begin


def body(number):
    text = f"{number % PREFIXES} " * ((BODY_BYTES - 200) // 2) + str(number)
    return json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": text}]}).encode()


def choosing(port):
    """Of the gateway's histogram: how many were timed, the median's bucket's bound, and the share under 20 us."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        text = page.read().decode()
    buckets = [(float(bound), float(count)) for bound, count in
               re.findall(r'^prefixroute_routing_seconds_bucket{le="([^"]+)"} (\S+)$', text, re.M)]
    total = buckets[-1][1]
    median = next(bound for bound, count in buckets if count >= total / 2)
    return total, median, dict(buckets)[2e-5] / total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gateway")
    parser.add_argument("--requests", type=int, default=5_000)
    arguments = parser.parse_args()
    port, child = multiprocessing.Pipe()
    multiprocessing.Process(target=engine, args=(child,), daemon=True).start()
    engine_port = port.recv()
    gateway = subprocess.Popen(
        [arguments.gateway, "--listen=127.0.0.1:0", f"--instance=http://127.0.0.1:{engine_port}"],
        stderr=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
    gateway_port = int(re.search(r"listens at \S+:(\d+)", gateway.stderr.readline())[1])
    clients = {"direct": Client(engine_port), "gateway": Client(gateway_port)}
    times = {name: [] for name in clients}
    for number in range(arguments.requests + WARM_UP):
        for name, client in sorted(clients.items(), reverse=number % 2 == 1):
            measured = client.request(body(number))
            if number >= WARM_UP:
                times[name].append(measured)
    print(f"{arguments.requests} pairs, bodies of {BODY_BYTES >> 10} KiB; milliseconds, medians")
    print(f"{'':14}{'direct':>10}{'gateway':>10}{'added':>10}")
    for index, what in enumerate(("first event", "end")):
        direct, through = ([each[index] * 1e3 for each in times[name]] for name in ("direct", "gateway"))
        added = statistics.median(b - a for a, b in zip(direct, through))
        print(f"{what:14}{statistics.median(direct):10.3f}{statistics.median(through):10.3f}{added:10.3f}")
    total, median, share = choosing(gateway_port)
    print(f"choosing an instance: median at most {median * 1e6:g} us, {share:.1%} of {total:.0f} under 20 us")
    gateway.terminate()
    gateway.wait()


if __name__ == "__main__":
    main()
