#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The module in a real nginx, on loopback. After every case each count must be 0 again."""

import asyncio
import collections
import json
import logging
import os
import random
import signal
import subprocess
import tempfile
import unittest

import engine
from engine import Engine
from gateway import MODULE, MODULE_WITHOUT_PAYLOAD, PATIENCE, Gateway, until

STRICT = "strict_prefix=64 bound_floor=0"
BODY = b"You are a helpful assistant. " * 40


class GatewayTest(unittest.IsolatedAsyncioTestCase):
    engine_count = 3
    # What the log may have at the levels "alert" to "emerg".
    expected_alerts = ()

    async def asyncSetUp(self):
        folder = tempfile.TemporaryDirectory(prefix="prefixroute-nginx-")
        self.addCleanup(folder.cleanup)
        self.gateway = Gateway(folder.name)
        self.engines = [Engine() for _ in range(self.engine_count)]
        for each in self.engines:
            await each.start()

    async def asyncTearDown(self):
        try:
            self.release()
            if self.gateway.running():
                await until(self._nothing_outstanding, "every count is 0")
        finally:
            await self.gateway.stop()
            for each in self.engines:
                await each.stop()
        for line in self.gateway.log().splitlines():
            if any(level in line for level in ("[alert]", "[crit]", "[emerg]")):
                self.assertTrue(any(expected in line for expected in self.expected_alerts), line)

    async def _nothing_outstanding(self):
        status = await self.gateway.status()
        return 'prefix_route_outstanding_all{upstream="engines"}' in status and all(
            value == 0 for name, value in status.items()
            if name.startswith(("prefix_route_outstanding", "prefix_route_pending")))

    def release(self):
        for each in self.engines:
            each.release()

    def hold(self):
        for each in self.engines:
            each.hold()

    def directive(self, options=STRICT, strategy="prefix_aware", zone="engines:2m"):
        return f"prefix_route strategy={strategy} zone={zone} {options};\n"

    def servers(self, parameters=""):
        return "".join(f"server {each.address} {parameters};\n" for each in self.engines)

    async def start(self, options=STRICT, more="", parameters="", strategy="prefix_aware", **settings):
        self.gateway.configure(self.directive(options, strategy) + self.servers(parameters) + more, **settings)
        await self.gateway.start()

    async def open_many(self, count, body=BODY, path="/"):
        return await asyncio.gather(*(self.gateway.open(body, path) for _ in range(count)))

    async def finish(self, streams):
        self.release()
        for stream in streams:
            self.assertTrue((await stream.rest()).endswith(b"data: [DONE]\n\n"))
        await until(self._nothing_outstanding, "every count is 0")

    async def get(self, body=BODY, path="/", **settings):
        """A request from beginning to end."""
        self.release()
        stream = await self.gateway.open(body, path, **settings)
        await stream.rest()
        return stream

    def engine_of(self, stream):
        return next(each for each in self.engines if each.address == stream.headers["x-instance"])

    async def outstanding(self, count):
        async def there():
            return await self.gateway.outstanding() == count
        await until(there, f"{count} requests outstanding")


class BoundTest(GatewayTest):
    async def check_relative(self, workers, **settings):
        await self.start(workers=workers, **settings)
        for streams, bound in ((8, 4), (24, 10), (48, 20)):  # ceil(1.25 * streams / 3)
            with self.subTest(streams=streams):
                self.hold()
                opened = await self.open_many(streams)
                self.assertEqual(max(each.peak for each in self.engines), bound)
                self.assertEqual(sum(each.running for each in self.engines), streams)
                await self.outstanding(streams)
                if streams == 48:
                    self.assertGreater(len({stream.headers["x-worker"] for stream in opened}), 1)
                await self.finish(opened)

    async def test_relative_bound_of_4_workers(self):
        await self.check_relative(4)

    async def test_relative_bound_of_8_workers(self):
        await self.check_relative(8)

    async def test_relative_bound_beside_zone_and_keepalive(self):
        await self.check_relative(4, more="zone peers 128k;\nkeepalive 16;\n")

    async def test_hard_bound_refuses_with_429(self):
        for workers in (4, 8):
            with self.subTest(workers=workers):
                await self.gateway.stop()
                self.hold()
                await self.start("max_outstanding=10", workers=workers)
                opened = await self.open_many(48)
                self.assertEqual(collections.Counter(stream.status for stream in opened), {200: 30, 429: 18})
                self.assertEqual([each.peak for each in self.engines], [10, 10, 10])
                status = await self.gateway.status()
                self.assertEqual(status['prefix_route_refused_total{upstream="engines",why="exhausted"}'], 18)
                for stream in opened:
                    if stream.status == 429:
                        self.assertIn(b"<title>429 Too Many Requests</title>", await stream.rest())
                self.assertNotIn("[error]", self.gateway.log())
                self.assertRegex(self.gateway.log(), r"\[info\].* prefix_route: ")
                await self.finish([stream for stream in opened if stream.status == 200])

    async def test_max_conns_is_a_bound(self):
        await self.start("max_outstanding=3", parameters="max_conns=2", workers=4)
        opened = await self.open_many(9)
        self.assertEqual(collections.Counter(stream.status for stream in opened), {200: 6, 429: 3})
        self.assertEqual([each.peak for each in self.engines], [2, 2, 2])

    async def test_fail_open_refuses_nobody(self):
        await self.start("max_outstanding=1 fail_open=on")
        opened = await self.open_many(6)
        self.assertEqual({stream.status for stream in opened}, {200})
        self.assertEqual([each.running for each in self.engines], [2, 2, 2])
        await self.finish(opened)

    async def test_refused_requests_and_error_pages(self):
        page = "error_page 502 /busy;\n"
        await self.start("max_outstanding=1", location=page, server='location = /busy { return 200 "busy"; }')
        held = await self.open_many(3)
        refused = await self.gateway.open(BODY)
        self.assertEqual((refused.status, await refused.rest()), (429, b"busy"))
        await self.finish(held)

    async def test_refusal_keeps_the_connection(self):
        await self.start("max_outstanding=1", workers=1)
        held = await self.open_many(3)
        reader, writer = await self.gateway.connect()
        for _ in range(3):
            writer.write(b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhello")
            line, headers = await asyncio.wait_for(engine.read_head(reader), PATIENCE)
            self.assertIn("429", line)
            await engine.read_body(reader, headers)
        writer.close()
        await self.finish(held)


class ServerTest(GatewayTest):
    async def test_weights(self):
        self.gateway.configure(self.directive("", "least_outstanding_requests") +
                               "".join(f"server {each.address} weight={weight};\n"
                                       for each, weight in zip(self.engines, (1, 2, 5))))
        await self.gateway.start()
        opened = await self.open_many(16)
        self.assertEqual([each.running for each in self.engines], [2, 4, 10])
        await self.finish(opened)

    async def test_down_server_gets_nothing(self):
        self.gateway.configure(self.directive() + self.servers().replace(";", " down;", 1))
        await self.gateway.start()
        for i in range(20):
            self.assertEqual((await self.get(b"%d" % i)).status, 200)
        self.assertEqual(self.engines[0].total, 0)
        self.assertGreater(self.engines[1].total, 0)
        self.assertGreater(self.engines[2].total, 0)

    async def test_backup_when_the_others_are_gone_or_full(self):
        servers = self.servers("max_conns=2 max_fails=1 fail_timeout=60s").splitlines()
        servers[2] = servers[2].replace(";", " backup;")
        self.gateway.configure(self.directive() + "\n".join(servers))
        await self.gateway.start()
        for i in range(10):
            await self.get(b"%d" % i)
        self.assertEqual(self.engines[2].total, 0)
        self.hold()
        opened = await self.open_many(7)
        self.assertEqual([each.running for each in self.engines], [2, 2, 2])
        self.assertEqual(collections.Counter(stream.status for stream in opened), {200: 6, 429: 1})
        await self.finish([stream for stream in opened if stream.status == 200])
        self.engines[0].status = self.engines[1].status = 503
        for _ in range(3):
            stream = await self.get()
            self.assertEqual((stream.status, stream.headers["x-instance"]), (200, self.engines[2].address))

    async def test_keepalive_to_servers(self):
        await self.start(more="keepalive 8;\n", workers=1)
        for _ in range(20):
            await self.get()
        self.assertEqual(sum(each.total for each in self.engines), 20)
        self.assertEqual(sum(each.connections for each in self.engines), 1)

    async def test_503_is_retried_elsewhere(self):
        await self.start(more="zone peers 128k;\n")  # So that all workers know of the failure.
        home = self.engine_of(await self.get())
        home.status = 503
        stream = await self.get()
        self.assertEqual(stream.status, 200)
        self.assertIsNot(self.engine_of(stream), home)
        self.assertEqual((stream.headers["x-reason"], stream.headers["x-rank"]), ("diverted_unavailable", "2"))
        # That failure counts: by max_fails=1 the server is left alone for fail_timeout.
        self.assertEqual(home.total, 2)
        self.assertEqual((await self.get()).headers["x-rank"], "2")
        self.assertEqual(home.total, 2)

    async def test_503_of_all(self):
        await self.start(parameters="max_fails=0")
        for each in self.engines:
            each.status = 503
        for _ in range(3):
            self.assertEqual((await self.get()).status, 503)
        self.assertEqual([each.total for each in self.engines], [3, 3, 3])

    async def test_refused_connections(self):
        await self.start(parameters="max_fails=0")
        await self.engines[0].stop()
        for i in range(20):
            stream = await self.get(b"%d" % i)
            self.assertEqual(stream.status, 200)
        for each in self.engines[1:]:
            await each.stop()
        self.assertEqual((await self.get()).status, 502)

    async def test_no_server_is_left(self):
        await self.start(parameters="fail_timeout=60s", workers=1)
        for each in self.engines:
            each.status = 503
        self.assertEqual((await self.get()).status, 503)
        self.assertEqual((await self.get()).status, 502)
        status = await self.gateway.status()
        self.assertEqual(status['prefix_route_refused_total{upstream="engines",why="unavailable"}'], 1)
        self.assertIn("no live upstreams", self.gateway.log())


class ClientTest(GatewayTest):
    async def test_drops_mid_stream(self):
        await self.start(workers=4)
        opened = await self.open_many(12)
        for stream in opened[:6]:
            await stream.first()
        await self.outstanding(12)
        for stream in opened:
            stream.drop()
        await self.outstanding(0)
        await until(lambda: sum(each.aborted for each in self.engines) == 12, "the engines notice")

    async def test_drops_before_the_answer(self):
        await self.start(workers=4)
        for each in self.engines:
            each.beginning = engine.NOTHING
        waiting = [asyncio.ensure_future(self.gateway.open(BODY)) for _ in range(6)]
        await self.outstanding(6)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await self.outstanding(0)

    async def test_first_token_is_the_first_byte_of_the_body(self):
        pending = 'prefix_route_pending_bytes{upstream="engines",instance="%s"}'
        await self.start("")
        for each in self.engines:
            each.beginning = engine.HEADER_ONLY
        stream = await self.gateway.open(BODY)
        name = pending % stream.headers["x-instance"]
        self.assertGreater((await self.gateway.status())[name], 1000)
        await self.finish([stream])
        self.hold()
        for each in self.engines:
            each.beginning = engine.FIRST_EVENT
        stream = await self.gateway.open(BODY[::-1])
        await stream.first()
        name = pending % stream.headers["x-instance"]
        self.assertEqual((await self.gateway.status())[name], 0)
        await self.outstanding(1)
        await self.finish([stream])

    async def test_one_body_has_one_key_however_it_comes(self):
        big = os.urandom(250_000).hex().encode()
        memory = "location /memory { proxy_pass http://engines; client_body_buffer_size 1m; add_header X-Matched " \
                 "$prefix_route_matched_bytes; add_header X-Instance $prefix_route_instance; }"
        await self.start("", server=memory)
        first = await self.get(big)
        self.assertEqual(first.headers["x-matched"], "0")
        for path in ("/", "/memory"):
            for chunked in (False, True):
                stream = await self.get(big, path, chunked=chunked)
                self.assertGreater(int(stream.headers["x-matched"]), 400_000)
                self.assertEqual(stream.headers["x-instance"], first.headers["x-instance"])
        self.assertIn("buffered to a temporary file", self.gateway.log())
        curl = await self.curl(big)
        self.assertIn("HTTP/2 200", curl)
        self.assertIn(f"x-instance: {first.headers['x-instance']}", curl)
        self.assertRegex(curl, r"x-matched: 4\d{5}\b|x-matched: 500000")
        bodies = self.engine_of(first).bodies
        self.assertEqual(len(bodies), 6)
        self.assertEqual(set(bodies), {big})

    def curl_command(self, file):
        return ["curl", "-sN", "--http2-prior-knowledge", "-D", "-", "-o", os.devnull, "-m", str(PATIENCE),
                "--data-binary", f"@{file}", f"http://127.0.0.1:{self.gateway.http2_port}/"]

    async def curl(self, body):
        with tempfile.NamedTemporaryFile() as file:
            file.write(body)
            file.flush()
            process = await asyncio.create_subprocess_exec(*self.curl_command(file.name), stdout=subprocess.PIPE)
            output, _ = await process.communicate()
        return output.decode()

    async def test_http2_clients(self):
        await self.start("max_outstanding=2", workers=4)
        curls = [asyncio.ensure_future(self.curl(BODY)) for _ in range(8)]
        await self.outstanding(6)
        await until(lambda: sum(each.done() for each in curls) == 2, "two are refused")
        self.release()
        answers = [answer.split("\r\n")[0].strip() for answer in await asyncio.gather(*curls)]
        self.assertEqual(collections.Counter(answers), {"HTTP/2 200": 6, "HTTP/2 429": 2})

    async def test_http2_client_drops(self):
        await self.start()
        with tempfile.NamedTemporaryFile() as file:
            file.write(BODY)
            file.flush()
            process = await asyncio.create_subprocess_exec(*self.curl_command(file.name), stdout=subprocess.DEVNULL)
            await self.outstanding(1)
            process.kill()
            await process.wait()
        await self.outstanding(0)

    async def test_request_buffering_off(self):
        await self.start("", location="proxy_request_buffering off;")
        self.release()
        reader, writer = await self.gateway.connect()
        writer.write(b"POST / HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(BODY))
        await self.outstanding(1)  # Before any of the body is there.
        writer.write(BODY)
        _, headers = await engine.read_head(reader)
        writer.close()
        self.assertEqual(headers["x-reason"], "no_prefix")
        for _ in range(5):
            self.assertEqual((await self.get(BODY)).status, 200)
            self.assertEqual((await self.get(b"x" * 500_000)).status, 200)
            self.assertEqual((await self.get(BODY, chunked=True)).status, 200)
        # One that leaves before it has sent all.
        _, writer = await self.gateway.connect()
        writer.write(b"POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\nhello")
        await self.outstanding(1)
        writer.close()
        await self.outstanding(0)

    async def test_scope_and_prefix_of_variables(self):
        await self.start("scope=$http_x_model:$http_x_tenant prefix=$http_x_prompt")
        prompt = "X-Prompt: " + "a" * 1000

        async def matched(*headers):
            return int((await self.get(b"ignored", headers=headers)).headers["x-matched"])
        self.assertEqual(await matched(prompt, "X-Model: a"), 0)
        self.assertGreater(await matched(prompt, "X-Model: a"), 900)
        self.assertEqual(await matched(prompt, "X-Model: b"), 0)
        self.assertEqual(await matched(prompt, "X-Model: a", "X-Tenant: t"), 0)
        self.assertEqual((await self.get(b"ignored")).headers["x-reason"], "no_prefix")

    async def test_requests_without_a_body(self):
        await self.start("")
        self.release()
        reader, writer = await self.gateway.connect()
        writer.write(b"GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
        line, headers = await asyncio.wait_for(engine.read_head(reader), PATIENCE)
        writer.close()
        self.assertIn("200", line)
        self.assertEqual(headers["x-reason"], "no_prefix")


def chat(*texts, **more):
    """Of a conversation, the user's and the assistant's texts in turn."""
    messages = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(texts)]
    return {"model": "m", "messages": messages, **more}


def spellings(request):
    """The same prompt, over and over, in bodies that differ from their first bytes on."""
    for i in range(4):
        yield json.dumps({"temperature": i / 10, **request}).encode()
        yield json.dumps({"seed": i, **dict(reversed(request.items()))}, ensure_ascii=False, indent=i).encode()
        compact = json.dumps({"user": str(i), **request}, ensure_ascii=False, separators=(",", ":"))
        yield compact.replace("e", r"\u0065").encode()


@unittest.skipIf(MODULE == MODULE_WITHOUT_PAYLOAD, "the payload component is not built")
class PromptTest(GatewayTest):
    text = "".join(f"Paragraph {i}: the seller is liable for \u00e4ll defects.\n" for i in range(100))

    async def test_one_prompt_has_one_key_however_it_is_spelt(self):
        for options, is_same in (("prefix=prompt", True), ("", False)):
            with self.subTest(options):
                await self.gateway.stop()
                await self.start(options)
                answers = [await self.get(body) for body in spellings(chat(self.text))]
                matched = [int(stream.headers["x-matched"]) for stream in answers]
                self.assertEqual(matched[0], 0)
                if is_same:
                    self.assertGreater(min(matched[1:]), 4000)
                    self.assertEqual(len({stream.headers["x-instance"] for stream in answers}), 1)
                    self.assertEqual({stream.headers["x-form"] for stream in answers}, {"chat"})
                else:
                    self.assertEqual(matched.count(0), len(matched))
                    self.assertNotIn("x-form", answers[0].headers)

    async def test_next_turn_follows_the_last(self):
        await self.start("prefix=prompt")
        texts = [self.text]
        first = await self.get(json.dumps(chat(*texts, temperature=0)).encode())
        length = 0
        for turn in range(1, 8):
            texts += [f"Answer {turn}. {self.text}", f"Question {turn}?"]
            stream = await self.get(json.dumps({"seed": turn, **chat(*texts)}).encode())
            self.assertEqual(stream.headers["x-instance"], first.headers["x-instance"])
            self.assertGreater(int(stream.headers["x-matched"]), length)
            length = int(stream.headers["x-matched"])
        self.assertGreater(length, 6 * 4000)

    async def test_one_prompt_has_one_key_however_it_comes(self):
        memory = "location /memory { proxy_pass http://engines; client_body_buffer_size 1m; add_header X-Matched " \
                 "$prefix_route_matched_bytes; add_header X-Form $prefix_route_form; }"
        await self.start("prefix=prompt", server=memory)
        request = chat(os.urandom(200_000).hex())
        bodies = [json.dumps({"seed": i, **request}).encode() for i in range(5)]
        self.assertEqual((await self.get(bodies[0])).headers["x-matched"], "0")
        for body, path, chunked in zip(bodies[1:], ("/", "/", "/memory", "/memory"), (False, True) * 2):
            with self.subTest(path, chunked=chunked):
                stream = await self.get(body, path, chunked=chunked)
                self.assertGreater(int(stream.headers["x-matched"]), 300_000)
                self.assertEqual(stream.headers["x-form"], "chat")
        self.assertEqual(self.gateway.log().count("buffered to a temporary file"), 3)
        self.assertEqual({body for each in self.engines for body in each.bodies}, set(bodies))

    async def test_small_chunks_and_a_file(self):
        for buffer in ("client_body_buffer_size 1m;", "client_body_in_file_only clean;"):
            with self.subTest(buffer):
                await self.gateway.stop()
                await self.start("prefix=prompt", location=buffer)
                for i, body in enumerate(spellings(chat(self.text))):
                    stream = await self.get(body, chunked=i % 2 == 0)
                    self.assertEqual(stream.headers["x-form"], "chat")
                    self.assertEqual(int(stream.headers["x-matched"]) > 4000, i > 0)

    async def test_long_body_counts_by_its_first_part(self):
        await self.start("prefix=prompt max_prefix=2m", location="client_max_body_size 20m;")
        text = os.urandom(2 << 20).hex() * 4
        for i in range(2):
            stream = await self.get(json.dumps({"seed": i, **chat(text + str(i))}).encode())
            self.assertEqual(stream.headers["x-form"], "chat")
            self.assertEqual(int(stream.headers["x-matched"]) > 1_900_000, i > 0)

    async def test_what_is_no_prompt_counts_as_it_is(self):
        await self.start("prefix=prompt")
        good = json.dumps(chat(self.text)).encode()
        for body, why in ((good[:-1], "the JSON ends early"), (BODY, "not a JSON object"),
                          (json.dumps({"model": "m", "query": self.text}).encode(), "no field that holds a prompt")):
            with self.subTest(why):
                for is_second in (False, True):
                    stream = await self.get(body)
                    self.assertEqual((stream.status, stream.headers["x-form"]), (200, "raw"))
                    self.assertEqual(int(stream.headers["x-matched"]) > 500, is_second)
                self.assertRegex(self.gateway.log(), rf"\[info\].* prefix_route: the body counts as it is: {why}")
        stream = await self.get(b"")
        self.assertEqual((stream.headers["x-reason"], stream.headers.get("x-form")), ("no_prefix", None))

    async def test_scope_is_the_bodys_and_the_directives(self):
        await self.start("prefix=prompt scope=$http_x_tenant")

        async def matched(*headers, **more):
            body = json.dumps({**chat(self.text), **more}).encode()
            return int((await self.get(body, headers=headers)).headers["x-matched"])
        for headers, more in (((), {}), (("X-Tenant: a",), {}), (("X-Tenant: b",), {}), ((), {"model": "other"}),
                              ((), {"cache_salt": "s"})):
            with self.subTest(headers, **more):
                self.assertEqual(await matched(*headers, **more), 0)
                self.assertGreater(await matched(*headers, **more, seed=1), 4000)
        # What isn't understood is in the directive's scope too.
        for tenant in ("X-Tenant: a", "X-Tenant: b"):
            self.assertEqual((await self.get(BODY, headers=(tenant,))).headers["x-matched"], "0")

    async def test_strict_mode_counts_the_prompts_beginning(self):
        await self.start("prefix=prompt strict_prefix=1k")
        answers = [await self.get(json.dumps({"seed": i, **chat(self.text + str(i))}).encode()) for i in range(10)]
        self.assertEqual(len({stream.headers["x-instance"] for stream in answers}), 1)

    async def test_request_buffering_off(self):
        await self.start("prefix=prompt", location="proxy_request_buffering off;")
        self.release()
        body = json.dumps(chat(self.text)).encode()
        head = b"POST / HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body)
        for begun, form in ((900, "chat"), (20, "raw"), (0, None)):
            with self.subTest(begun=begun):
                reader, writer = await self.gateway.connect()
                writer.write(head + body[:begun])
                await self.outstanding(1)
                writer.write(body[begun:])
                _, headers = await engine.read_head(reader)
                await engine.read_body(reader, headers)
                writer.close()
                self.assertEqual(headers.get("x-form"), form)
                self.assertEqual(headers["x-reason"] == "no_prefix", form is None)


class ProcessTest(GatewayTest):
    expected_alerts = ("exited on signal 9", 'invalid value in "bound_factor=1"',
                       'invalid parameter "weight=0"')

    async def test_reload_with_live_streams(self):
        await self.start(workers=4, more="zone peers 128k;\n")
        opened = await self.open_many(9)
        await self.gateway.reload()
        self.assertEqual(await self.gateway.outstanding(), 9)
        self.assertEqual(sum(self.gateway.workers().values()), len({stream.headers["x-worker"] for stream in opened}))
        more = await self.open_many(15)
        self.assertEqual(max(each.peak for each in self.engines), 10)  # ceil(1.25 * 24 / 3)
        await self.finish(opened + more)
        await until(lambda: not any(self.gateway.workers().values()), "the old workers end")

    async def test_strategy_changes_by_reload(self):
        await self.start("")
        self.assertEqual((await self.get()).headers["x-reason"], "home")
        held = await self.hold_one()
        for strategy, reason in (("random", "random"), ("least_outstanding_requests", "least_outstanding"),
                                 ("prefix_aware", "home")):
            self.gateway.configure(self.directive("", strategy) + self.servers())
            await self.gateway.reload()
            self.assertEqual(await self.gateway.outstanding(), 1)
            stream = await self.gateway.open(BODY)
            # What was sent where is remembered as well.
            self.assertIn(stream.headers["x-reason"], (reason, "holder"))
            self.assertEqual(int(stream.headers["x-matched"]) > 0, strategy == "prefix_aware")
            stream.drop()
            await self.outstanding(1)
        await self.finish([held])

    async def hold_one(self):
        self.hold()
        stream = await self.gateway.open(BODY)
        await stream.first()
        return stream

    async def test_removed_server_keeps_its_streams(self):
        await self.start("")
        opened = await self.open_many(6)
        self.gateway.configure(self.directive("") + f"server {self.engines[0].address};\n")
        await self.gateway.reload()
        self.assertEqual(await self.gateway.outstanding(), 6)
        self.gateway.configure(self.directive("") + self.servers())
        await self.gateway.reload()
        self.assertEqual(await self.gateway.outstanding(), 6)
        await self.finish(opened)

    async def test_another_zone_size_is_another_zone(self):
        await self.start("")
        opened = await self.open_many(3)
        self.gateway.configure(self.directive("", zone="engines:4m") + self.servers())
        await self.gateway.reload()
        self.assertEqual(await self.gateway.outstanding(), 0)
        await self.finish(opened)
        await until(lambda: not any(self.gateway.workers().values()), "the old workers end")

    async def test_killed_worker(self):
        await self.start(workers=4)
        opened = await self.open_many(24)
        by_worker = collections.Counter(int(stream.headers["x-worker"]) for stream in opened)
        killed, lost = by_worker.most_common(1)[0]
        self.assertLess(lost, 24)
        os.kill(killed, signal.SIGKILL)
        await self.outstanding(24 - lost)
        await self.finish([stream for stream in opened if int(stream.headers["x-worker"]) != killed])
        self.hold()
        opened = await self.open_many(24)
        self.assertEqual(max(each.peak for each in self.engines), 10)
        await self.finish(opened)

    async def test_killed_worker_of_before_a_reload(self):
        await self.start(workers=2)
        opened = await self.open_many(6)
        await self.gateway.reload()
        for pid, old in self.gateway.workers().items():
            if old:
                os.kill(pid, signal.SIGKILL)
        await self.outstanding(0)  # Nobody is started in its place: those who live must notice.
        for stream in opened:
            stream.drop()

    async def test_failed_reload_changes_nothing(self):
        await self.start()
        opened = await self.open_many(6)
        self.gateway.configure(self.directive("bound_factor=1") + self.servers())
        self.gateway.send(signal.SIGHUP)
        await until(lambda: "bound_factor" in self.gateway.log(), "nginx refuses the configuration")
        self.gateway.configure(self.directive(zone="engines:4m") + self.servers("weight=0"))
        self.gateway.send(signal.SIGHUP)
        await until(lambda: "weight=0" in self.gateway.log(), "nginx refuses the configuration")
        self.assertEqual(await self.gateway.outstanding(), 6)
        await self.finish(opened)

    async def test_everything_at_once(self):
        """Clients that drop, failing engines, reloads and killed workers, for some seconds."""
        rng = random.Random(1)
        options = ("", "max_outstanding=6", STRICT)
        await self.start(workers=4, parameters="max_fails=0")
        end = asyncio.get_running_loop().time() + 4
        statuses = collections.Counter()

        def going_on():
            return asyncio.get_running_loop().time() < end

        async def client():
            while going_on():
                body = b"%d" % rng.randrange(10) + BODY * rng.choice((1, 1, 30))
                stream = None
                try:
                    opening = self.gateway.open(body, chunked=rng.random() < 0.5)
                    stream = await asyncio.wait_for(opening, rng.choice((0.02, PATIENCE)))
                    statuses[stream.status] += 1
                    if rng.random() < 0.7:
                        await stream.rest()
                except (OSError, asyncio.IncompleteReadError, ValueError, asyncio.TimeoutError):
                    statuses["lost"] += 1
                if stream is not None:
                    stream.drop()

        async def trouble():
            turn = 0
            while going_on():
                self.release() if turn % 2 else self.hold()
                rng.choice(self.engines).status = rng.choice((None, None, 503))
                if turn % 12 == 5:
                    self.gateway.configure(self.directive(rng.choice(options)) +
                                           "".join(rng.sample(self.servers("max_fails=0").splitlines(True), 2)))
                    self.gateway.send(signal.SIGHUP)
                if turn % 12 == 11:
                    workers = list(self.gateway.workers())
                    if workers:
                        os.kill(rng.choice(workers), signal.SIGKILL)
                turn += 1
                await asyncio.sleep(0.05)
            self.release()
            for each in self.engines:
                each.status = None

        await asyncio.gather(trouble(), *(client() for _ in range(40)))
        self.assertGreater(statuses[200], 100, statuses)
        self.assertGreater(self.gateway.log().count("gave back"), 0)
        await self.outstanding(0)
        self.assertEqual((await self.get()).status, 200)

    async def test_all_workers_are_killed_again_and_again(self):
        await self.start(workers=4)
        for _ in range(3):
            self.hold()
            opened = await self.open_many(12)
            workers = self.gateway.workers()
            for pid in workers:
                os.kill(pid, signal.SIGKILL)
            for stream in opened:
                stream.drop()
            await until(lambda: len(set(self.gateway.workers()) - set(workers)) == 4, "new workers")
            await self.outstanding(0)


class CrowdTest(GatewayTest):
    expected_alerts = ("is balanced by round robin: all 256 owners are attached",)

    async def test_more_workers_than_the_zone_has_places(self):
        servers = self.servers().splitlines(True)
        self.gateway.configure(self.directive("") + servers[0] + servers[1] + servers[2].replace(";", "backup;"),
                               workers=140)
        await self.gateway.start()
        # Of 256 places 140 workers with two routers each can't all have theirs.
        reasons = collections.Counter([(await self.get(b"%d" % i)).headers.get("x-reason") for i in range(200)])
        self.assertIn("home", reasons)
        self.assertIn(None, reasons)  # By round robin.
        await until(self._known, "a worker that knows answers")

    async def _known(self):
        return 'prefix_route_outstanding_all{upstream="engines"}' in await self.gateway.status()


class ConfigurationTest(GatewayTest):
    engine_count = 0

    def check(self, upstream, **settings):
        self.gateway.configure(upstream, **settings)
        return self.gateway.check()

    def test_good(self):
        for upstream in (
                "prefix_route strategy=PREFIX_AWARE zone=z:1m; server 127.0.0.1:1;",
                "prefix_route zone=z:1m max_prefix=1m scope=$host prefix=$request_body gateway_replicas=3 "
                "max_outstanding=5 bound_factor=150 bound_margin=1 bound_floor=2 fail_open=off strict_prefix=4k; "
                "server 127.0.0.1:1 weight=3; server 127.0.0.1:2 backup; zone peers 64k; keepalive 4;"):
            with self.subTest(upstream):
                good, said = self.check(upstream)
                self.assertTrue(good, said)

    def test_the_example(self):
        with open(os.path.join(os.path.dirname(__file__), "..", "nginx.conf"), encoding="ascii") as conf:
            text = conf.read().replace("ngx_http_prefixroute_module.so", MODULE)
        with open(f"{self.gateway.folder}/nginx.conf", "w", encoding="ascii") as conf:
            conf.write(text)
        good, said = self.gateway.check()
        self.assertTrue(good, said)

    def test_bad(self):
        server = "server 127.0.0.1:1;"
        for upstream, expected in (
                ("prefix_route;", 'invalid number of arguments in "prefix_route" directive'),
                ("prefix_route strategy=random;", '"prefix_route" directive needs a "zone=name:size"'),
                ("prefix_route zone=z:1m colour=red;", 'unknown parameter "colour=red" of "prefix_route"'),
                ("prefix_route zone=z:1m random;", 'unknown parameter "random" of "prefix_route"'),
                ("prefix_route zone=z:1m strategy=best;", 'invalid value in "strategy=best" of "prefix_route"'),
                ("prefix_route zone=z:1m max_prefix=-1;", 'invalid value in "max_prefix=-1" of "prefix_route"'),
                ("prefix_route zone=z:1m max_prefix=0;", "max_prefix_bytes is 0"),
                ("prefix_route zone=z:1m max_prefix=17m;", "max_prefix_bytes is 17825792"),
                ("prefix_route zone=z:1m gateway_replicas=0;", "gateway_replicas is 0"),
                ("prefix_route zone=z:1m max_outstanding=many;", 'invalid value in "max_outstanding=many"'),
                ("prefix_route zone=z:1m max_outstanding=4294967296;", 'invalid value in "max_outstanding=4294967296"'),
                ("prefix_route zone=z:1m max_outstanding=2000000;", "max_outstanding is 2000000"),
                ("prefix_route zone=z:1m bound_factor=99;", 'invalid value in "bound_factor=99" of "prefix_route": '),
                ("prefix_route zone=z:1m fail_open=maybe;", 'invalid value in "fail_open=maybe"'),
                ("prefix_route zone=z:1m prefix=body;", 'invalid value in "prefix=body" of "prefix_route"'),
                ("prefix_route zone=z:1m scope=$nonesuch;", 'unknown "nonesuch" variable'),
                ("prefix_route zone=z;", 'invalid value in "zone=z"'),
                ("prefix_route zone=:1m;", 'invalid value in "zone=:1m"'),
                ("prefix_route zone=z:big;", 'invalid value in "zone=z:big"'),
                ("prefix_route zone=z:1k;", 'zone "z:1k" of "prefix_route" is too small'),
                ("prefix_route zone=z:64k;", 'zone "z" of "prefix_route" is too small'),
                ("prefix_route zone=z:1m; prefix_route zone=y:1m;", '"prefix_route" directive is duplicate'),
                ("least_conn; prefix_route zone=z:1m;", 'must come before "keepalive"'),
                ("server 127.0.0.1:2; keepalive 2; prefix_route zone=z:1m;", 'must come before "keepalive"'),
                ("prefix_route zone=z:1m; server 127.0.0.1:1;", "127.0.0.1:1"),
                ("prefix_route zone=z:1m; server 127.0.0.1:9; } upstream others { prefix_route zone=z:1m;",
                 'zone "z" is already that of "prefix_route" in upstream "engines"'),
                ("prefix_route zone=engines:1m; zone engines 64k;", '"engines" is already declared for a different use'),
        ):
            with self.subTest(upstream):
                good, said = self.check(upstream + server)
                self.assertFalse(good)
                self.assertIn("[emerg]", said)
                self.assertIn(expected, said)
                if "$nonesuch" not in upstream:
                    self.assertIn("nginx.conf:", said)

    def test_prompt_without_the_payload_component(self):
        good, said = self.check("prefix_route zone=z:1m prefix=prompt; server 127.0.0.1:1;",
                                module=MODULE_WITHOUT_PAYLOAD)
        self.assertFalse(good)
        self.assertRegex(said, r'\[emerg\].* "prefix=prompt" of "prefix_route" needs the library\'s payload component.*'
                         r"nginx\.conf:")
        good, said = self.check("prefix_route zone=z:1m; server 127.0.0.1:1;", module=MODULE_WITHOUT_PAYLOAD)
        self.assertTrue(good, said)

    expected_alerts = ("[emerg]",)


if __name__ == "__main__":
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # Of clients that have dropped.
    unittest.main()
