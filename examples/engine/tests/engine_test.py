#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""example_engine over HTTP, on loopback."""

import ctypes
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
import unittest

ENGINE = os.environ["PREFIXROUTE_EXAMPLE_ENGINE"]
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
PATIENCE = 20  # Seconds until what must happen counts as not happening.
BLOCK = 64  # Bytes.


class EngineTest(unittest.TestCase):
    def start(self, *flags):
        """Starts engines, and returns their addresses. They end with the test, however that ends."""
        process = subprocess.Popen([ENGINE, *flags], stdout=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        self.addCleanup(self._stop, process)
        return json.loads(process.stdout.readline())["engines"]

    def _stop(self, process):
        process.terminate()
        self.assertEqual(process.wait(PATIENCE), 0)
        process.stdout.close()

    def request(self, address, path, body=None):
        """Sends it; the answer is the caller's to read."""
        connection = http.client.HTTPConnection(address, timeout=PATIENCE)
        self.addCleanup(connection.close)
        connection.request("GET" if body is None else "POST", path, body and json.dumps(body))
        return connection, connection.getresponse()

    def post(self, address, path, **body):
        _, response = self.request(address, path, body)
        text = response.read().decode()
        return response.status, text if body.get("stream") is True else json.loads(text)

    def cached(self, address, prompt, max_tokens=1):
        status, answer = self.post(address, "/v1/completions", prompt=prompt, max_tokens=max_tokens)
        self.assertEqual(status, 200)
        return answer["usage"]["prompt_tokens_details"]["cached_tokens"]

    def metrics(self, address):
        text = self.request(address, "/metrics")[1].read().decode()
        return {name: float(value) for name, value in re.findall(r"^(\S+?)\{.*\} (\S+)$", text, re.M)}

    def until(self, address, **values):
        deadline = time.monotonic() + PATIENCE
        while any(self.metrics(address)[name] != value for name, value in values.items()):
            self.assertLess(time.monotonic(), deadline, f"{values} has not come: {self.metrics(address)}")
            time.sleep(0.01)

    def events(self, text):
        return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]


class CacheTest(EngineTest):
    def test_full_blocks_of_a_prompt_are_found(self):
        (address,) = self.start("--speed=1000")
        prompt = "".join(f"{i:04}" for i in range(100))  # Six blocks and 4 tokens.
        self.assertEqual(self.cached(address, prompt), 0)
        self.assertEqual(self.cached(address, prompt), 96)
        self.assertEqual(self.cached(address, prompt[:4 * BLOCK] + "other" * 100), 64)
        # The last token is computed at any rate.
        self.assertEqual(self.cached(address, prompt[:4 * BLOCK]), 48)
        self.assertEqual(self.cached(address, prompt[BLOCK:]), 0)
        self.assertEqual(self.metrics(address)["vllm:prefix_cache_hits_total"], 96 + 64 + 48)

    def test_least_recently_used_makes_room(self):
        (address,) = self.start("--speed=1000", "--cache_tokens=320")  # 20 blocks.
        prompts = [letter * (8 * BLOCK) for letter in "abc"]
        for prompt in prompts[:2]:
            self.assertEqual(self.cached(address, prompt), 0)
        self.assertEqual(self.cached(address, prompts[0]), 112)  # And b is now the least recently used.
        self.assertEqual(self.cached(address, prompts[2]), 0)
        self.assertEqual(self.cached(address, prompts[0]), 112)
        self.assertLess(self.cached(address, prompts[1]), 112)

    def test_engines_share_nothing(self):
        addresses = self.start("--speed=1000", "--engines=2")
        prompt = "x" * (4 * BLOCK)
        self.assertEqual([self.cached(address, prompt) for address in addresses * 2], [0, 0, 48, 48])

    def test_what_cannot_fit_is_refused(self):
        (address,) = self.start("--cache_tokens=320")
        status, answer = self.post(address, "/v1/completions", prompt="x" * 2000, max_tokens=1)
        self.assertEqual(status, 400)
        self.assertIn("exceed", answer["error"]["message"])


class ApiTest(EngineTest):
    def setUp(self):
        (self.address,) = self.start("--speed=1000", "--model=m")

    def test_chat(self):
        chat = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 5}
        _, answer = self.post(self.address, "/v1/chat/completions", **chat)
        text = answer["choices"][0]["message"]["content"]
        self.assertEqual((len(text), answer["model"], answer["usage"]["completion_tokens"]), (20, "m", 5))

        _, stream = self.post(self.address, "/v1/chat/completions", stream=True, **chat)
        self.assertTrue(stream.endswith("data: [DONE]\n\n"))
        events = self.events(stream)
        self.assertTrue(all(event["choices"] for event in events))
        self.assertEqual("".join(event["choices"][0]["delta"].get("content", "") for event in events), text)
        self.assertEqual(events[-1]["choices"][0]["finish_reason"], "length")

        _, stream = self.post(self.address, "/v1/chat/completions", stream=True,
                              stream_options={"include_usage": True}, **chat)
        last = self.events(stream)[-1]
        self.assertEqual((last["choices"], last["usage"]), ([], answer["usage"]))

    def test_completions(self):
        _, answer = self.post(self.address, "/v1/completions", prompt="abcd" * 10, max_tokens=3)
        self.assertEqual(len(answer["choices"][0]["text"]), 12)
        self.assertEqual(answer["usage"]["prompt_tokens"], 10)
        _, stream = self.post(self.address, "/v1/completions", prompt="abcd", max_tokens=3, stream=True)
        self.assertEqual(sum(len(event["choices"][0]["text"]) for event in self.events(stream)), 12)

    def test_messages(self):
        call = {"system": "s" * 400, "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
                "max_tokens": 4}
        _, answer = self.post(self.address, "/v1/messages", **call)
        self.assertEqual(len(answer["content"][0]["text"]), 16)
        _, stream = self.post(self.address, "/v1/messages", stream=True, **call)
        events = self.events(stream)
        self.assertEqual([event["type"] for event in events if event["type"] != "content_block_delta"],
                         ["message_start", "content_block_start", "content_block_stop", "message_delta",
                          "message_stop"])
        self.assertEqual(events[0]["message"]["usage"]["cache_read_input_tokens"], 96)

    def test_other_paths(self):
        self.assertEqual(self.request(self.address, "/health")[1].status, 200)
        models = json.loads(self.request(self.address, "/v1/models")[1].read())
        self.assertEqual([model["id"] for model in models["data"]], ["m"])
        self.assertEqual(self.request(self.address, "/nowhere")[1].status, 404)
        self.assertEqual(self.request(self.address, "/v1/completions")[1].status, 405)

    def test_bad_requests_name_the_field(self):
        for body, field in (({"max_tokens": 1}, "prompt"), ({"prompt": "x", "max_tokens": 0}, "max_tokens"),
                            ({"prompt": "x", "stream": 1}, "stream"), ({"prompt": "x", "model": 1}, "model")):
            status, answer = self.post(self.address, "/v1/completions", **body)
            self.assertEqual(status, 400)
            self.assertIn(field + ":", answer["error"]["message"])
        status, _ = self.post(self.address, "/v1/messages", messages=[{"content": "x"}])
        self.assertEqual(status, 400)

    def test_a_connection_is_kept(self):
        connection, response = self.request(self.address, "/v1/completions", {"prompt": "x", "stream": True})
        for _ in range(3):
            self.assertTrue(response.read().endswith(b"[DONE]\n\n"))
            connection.request("POST", "/v1/completions", json.dumps({"prompt": "x"}))
            response = connection.getresponse()
            self.assertEqual(response.status, 200)
            response.read()
            connection.request("POST", "/v1/completions", json.dumps({"prompt": "x", "stream": True}))
            response = connection.getresponse()

    def raw(self, head, body):
        """What comes back, until the connection is closed."""
        host, port = self.address.split(":")
        with socket.create_connection((host, int(port)), PATIENCE) as client:
            client.sendall(head + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body))
            if b"Expect" in head:
                self.assertEqual(client.recv(100), b"HTTP/1.1 100 Continue\r\n\r\n")
            client.sendall(body)
            return b"".join(iter(lambda: client.recv(65536), b""))

    def test_http_1_0_has_no_chunks(self):
        answer = self.raw(b"POST /v1/completions HTTP/1.0\r\n", b'{"prompt": "x", "stream": true}')
        header, _, body = answer.partition(b"\r\n\r\n")
        self.assertNotIn(b"chunked", header)
        self.assertTrue(body.startswith(b"data: {") and body.endswith(b"data: [DONE]\n\n"), body)

    def test_who_expects_100_gets_it(self):
        answer = self.raw(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n", b'{"prompt": "x"}')
        self.assertTrue(answer.startswith(b"HTTP/1.1 200"), answer)


class LoadTest(EngineTest):
    def test_clients_that_leave_free_their_sequences(self):
        (address,) = self.start("--max_sequences=2")
        opened = [self.request(address, "/v1/completions", {"prompt": "x", "max_tokens": 100000, "stream": True})
                  for _ in range(5)]
        self.until(address, **{"vllm:num_requests_running": 2, "vllm:num_requests_waiting": 3})
        opened[0][1].read(1)  # In mid-answer.
        for connection, response in opened:
            response.close()
            connection.close()
        self.until(address, **{"vllm:num_requests_running": 0, "vllm:num_requests_waiting": 0,
                               "engine_requests_cancelled_total": 5, "engine_requests_peak": 5,
                               "vllm:kv_cache_usage_perc": 0})


class CommandLineTest(unittest.TestCase):
    def test_bad_flags_are_named(self):
        for flag in ("--engines=0", "--speed=0", "--cache_tokens=3", "--step_us=-1", "--block_tokens=0"):
            with self.subTest(flag=flag):
                done = subprocess.run([ENGINE, flag], capture_output=True, text=True, timeout=PATIENCE, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertIn(flag, done.stderr)


if __name__ == "__main__":
    unittest.main()
