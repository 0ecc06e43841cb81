#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the gateway does with requests and answers, and when something goes wrong. After each test nothing may be
outstanding, and the gateway must end well."""

import asyncio
import collections
import contextlib
import json
import os
import pathlib
import resource
import signal
import socket
import subprocess
import tempfile
import unittest

from harness import GATEWAY, PATIENCE, SSE, Engine, Gateway, GatewayTest, chat, chunk, die_with_parent, event, hello, \
    read_body, read_chunk, read_head, reset, two_events, until

LOCALHOST = [each[4][0] for each in socket.getaddrinfo("localhost", 1, type=socket.SOCK_STREAM)]


class RoutingTest(GatewayTest):
    async def test_strict_mode_goes_by_the_first_bytes_alone(self):
        await self.start(strict_prefix_bytes=64)
        engines = {self.engine_of(await self.gateway.open(chat("You are a helpful assistant. " * 5 + str(n) * 99))).id
                   for n in range(12)}
        self.assertEqual(len(engines), 1)

    async def test_requests_of_one_prompt_go_to_one_engine(self):
        await self.start()
        prompt = "You are a helpful assistant. " * 100
        bodies = [chat(prompt), chat(prompt, temperature=1, stream=False),
                  json.dumps({"messages": [{"content": prompt, "role": "user"}], "model": "m"}, indent=2).encode()]
        engines = set()
        for body in bodies:
            answer = await self.gateway.open(body)
            self.assertEqual(await answer.json(), {"said": "hello"})
            engines.add(self.engine_of(answer).id)
        self.assertEqual(len(engines), 1)
        self.assertEqual(await self.gateway.metric('bodies_total{form="chat"}'), 3)

    async def test_prompts_spread(self):
        await self.start()
        for n in range(60):
            await (await self.gateway.open(chat(f"{n} " * 500))).body()
        self.assertGreater(min(each.total for each in self.engines), 5)

    async def test_other_requests_go_to_any_engine(self):
        await self.start()
        answer = await self.gateway.open(path="/v1/models")
        self.assertEqual((answer.status, answer.head.get("X-Prefixroute-Reason")), (200, "no_prefix"))

    async def test_decision_headers_are_off_by_default(self):
        await self.start(decision_headers=False)
        answer = await self.gateway.open(chat("hello"))
        self.assertEqual([name for name, _ in answer.head.fields if "prefixroute" in name.lower()], [])

    async def test_weights_and_bounds_come_from_the_config(self):
        self.behave(two_events)
        bounds = (1, 2, 3)
        await self.start(strategy="LEAST_OUTSTANDING_REQUESTS", instances=[
            {"url": each.url, "max_outstanding": bound} for each, bound in zip(self.engines, bounds)])
        answers = await asyncio.gather(*(self.gateway.open(chat(str(n))) for n in range(8)))
        self.assertEqual(collections.Counter(answer.status for answer in answers), {200: 6, 429: 2})
        self.assertEqual(tuple(each.peak for each in self.engines), bounds)
        self.assertEqual(await self.gateway.metric('refused_total{why="exhausted"}'), 2)

    async def test_load_that_engines_report_counts(self):
        reports = ('vllm:num_requests_running{model_name="a} b"} 3.0\nvllm:num_requests_waiting{model_name="m"} 2\n',
                   "sglang:num_running_reqs 9\nsglang:num_queue_reqs 0\n",
                   "# HELP x\nllamacpp:requests_processing 1\nllamacpp:requests_deferred 0\n")
        for each, report in zip(self.engines, reports):
            each.metrics = report
        await self.start(strategy="LEAST_OUTSTANDING_REQUESTS")
        chosen = []

        async def settled():
            chosen.append((await self.gateway.open(chat("x"))).head.get("X-Prefixroute-Instance"))
            return chosen[-10:] == [self.engines[2].id] * 10
        await until(settled, "the least busy is chosen")
        self.engines[2].metrics = self.engines[2].metrics.replace(" 1", " 100")
        chosen.clear()

        async def settled_anew():
            chosen.append((await self.gateway.open(chat("x"))).head.get("X-Prefixroute-Instance"))
            return chosen[-10:] == [self.engines[0].id] * 10
        await until(settled_anew, "the least busy is chosen")

    async def test_load_in_answers_counts(self):
        def saying(load):
            async def behave(call):
                self.assertEqual(call.head.get("endpoint-load-metrics-format"), "TEXT")
                await call.answer(headers=[f"endpoint-load-metrics: {load}"])
            return behave
        self.engines[0].behave = saying("TEXT named_metrics.kv_cache_usage_perc=0.4, "
                                        "named_metrics.num_requests_waiting=5.0")
        self.engines[1].behave = saying('JSON {"named_metrics": {"num_requests_waiting": 7.0}}')
        self.engines[2].behave = saying("TEXT named_metrics.num_requests_waiting=0.0")
        await self.start(strategy="LEAST_OUTSTANDING_REQUESTS", load={"source": "orca"})
        chosen = []

        async def settled():
            answer = await self.gateway.open(chat("x"))
            self.assertIsNone(answer.head.get("endpoint-load-metrics"))
            chosen.append(answer.head.get("X-Prefixroute-Instance"))
            return chosen[-10:] == [self.engines[2].id] * 10
        await until(settled, "the least busy is chosen")

    async def test_load_that_was_told_once_is_forgotten(self):
        told = []

        async def behave(call):
            told.append(call.engine)
            await call.answer(headers=["endpoint-load-metrics: TEXT named_metrics.num_requests_waiting=1000.0"]
                              if told.count(call.engine) == 1 and call.engine is self.engines[0] else [])
        self.behave(behave)
        await self.start(strategy="LEAST_OUTSTANDING_REQUESTS", load={"source": "orca"})

        async def again():
            await (await self.gateway.open(chat("x"))).body()
            return told.count(self.engines[0]) > 1
        await until(again, "the one that was busy is chosen again")


class StreamTest(GatewayTest):
    async def test_each_piece_is_passed_on_as_it_comes(self):
        async def behave(call):
            await call.send(SSE)
            for n in range(5):
                call.engine.released.clear()
                await call.send(chunk(event({"n": n})))
                await call.hold()
            await call.send(b"0\r\n\r\n")
        self.behave(behave)
        await self.start()
        answer = await self.gateway.open(chat("hello", stream=True))
        for n in range(5):
            self.assertEqual(await answer.event(), event({"n": n}))
            self.release()
        self.assertEqual(await answer.body(), b"")

    async def test_first_token_is_the_first_event_and_no_comment(self):
        async def behave(call):
            await call.send(SSE + chunk(b": still here\n\n"))
            await call.hold()
            call.engine.released.clear()
            await call.send(chunk(event({"n": 1})))
            await call.hold()
            await call.send(b"0\r\n\r\n")
        self.behave(behave)
        await self.start()
        answer = await self.gateway.open(chat("hello" * 1000, stream=True))
        engine = self.engine_of(answer)
        self.assertEqual(await answer.event(), b": still here\n\n")
        self.assertGreater(await self.gateway.metric(f'pending_bytes{{instance="{engine.id}"}}'), 0)
        count = f'first_token_seconds_count{{instance="{engine.id}"}}'
        self.assertEqual(await self.gateway.metric(count), 0)
        self.release()
        await answer.event()
        await self.until_metric(f'pending_bytes{{instance="{engine.id}"}}', 0)
        self.assertEqual(await self.gateway.metric(count), 1)
        self.assertEqual(await self.gateway.metric(f'outstanding{{instance="{engine.id}"}}'), 1)
        self.release()
        await answer.body()
        await until(self.nothing_outstanding, "finished")

    async def test_a_client_that_leaves_ends_its_request(self):
        async def silent(call):
            await call.hold()
        for behaviour, begun in ((silent, False), (two_events, True)):
            for leave in ("drop", "reset"):
                with self.subTest(begun=begun, leave=leave):
                    await self.gateway.stop()
                    for each in self.engines:
                        each.aborted = 0
                    self.behave(behaviour)
                    await self.start()
                    if begun:
                        answer = await self.gateway.open(chat("hello", stream=True))
                        await answer.event()
                        getattr(answer, leave)()
                    else:
                        _, writer = await self.gateway.connect()
                        writer.write(b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n{}")
                        await until(lambda: sum(each.running for each in self.engines) == 1, "the engine has it")
                        writer.close() if leave == "drop" else reset(writer)
                    await until(lambda: sum(each.aborted for each in self.engines) == 1, "the engine hears of it")
                    await until(self.nothing_outstanding, "finished")
                    self.assertEqual(await self.gateway.metric("client_losses_total"), 1)
                    self.assertEqual(await self.gateway.metric("retries_total"), 0)

    async def test_a_client_that_leaves_after_a_part_of_its_next_request(self):
        async def silent(call):
            await call.hold()
        self.behave(silent)
        await self.start()
        for count, more in enumerate((b"G", b"POST / HTTP/1.1\r\n" + b"X: 1\r\n" * 1000), 1):
            _, writer = await self.gateway.connect()
            writer.write(b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n{}")
            await until(lambda: sum(each.running for each in self.engines) == 1, "the engine has it")
            writer.write(more)
            await writer.drain()
            await asyncio.sleep(0.1)
            writer.close()
            await until(lambda: sum(each.aborted for each in self.engines) == count, "the engine hears of it")
            await until(self.nothing_outstanding, "finished")

    async def test_what_comes_during_an_answer_is_the_next_request(self):
        self.behave(two_events)
        await self.start()
        reader, writer = await self.gateway.connect()
        request = b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 30000\r\n\r\n" + b"x" * 30_000
        writer.write(request)
        for _ in range(3):
            self.assertIn("200", (await asyncio.wait_for(read_head(reader), PATIENCE)).line)
            for begin in range(0, len(request), 700):
                writer.write(request[begin:begin + 700])
                await asyncio.sleep(0)
            await asyncio.sleep(0.1)
            self.release()
            while await asyncio.wait_for(read_chunk(reader), PATIENCE):
                pass
        self.assertIn("200", (await asyncio.wait_for(read_head(reader), PATIENCE)).line)
        self.assertEqual({call.body for each in self.engines for call in each.calls}, {b"x" * 30_000})

    async def test_a_slow_client_slows_the_engine_down(self):
        sent = 0

        async def behave(call):
            nonlocal sent
            await call.send(SSE)
            while sent < 64 << 20:
                await call.send(chunk(b"x" * 65536))
                sent += 65536
            await call.send(b"0\r\n\r\n")
        self.behave(behave)
        await self.start()
        answer = await self.gateway.open(chat("hello", stream=True))
        answer.reader._transport.pause_reading()
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.5)
        self.assertLess(sent, 32 << 20)
        answer.reader._transport.resume_reading()
        total = 0
        while data := await answer.event():
            total += len(data)
        self.assertEqual(total, 64 << 20)

    async def test_a_client_that_takes_nothing_is_given_up(self):
        async def behave(call):
            await call.send(SSE)
            while True:
                await call.send(chunk(b"x" * 65536))
        self.behave(behave)
        await self.start(timeouts={"write": 0.5})
        answer = await self.gateway.open(chat("hello", stream=True))
        answer.reader._transport.pause_reading()
        await self.until_metric("client_losses_total", 1)
        await until(self.nothing_outstanding, "finished")

    async def test_cached_tokens_are_read_from_answers(self):
        openai = {"usage": {"prompt_tokens": 100, "completion_tokens": 3,
                            "prompt_tokens_details": {"cached_tokens": 64}}}
        start = {"type": "message_start", "message": {"usage": {
            "input_tokens": 10, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 10, "output_tokens": 1}}}
        responses = {"type": "response.completed", "response": {
            "output": [{"text": "\"usage\": {\"cached_tokens\": 9"}],
            "usage": {"input_tokens": 100, "input_tokens_details": {"cached_tokens": 50}}}}
        said = [
            ("/v1/chat/completions", [event({"choices": [{"delta": "x" * 50_000}]}), event(openai), event(b"[DONE]")],
             64),
            ("/v1/messages", [b"event: message_start\n" + event(start), event({"usage": {"output_tokens": 5}})], 80),
            ("/v1/responses", [event(responses)], 50),
            ("/v1/completions", json.dumps({"choices": ["{}"], **openai}, indent=1).encode(), 64),
        ]
        await self.start()
        expected = 0
        for path, answer, cached in said:
            async def behave(call, answer=answer):
                if isinstance(answer, bytes):
                    return await call.answer(answer)
                # Cut anywhere.
                whole = b"".join(answer)
                await call.stream([whole[i:i + 7] for i in range(0, len(whole), 7)])
            self.behave(behave)
            await (await self.gateway.open(chat("hello"), path)).body()
            expected += cached
            metrics = await self.gateway.metrics()
            self.assertEqual(sum(v for k, v in metrics.items() if k.startswith("cached_tokens_total")), expected, path)
        self.assertEqual(sum(v for k, v in metrics.items() if k.startswith("prompt_tokens_total")), 400)

    async def test_two_thousand_streams_at_once(self):
        _, files = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files < 10_000:
            self.skipTest(f"this process may open {files} files only")
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        self.behave(two_events)
        await self.start(load={"source": "none"}, health={"interval": 1})
        streams = 2000
        answers = []
        for _ in range(20):
            answers += await asyncio.gather(*(self.gateway.open(chat(f"{n}" * 50, stream=True))
                                              for n in range(len(answers), len(answers) + streams // 20)))
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(await self.gateway.metric("outstanding_all"), streams)
        self.release()
        bodies = await asyncio.gather(*(answer.body() for answer in answers))
        self.assertEqual(set(bodies), {event({"n": 1}) + event(b"[DONE]")})


class RetryTest(GatewayTest):
    async def fails(self, behaviour, message=""):
        """Another engine serves what the first one fails."""
        self.behave(hello)
        home = self.engine_of(await self.gateway.open(chat("hello")))
        before = await self.gateway.metric("retries_total")
        home.behave = behaviour
        answer = await self.gateway.open(chat("hello"))
        self.assertEqual((answer.status, await answer.json()), (200, {"said": "hello"}), message)
        self.assertIsNot(self.engine_of(answer), home)
        self.assertEqual(await self.gateway.metric("retries_total"), before + 1)
        return home

    async def test_another_engine_serves_what_one_fails_to_begin(self):
        async def resets(call):
            reset(call.writer)

        async def closes(call):
            raise ConnectionResetError

        async def closes_in_header(call):
            await call.send(b"HTTP/1.1 200 OK\r\nContent-Le")
            raise ConnectionResetError

        async def closes_before_body(call):
            await call.send(SSE)
            raise ConnectionResetError

        async def no_http(call):
            await call.send(b"220 mail.example.com ESMTP\r\n\r\n")

        async def unavailable(call):
            await call.answer(b"loading", status=503)

        async def bad_gateway(call):
            await call.answer(b"no", status=502)
        await self.start(health={"failures": 1000})
        for behaviour in (resets, closes, closes_in_header, closes_before_body, no_http, unavailable, bad_gateway):
            with self.subTest(behaviour.__name__):
                await self.fails(behaviour)

    async def test_another_engine_serves_when_a_connection_is_refused(self):
        await self.start(health={"failures": 1000, "interval": 100})
        home = self.engine_of(await self.gateway.open(chat("hello")))
        await home.stop()
        answer = await self.gateway.open(chat("hello"))
        self.assertEqual((answer.status, await answer.json()), (200, {"said": "hello"}))
        self.assertEqual(await self.gateway.metric("retries_total"), 1)
        await home.start()
        while self.engine_of(await self.gateway.open(chat("hello"))) is not home:
            pass
        self.assertIn(f"instance {home.id} was restarted", self.gateway.log())

    @unittest.skipIf(b"__ubsan_" in pathlib.Path(GATEWAY).read_bytes(),
                     "UndefinedBehaviorSanitizer takes a descriptor to look at an object")
    async def test_an_engine_is_not_blamed_for_descriptors_that_are_not_there(self):
        await self.start(threads=1, health={"failures": 2})
        connection = await self.gateway.connect()
        await (await self.gateway.request(*connection, path="/healthz")).body()
        await until(lambda: all(each.polls > 0 for each in self.engines), "the engines are known to be there")
        limits = resource.prlimit(self.gateway.process.pid, resource.RLIMIT_NOFILE)
        # What is open stays open.
        resource.prlimit(self.gateway.process.pid, resource.RLIMIT_NOFILE, (3, limits[1]))
        for _ in range(6):
            answer = await self.gateway.request(*connection, chat("hello"))
            self.assertEqual(answer.status, 503)
            await answer.body()
        await asyncio.sleep(1)  # Checks, too, have none.
        resource.prlimit(self.gateway.process.pid, resource.RLIMIT_NOFILE, limits)
        answer = await self.gateway.request(*connection, chat("hello"))
        self.assertEqual(answer.status, 200)
        await answer.body()
        polls = [each.polls for each in self.engines]
        await until(lambda: all(each.polls > before + 1 for each, before in zip(self.engines, polls)), "checks go on")
        for each in self.engines:
            self.assertEqual(await self.gateway.metric(f'instance_failures_total{{instance="{each.id}"}}'), 0)
        for word in ("fails", "restarted"):
            self.assertNotIn(word, self.gateway.log())

    async def test_what_an_engine_answers_for_itself_is_passed_on(self):
        await self.start()
        for status in (400, 401, 404, 429, 500, 504):
            async def behave(call, status=status):
                await call.answer(b'{"mine": 1}', status, ["X-Mine: yes"])
            self.behave(behave)
            answer = await self.gateway.open(chat("hello"))
            self.assertEqual((answer.status, await answer.json(), answer.head.get("X-Mine")),
                             (status, {"mine": 1}, "yes"))
        self.assertEqual(await self.gateway.metric("retries_total"), 0)

    async def test_what_may_have_been_done_is_not_asked_for_again(self):
        async def resets(call):
            reset(call.writer)

        async def unavailable(call):
            await call.answer(status=503)
        await self.start(health={"failures": 1000})
        for _ in range(10):
            self.assertEqual((await self.gateway.open(b"not JSON", "/v1/files")).status, 200)
        for behaviour, method, status, engines in ((resets, "POST", 502, 1), (unavailable, "POST", 503, 3),
                                                   (resets, "PUT", 503, 3)):
            with self.subTest(behaviour.__name__, method=method):
                self.behave(behaviour)
                before = [each.total for each in self.engines]
                self.assertEqual((await self.gateway.open(b"not JSON", "/v1/files", method)).status, status)
                calls = [each.total - total for each, total in zip(self.engines, before)]
                self.assertEqual(len([count for count in calls if count > 0]), engines)
                if method == "POST":
                    self.assertEqual(sum(calls), engines)

    async def test_tries_are_bounded(self):
        async def unavailable(call):
            await call.answer(b"", status=503)
        self.behave(unavailable)
        await self.start(limits={"tries": 2}, health={"failures": 1000})
        answer = await self.gateway.open(chat("hello"))
        self.assertEqual((answer.status, answer.head.get("Retry-After")), (503, "1"))
        self.assertEqual(sum(each.total for each in self.engines), 2)
        self.assertEqual(await self.gateway.metric("unserved_total"), 1)

    async def test_an_answer_that_has_begun_is_not_tried_again(self):
        async def breaks(call):
            await call.send(SSE + chunk(event({"n": 1})))
            await call.hold()
            raise ConnectionResetError
        self.behave(breaks)
        await self.start()
        answer = await self.gateway.open(chat("hello", stream=True))
        await answer.event()
        self.release()
        with self.assertRaises((asyncio.IncompleteReadError, ConnectionError, ValueError)):
            await answer.body()
        self.assertEqual(sum(each.total for each in self.engines), 1)
        self.assertEqual(await self.gateway.metric("broken_answers_total"), 1)

    async def test_an_idle_connection_that_the_engine_closes_is_no_failure(self):
        async def once(call):
            await hello(call)
            # What comes next on this connection is not answered.
            await read_head(call.reader)
            raise ConnectionResetError
        self.engines = self.engines[:1]
        self.behave(once)
        await self.start(threads=1)
        for _ in range(5):
            self.assertEqual((await self.gateway.open(chat("hello"))).status, 200)
        metrics = await self.gateway.metrics()
        self.assertEqual((metrics["retries_total"], metrics["unserved_total"]), (0, 0))
        self.assertEqual(metrics[f'instance_failures_total{{instance="{self.engines[0].id}"}}'], 0)

    async def test_connections_to_engines_are_kept(self):
        self.engines = self.engines[:1]
        await self.start(threads=1, load={"source": "none"}, health={"interval": 100})
        polls = self.engines[0].connections
        for _ in range(20):
            await (await self.gateway.open(chat("hello"))).body()
        self.assertLessEqual(self.engines[0].connections - polls, 2)

    async def test_an_engine_that_refuses_early_is_heard(self):
        async def never(_call):
            raise AssertionError

        class Refusing(Engine):
            async def _serve(self, reader, writer):
                head = await read_head(reader)
                if head.line.startswith("POST"):
                    writer.write(b"HTTP/1.1 413 Big\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
                    await writer.drain()
                    await asyncio.sleep(0.5)
                writer.close()
        engine = Refusing(never)
        await engine.start()
        self.engines[0] = engine
        await self.start(instances=[{"url": engine.url}], health={"failures": 1000})
        answer = await self.gateway.open(chat("x" * (8 << 20)))
        self.assertEqual((answer.status, await answer.body()), (413, b"big"))


class TimeoutTest(GatewayTest):
    async def test_no_answer_in_time(self):
        async def silent(call):
            await call.hold()

        async def header_only(call):
            await call.send(SSE)
            await call.hold()
        await self.start(timeouts={"first_byte": 0.3})
        for behaviour in (silent, header_only):
            self.behave(behaviour)
            answer = await self.gateway.open(chat("hello"))
            self.assertEqual(answer.status, 504)
            self.assertEqual((await answer.json())["error"]["type"], "timeout_error")
        await until(lambda: sum(each.aborted for each in self.engines) == 2, "the engine hears of it")
        self.assertEqual(await self.gateway.metric("timeouts_total"), 2)

    async def test_no_answer_in_time_on_a_connection_that_was_kept(self):
        async def silent(call):
            await call.hold()
        await self.start(instances=[{"url": self.engines[0].url}], threads=1, timeouts={"first_byte": 0.5})
        await (await self.gateway.open(chat("hello"))).body()
        self.behave(silent)
        self.assertEqual((await self.gateway.open(chat("hello"))).status, 504)
        self.assertEqual(self.engines[0].total, 2)

    async def test_an_answer_that_stalls(self):
        self.behave(two_events)
        await self.start(timeouts={"stall": 0.3})
        answer = await self.gateway.open(chat("hello", stream=True))
        await answer.event()
        with self.assertRaises((asyncio.IncompleteReadError, ConnectionError, ValueError)):
            await answer.body()
        self.assertEqual(await self.gateway.metric("broken_answers_total"), 1)

    async def test_slow_clients_are_closed(self):
        await self.start(timeouts={"header": 0.3, "body": 0.3, "keep_alive": 0.3})
        for begin in (b"", b"POST / HTTP/1.1\r\nHost:", b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\n{",
                      b"POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{"):
            with self.subTest(begin):
                self.assertEqual(await self.gateway.raw(begin), b"")
        self.assertEqual(sum(each.total for each in self.engines), 0)


class HealthTest(GatewayTest):
    def draining(self, engine):
        return f'draining{{instance="{engine.id}"}}'

    async def test_an_engine_that_fails_its_checks_gets_nothing_until_it_is_well(self):
        await self.start()
        sick = self.engines[0]
        sick.health = 503
        await self.until_metric(self.draining(sick), 1)
        before = sick.total
        for n in range(30):
            self.assertEqual((await self.gateway.open(chat(str(n) * 100))).status, 200)
        self.assertEqual(sick.total, before)
        sick.health = 200
        await self.until_metric(self.draining(sick), 0)
        while sick.total == before:
            await self.gateway.open(chat(str(sum(each.total for each in self.engines)) * 100))
        self.assertNotIn("restarted", self.gateway.log())

    async def test_an_engine_that_was_restarted_is_taken_for_empty(self):
        await self.start()
        engine = self.engines[0]
        await until(lambda: engine.polls > 0, "it is known to be there")
        await engine.stop()
        await self.until_metric(self.draining(engine), 1)
        await engine.start()
        await self.until_metric(self.draining(engine), 0)
        self.assertEqual(self.gateway.log().count(f"instance {engine.id} was restarted"), 1)
        for start in (1000, 1000, 2000):
            engine.metrics = f"process_start_time_seconds {start}\n"
            await asyncio.sleep(0.3)
        await until(lambda: self.gateway.log().count(f"instance {engine.id} was restarted") == 2, "a new process")

    async def test_an_engine_that_starts_late_was_not_restarted(self):
        engine = self.engines[0]
        await engine.stop()
        await self.start()
        await self.until_metric(self.draining(engine), 1)
        await engine.start()
        await self.until_metric(self.draining(engine), 0)
        self.assertNotIn("restarted", self.gateway.log())

    async def test_an_engine_that_could_not_be_reached_was_not_restarted(self):
        await self.start(health={"timeout": 0.3})
        engine = self.engines[0]
        await until(lambda: engine.polls > 0, "it is known to be there")
        listener = engine.listener()
        listener.listen(0)  # The first check that nobody takes fills the queue; the next find no way in.
        await engine.stop()
        await self.until_metric(self.draining(engine), 1)
        await engine.start(listener)
        await self.until_metric(self.draining(engine), 0)
        self.assertNotIn("restarted", self.gateway.log())

    async def test_an_engine_that_fails_requests_gets_no_more(self):
        async def unavailable(call):
            await call.answer(b"", status=503)
        await self.start(health={"interval": 100, "failures": 3})
        home = self.engine_of(await self.gateway.open(chat("hello")))
        home.behave = unavailable
        for _ in range(10):
            self.assertEqual((await self.gateway.open(chat("hello"))).status, 200)
        self.assertEqual(home.total, 1 + 3)
        self.assertEqual(await self.gateway.metric(self.draining(home)), 1)

    async def test_requests_that_fail_everywhere_drain_nothing(self):
        async def by_prompt(call):
            if b"503" in call.body or b"502" in call.body:
                return await call.answer(status=503 if b"503" in call.body else 502)
            if b"begin" in call.body:
                await call.send(SSE + chunk(event({"n": 1})))
            if b"reset" in call.body:
                reset(call.writer)
                raise ConnectionResetError
            await hello(call)
        self.behave(by_prompt)
        await self.start(health={"interval": 100, "failures": 2})
        for prompt, status in (("503", 503), ("502", 503), ("reset", 503), ("begin and reset", 200)):
            with self.subTest(prompt):
                for n in range(12):
                    self.assertEqual((await self.gateway.open(chat(prompt + str(n) * 50))).status, status)
                for each in self.engines:
                    self.assertEqual(await self.gateway.metric(self.draining(each)), 0)
                self.assertEqual((await self.gateway.open(chat("hello"))).status, 200)

    async def test_the_last_engine_is_left(self):
        await self.start(health={"interval": 100, "failures": 2})
        for each in self.engines:
            await each.stop()
        for n in range(30):
            self.assertEqual((await self.gateway.open(chat(str(n) * 50))).status, 503)
        drained = [await self.gateway.metric(self.draining(each)) for each in self.engines]
        self.assertEqual(sorted(drained), [0, 1, 1])
        await self.engines[drained.index(0)].start()
        self.assertEqual((await self.gateway.open(chat("hello"))).status, 200)

    async def test_healthz(self):
        await self.start()
        self.assertEqual((await self.gateway.open(path="/healthz")).status, 200)
        for each in self.engines:
            each.health = 500
        for each in self.engines:
            await self.until_metric(self.draining(each), 1)
        self.assertEqual((await self.gateway.open(path="/healthz")).status, 503)
        answer = await self.gateway.open(chat("hello"))
        self.assertEqual((answer.status, answer.head.get("Retry-After")), (503, "1"))

    async def test_names_are_resolved(self):
        engine = self.engines[0]
        await self.start(instances=[{"url": f"http://localhost:{engine.port}"}, {"url": "http://nowhere.invalid:1"}])
        await self.until_metric(f'draining{{instance="localhost:{engine.port}"}}', 0)
        for n in range(20):
            self.assertEqual((await self.gateway.open(chat(str(n)))).status, 200)
        self.assertEqual(await self.gateway.metric("retries_total"), 0)
        self.assertEqual(await self.gateway.metric('draining{instance="nowhere.invalid:1"}'), 1)
        self.assertEqual(engine.calls[0].head.get("Host"), f"localhost:{engine.port}")

    async def test_an_engine_at_an_address_that_is_none_here_gets_nothing(self):
        nowhere = "http://[2001:db8::1]:9"
        await self.start(instances=[{"url": self.engines[0].url}, {"url": nowhere, "id": "nowhere"}],
                         health={"timeout": 0.3})
        await self.until_metric('draining{instance="nowhere"}', 1)

    @unittest.skipUnless(LOCALHOST == ["::1", "127.0.0.1"], f"localhost is {LOCALHOST}")
    async def test_each_address_of_a_name_gets_its_share_of_the_time(self):
        engine = self.engines[0]
        with socket.create_server(("::1", engine.port), family=socket.AF_INET6, backlog=0) as silent:
            # The queue of those who wait for it is full.
            with socket.create_connection(silent.getsockname()[:2]):
                await self.start(instances=[{"url": f"http://localhost:{engine.port}"}], timeouts={"connect": 5})
                await self.until_metric(f'draining{{instance="localhost:{engine.port}"}}', 0)
                self.assertEqual((await self.gateway.open(chat("hello"))).status, 200)

    async def test_a_check_may_be_a_connection_alone(self):
        for each in self.engines:
            each.health = 500
        await self.start(health={"path": ""})
        await asyncio.sleep(0.5)
        self.assertEqual((await self.gateway.open(path="/healthz")).status, 200)
        await self.engines[0].stop()
        await self.until_metric(self.draining(self.engines[0]), 1)


class ReloadTest(GatewayTest):
    async def test_instances_come_and_go_under_live_streams(self):
        self.behave(two_events)
        kept, removed, added = self.engines
        self.gateway.configure([kept, removed])
        await self.gateway.start()
        streams = [await self.gateway.open(chat(f"{n}" * 100, stream=True)) for n in range(20)]
        self.assertGreater(removed.running, 0)
        self.gateway.configure([kept, added])
        await self.gateway.reload()
        at_removed = removed.total
        streams += [await self.gateway.open(chat(f"{n}" * 100, stream=True)) for n in range(20)]
        self.assertEqual(removed.total, at_removed)
        self.assertGreater(added.total, 0)
        self.assertEqual(await self.gateway.metric("outstanding_all"), 40)
        self.assertEqual(await self.gateway.metric(f'outstanding{{instance="{kept.id}"}}'), kept.running)
        self.release()
        for stream in streams:
            self.assertTrue((await stream.body()).endswith(event(b"[DONE]")))

    async def test_new_names_are_checked_at_once(self):
        instances = [{"url": f"http://localhost:{each.port}"} for each in self.engines]
        await self.start(instances=instances[:1], health={"interval": 100})

        async def served():
            answer = await self.gateway.open(chat("hello"))
            await answer.body()
            return answer.status == 200
        await until(served, "the first one is checked")
        self.gateway.configure(instances[1:], health={"interval": 100})
        await self.gateway.reload()
        await until(served, "the others are checked")

    async def test_a_shorter_interval_counts_at_once(self):
        await self.start(health={"interval": 100})
        self.gateway.configure(self.engines)
        await self.gateway.reload()
        await until(lambda: self.engines[0].polls > 2, "more checks than one at the start and one at the reload")

    async def test_draining_by_config(self):
        await self.start()
        for drained in self.engines:
            self.gateway.configure([{"url": each.url, "draining": each is drained} for each in self.engines])
            await self.gateway.reload()
            before = drained.total
            for n in range(30):
                self.assertEqual((await self.gateway.open(chat(str(n) * 100))).status, 200)
            self.assertEqual(drained.total, before)

    async def test_strategy_changes(self):
        await self.start()
        self.gateway.configure(self.engines, strategy="RANDOM")
        await self.gateway.reload()
        self.assertEqual((await self.gateway.open(chat("hello"))).head.get("X-Prefixroute-Reason"), "random")

    async def test_connections_that_are_kept_see_the_new_config(self):
        await self.start(decision_headers=False, limits={"body_bytes": 1000})
        connection = await self.gateway.connect()
        await (await self.gateway.request(*connection, chat("hello"))).body()
        self.gateway.configure(self.engines, limits={"body_bytes": 100_000})
        await self.gateway.reload()
        answer = await self.gateway.request(*connection, chat("x" * 50_000))
        self.assertEqual(answer.status, 200)
        self.assertIsNotNone(answer.head.get("X-Prefixroute-Instance"))

    async def test_an_address_changes_under_one_id(self):
        await self.start(instances=[{"id": "a", "url": self.engines[0].url}])
        await (await self.gateway.open(chat("hello"))).body()
        self.gateway.configure([{"id": "a", "url": self.engines[1].url}])
        await self.gateway.reload()
        await (await self.gateway.open(chat("hello"))).body()
        self.assertEqual([each.total for each in self.engines], [1, 1, 0])

    async def test_checks_of_the_address_before_say_nothing_of_the_next(self):
        async def silent(reader, writer):
            asked.set()
            await reader.read()
            writer.close()
        asked = asyncio.Event()
        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        self.addAsyncCleanup(server.wait_closed)
        self.addCleanup(server.close)
        port = server.sockets[0].getsockname()[1]
        await self.start(instances=[{"id": "a", "url": f"http://127.0.0.1:{port}"}],
                         health={"failures": 1, "timeout": 1}, load={"source": "none"})
        await asyncio.wait_for(asked.wait(), PATIENCE)
        self.gateway.configure([{"id": "a", "url": self.engines[0].url}], health={"failures": 1, "interval": 100})
        await self.gateway.reload()
        await until(lambda: self.engines[0].polls > 0, "the new address is asked")
        await asyncio.sleep(1.5)
        self.assertEqual(await self.gateway.metric('draining{instance="a"}'), 0)
        self.assertEqual((await self.gateway.open(chat("hello"))).status, 200)

    async def test_what_was_said_of_the_load_is_forgotten_with_its_source(self):
        busy = self.engines[0]
        busy.metrics = "vllm:num_requests_running 500\nvllm:num_requests_waiting 400\n"

        async def share():
            before = busy.total
            for n in range(20):
                await (await self.gateway.open(chat(str(n)))).body()
            return busy.total - before

        async def spared():
            return await share() == 0
        await self.start(strategy="LEAST_OUTSTANDING_REQUESTS")
        await until(spared, "the load is known")
        self.gateway.configure(self.engines, strategy="LEAST_OUTSTANDING_REQUESTS", load={"source": "none"})
        await self.gateway.reload()
        self.assertGreater(await share(), 0)

    async def test_what_comes_draining_gets_nothing(self):
        drained = self.engines[2]
        await self.start(instances=[{"url": each.url} for each in self.engines[:2]])
        ended = False

        async def ask():
            count = 0
            while not ended:
                await (await self.gateway.open(chat(str(count)), headers=["Connection: close"])).body()
                count += 1
        clients = [asyncio.ensure_future(ask()) for _ in range(4)]
        for n in range(30):
            self.gateway.configure([*self.engines[:2], {"id": f"n{n}", "url": drained.url, "draining": True}])
            await self.gateway.reload()
        ended = True
        await asyncio.gather(*clients)
        self.assertEqual(drained.total, 0)

    async def test_the_cache_of_the_address_before_is_forgotten(self):
        async def tell(call):
            await call.answer(b'{"usage": {"prompt_tokens": 1000, "prompt_tokens_details": {"cached_tokens": 0}}}')
        self.behave(tell)
        expected = 'expected_cached_tokens_total{instance="a"}'
        await self.start(instances=[{"id": "a", "url": self.engines[0].url}])
        for _ in range(2):
            await (await self.gateway.open(chat("x" * 20_000))).body()
        before = await self.gateway.metric(expected)
        self.assertGreater(before, 0)
        self.gateway.configure([{"id": "a", "url": self.engines[1].url}])
        await self.gateway.reload()
        await (await self.gateway.open(chat("x" * 20_000))).body()
        self.assertLess(await self.gateway.metric(expected), before * 1.5)

    async def test_a_wrong_config_changes_nothing(self):
        await self.start()
        for text, complaint in (("{", "parse error"), ('{"instances": [], "listen": "127.0.0.1:0"}', "instances"),
                                ('{"instances": [{"url": "http://a:1", "weight": -1}]}', "weight"),
                                ('{"threads": ' + "[" * 100_000 + "]" * 100_000 + "}", "more than 8 lists")):
            self.gateway.write_config(text)
            await self.gateway.reload("keeps the config that it has")
            self.assertIn(complaint, self.gateway.log().splitlines()[-1])
            self.assertEqual((await self.gateway.open(chat("hello"))).status, 200)

    async def test_what_needs_a_restart_is_said(self):
        await self.start(threads=2)
        self.gateway.configure(self.engines, threads=1)
        await self.gateway.reload("until the next start")


class ShutdownTest(GatewayTest):
    exit_codes = (0, 1)

    async def test_streams_end_well(self):
        self.behave(two_events)
        await self.start()
        idle = await self.gateway.connect()
        streams = [await self.gateway.open(chat(str(n), stream=True)) for n in range(20)]
        self.gateway.signal(signal.SIGTERM)
        # An idle connection is closed; nobody gets a new one.
        self.assertEqual(await asyncio.wait_for(idle[0].read(), PATIENCE), b"")

        async def refused():
            try:
                (await asyncio.open_connection("127.0.0.1", self.gateway.port))[1].close()
                return False
            except OSError:
                return True
        await until(refused, "no new connections")
        self.release()
        for stream in streams:
            self.assertTrue((await stream.body()).endswith(event(b"[DONE]")))
        self.assertEqual(await self.gateway.ended(), 0)

    async def test_signals_are_obeyed_after_memory_ran_out(self):
        await self.start()
        pid = self.gateway.process.pid
        with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
            used = int(statm.read().split()[0]) * resource.getpagesize()
        if used > 1 << 40:
            self.skipTest("a sanitizer has taken all addresses")
        self.gateway.write_config(" " * (64 << 20))
        resource.prlimit(pid, resource.RLIMIT_AS, (used + (16 << 20), resource.RLIM_INFINITY))
        await self.gateway.reload("goes on after an exception")
        resource.prlimit(pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.gateway.configure(self.engines)
        await self.gateway.reload()
        self.gateway.signal(signal.SIGTERM)
        self.assertEqual(await self.gateway.ended(), 0)

    async def test_what_takes_too_long_is_ended(self):
        self.behave(two_events)
        await self.start(timeouts={"shutdown": 0.5})
        await self.gateway.open(chat("hello", stream=True))
        self.gateway.signal(signal.SIGTERM)
        self.assertEqual(await self.gateway.ended(), 0)
        await until(lambda: sum(each.aborted for each in self.engines) == 1, "the engine hears of it")

    async def test_a_second_signal_ends_at_once(self):
        self.behave(two_events)
        await self.start()
        await self.gateway.open(chat("hello", stream=True))
        self.gateway.signal(signal.SIGTERM)
        await until(lambda: "ends when all streams have" in self.gateway.log(), "it drains")
        self.gateway.signal(signal.SIGTERM)
        self.assertEqual(await self.gateway.ended(), 1)


    async def test_the_next_gateway_takes_over_the_ports(self):
        self.behave(two_events)
        await self.start(admin="127.0.0.1:0")
        stream = await self.gateway.open(chat("hello", stream=True))
        folder = tempfile.TemporaryDirectory(prefix="prefixroute-gateway-")
        self.addCleanup(folder.cleanup)
        following = Gateway(folder.name)
        following.configure(self.engines, listen=f"127.0.0.1:{self.gateway.port}",
                            admin=f"127.0.0.1:{self.gateway.admin_port}")
        try:
            await following.start()
            self.gateway.signal(signal.SIGTERM)
            await until(lambda: "ends when all streams have" in self.gateway.log(), "the first one drains")
            self.release()

            async def served():
                try:
                    return (await following.open(path="/healthz", headers=["Connection: close"],
                                                 port=following.admin_port)).status == 200
                except (OSError, asyncio.IncompleteReadError):
                    return False  # It came to the first one just as that one closed.
            await until(served, "the second one serves")
            for n in range(20):
                self.assertEqual((await following.open(chat(str(n)))).status, 200)
            self.assertTrue((await stream.body()).endswith(event(b"[DONE]")))
            self.assertEqual(await self.gateway.ended(), 0)
        finally:
            await following.stop()


class CommandLineTest(unittest.TestCase):
    def run_gateway(self, *arguments):
        done = subprocess.run([GATEWAY, *arguments], capture_output=True, text=True, timeout=PATIENCE, check=False)
        return done.returncode, done.stdout, done.stderr

    def test_help(self):
        status, output, log = self.run_gateway("--help")
        self.assertEqual((status, log), (0, ""))
        self.assertIn("--instance URL", output)

    def test_a_config_can_be_checked(self):
        self.assertEqual(self.run_gateway("--check", "--instance", "http://127.0.0.1:1"), (0, "", ""))
        status, output, log = self.run_gateway("--check", "--instance", "https://127.0.0.1:1")
        self.assertEqual((status, output), (2, ""))
        self.assertIn('instances[0].url: "https://127.0.0.1:1" is not http://host:port', log)
        _, _, log = self.run_gateway("--check", "--instance", "https://" + "x" * 10_000)
        self.assertEqual((len(log), log[-2:]), (4096, "x\n"))

    def test_an_address_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            status, _, log = self.run_gateway("--listen", address, "--instance", "http://127.0.0.1:1")
        self.assertEqual(status, 1)
        self.assertIn(f"can't listen at {address}", log)

    def test_one_port_for_clients_and_metrics(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        for admin in (f"127.0.0.1:{port}", f"0.0.0.0:{port}"):
            status, _, log = self.run_gateway("--listen", f"127.0.0.1:{port}", "--admin", admin,
                                              "--instance", "http://127.0.0.1:1")
            self.assertEqual(status, 1)
            self.assertIn(f"can't listen at {admin}", log)


class ProtocolTest(GatewayTest):
    async def test_headers_for_one_connection_alone_are_not_passed_on(self):
        async def behave(call):
            await call.answer(b"{}", headers=["Connection: x-back", "X-Back: 1", "Keep-Alive: timeout=5", "X-Kept: 1",
                                              "X-Request-Id: r-1"])
        self.behave(behave)
        await self.start()
        answer = await self.gateway.open(chat("hello"), headers=[
            "Connection: keep-alive, X-Secret", "X-Secret: 1", "Keep-Alive: 5", "TE: trailers", "Upgrade: h2c",
            "Proxy-Authorization: x", "Authorization: Bearer k", "X-Request-Id: r-1", "X-Forwarded-For: 10.1.1.1"])
        engine = self.engine_of(answer)
        head = engine.calls[0].head
        for name in ("Connection", "X-Secret", "Keep-Alive", "TE", "Upgrade", "Proxy-Authorization"):
            self.assertEqual(head.all(name), [], name)
        self.assertEqual(head.all("Host"), [engine.id])
        self.assertEqual(head.all("X-Forwarded-For"), ["10.1.1.1, 127.0.0.1"])
        self.assertEqual(head.all("Authorization"), ["Bearer k"])
        self.assertEqual(head.all("X-Request-Id"), ["r-1"])
        self.assertEqual((answer.head.all("X-Kept"), answer.head.all("X-Request-Id")), (["1"], ["r-1"]))
        for name in ("X-Back", "Keep-Alive", "Connection"):
            self.assertEqual(answer.head.all(name), [], name)

    async def test_requests_that_could_be_read_in_two_ways_are_refused(self):
        smuggled = b"GET /smuggled HTTP/1.1\r\nHost: t\r\n\r\n"
        post = b"POST / HTTP/1.1\r\nHost: t\r\n"
        await self.start()
        for data in (
                post + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
                post + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n" + smuggled,
                post + b"Transfer-Encoding: gzip\r\n\r\n" + smuggled,
                post + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + smuggled,
                post + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + smuggled,
                post + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + smuggled,
                post + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
                post + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n" + smuggled,
                post + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n" + smuggled,
                post + b"Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}" + smuggled,
                post + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}" + smuggled,
                post + b"Content-Length: 2, 2\r\n\r\n{}" + smuggled,
                post + b"Content-Length: -1\r\n\r\n" + smuggled,
                post + b"Content-Length: +2\r\n\r\n{}" + smuggled,
                post + b"Content-Length: 0x2\r\n\r\n{}" + smuggled,
                post + b"Content-Length: 99999999999999999999\r\n\r\n" + smuggled,
                post + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n" + smuggled,
                post + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n" + smuggled,
                post + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}0\r\n\r\n" + smuggled,
                post + b"No colon\r\n\r\n" + smuggled,
                post + b"X\x00Y: 1\r\n\r\n" + smuggled,
                post + b"X: 1\x00\r\n\r\n" + smuggled,
                post + b"Host: u\r\n\r\n" + smuggled,
                b"POST / HTTP/1.1\r\nHost: t u\r\n\r\n" + smuggled,
                b"POST / HTTP/1.1\r\nHost: t, u\r\n\r\n" + smuggled,
                b"POST / HTTP/1.1\r\nHost: t/u\r\n\r\n" + smuggled,
                b"POST / HTTP/1.1\r\nHost: t@u\r\n\r\n" + smuggled,
                b"POST / HTTP/1.1\r\n\r\n" + smuggled,
                b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled,
                b"POST / HTTP/2.0\r\nHost: t\r\n\r\n" + smuggled,
                b"POST /\x01 HTTP/1.1\r\nHost: t\r\n\r\n" + smuggled,
                b"POST  / HTTP/1.1\r\nHost: t\r\n\r\n" + smuggled,
                b"POST nowhere HTTP/1.1\r\nHost: t\r\n\r\n" + smuggled,
                b"CONNECT t:443 HTTP/1.1\r\nHost: t\r\n\r\n" + smuggled,
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + smuggled,
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + smuggled):
            with self.subTest(data):
                answer = await self.gateway.raw(data)
                self.assertRegex(answer, rb"\AHTTP/1\.1 (400|405|413|417|501|505) ")
                self.assertEqual(answer.count(b"HTTP/1.1"), 1)
                self.assertIn(b"Connection: close\r\n", answer)
                self.assertEqual([call.head.line for each in self.engines for call in each.calls], [])

    async def test_answers_that_could_be_read_in_two_ways_are_none(self):
        head = b"HTTP/1.1 200 OK\r\n"
        await self.start(health={"failures": 1000})
        for said in (head + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                     head + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
                     head + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
                     head + b"X: " + b"x" * 300_000 + b"\r\n\r\n",
                     b"HTTP/1.1 000 OK\r\n\r\n" + head + b"Content-Length: 2\r\n\r\n{}",
                     b"HTTP/1.1 099 OK\r\n\r\n" + head + b"Content-Length: 2\r\n\r\n{}",
                     b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"):
            async def behave(call, said=said):
                await call.send(said)
            self.behave(behave)
            self.assertEqual((await self.gateway.open(chat("hello"))).status, 503, said[:60])

    async def test_headers_and_bodies_have_limits(self):
        await self.start(limits={"header_bytes": 4096, "body_bytes": 10_000})
        post = b"POST /v1/messages HTTP/1.1\r\nHost: t\r\n"
        chunked = post + b"Transfer-Encoding: chunked\r\n\r\n" + chunk(b"x" * 5000) * 3 + b"0\r\n\r\n"
        for data, status in ((post + b"X: " + b"x" * 5000 + b"\r\n\r\n", b"431"),
                             (post + b"".join(b"X-%d: 1\r\n" % n for n in range(1000)) + b"\r\n", b"431"),
                             (b"GET /" + b"x" * 5000 + b" HTTP/1.1\r\n\r\n", b"431"),
                             (post + b"Content-Length: 10001\r\n\r\n" + b"x" * 10001, b"413"),
                             (post + b"Content-Length: 10001\r\nExpect: 100-continue\r\n\r\n", b"413"),
                             (chunked, b"413")):
            with self.subTest(data[:60]):
                answer = await self.gateway.raw(data)
                self.assertEqual(answer.split()[1], status)
        self.assertIn(b'"type":"error","error":{"type":"request_too_large"', answer)
        self.assertEqual(sum(each.total for each in self.engines), 0)
        self.assertEqual((await self.gateway.open(b"x" * 10_000)).status, 200)

    async def test_what_is_too_large_to_keep_ends_no_more_than_its_connection(self):
        long = b"x" * 70_000
        head = b"POST / HTTP/1.1\r\nHost: t\r\n"
        chunked = head + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
        await self.start(limits={"header_bytes": 65536})
        for data in (chunked + b"0\r\nX: " + long + b"\r\n\r\n", chunked + b"0\r\n" + long + b": 1\r\n\r\n",
                     chunked + b"0\r\n" + b"X: 1\r\n" * 100_000 + b"\r\n", chunked + b"0\r\n" + b"X: 1\r\n" * 100_000,
                     chunked + b"2;x=" + long + b"\r\n{}\r\n0\r\n\r\n", chunked + b"2;x=" + long,
                     head + b"X: " + long + b"\r\n\r\n", head + long + b": 1\r\n\r\n",
                     b"GET /" + long + b" HTTP/1.1\r\nHost: t\r\n\r\n"):
            with self.subTest(data[:80]):
                self.assertRegex(await self.gateway.raw(data), rb"\AHTTP/1\.1 (400|431) ")
        # As much as is allowed is kept.
        data = b"GET / HTTP/1.0\r\nX:"
        answer = await self.gateway.raw(data + b"x" * (65_536 - len(data) - 4) + b"\r\n\r\n")
        self.assertEqual(answer.split()[1], b"200")
        self.assertEqual(sum(each.total for each in self.engines), 1)
        self.assertEqual(await self.gateway.metric("exceptions_total"), 0)

    async def test_answers_that_are_too_large_to_keep_are_none(self):
        long = b"x" * 70_000
        head = b"HTTP/1.1 200 OK\r\nX: " + long + b"\r\nContent-Length: 2\r\n\r\n{}"
        chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        await self.start(health={"failures": 1000})
        for said in (head, chunked + b"2;x=" + b"x" * 400_000, chunked + b"0\r\nX: " + long + b"\r\n\r\n"):
            async def behave(call, said=said):
                await call.send(said)
            self.behave(behave)
            with self.subTest(said[:80]):
                self.assertEqual((await self.gateway.open(chat("hello"))).status, 503)

        async def begin(call):
            await call.send(chunked + chunk(b"{}") + b"0\r\nX: " + long + b"\r\n\r\n")
        self.behave(begin)
        answer = await self.gateway.open(chat("hello"))
        self.assertEqual(answer.status, 200)
        self.assertEqual(await asyncio.wait_for(answer.reader.read(), PATIENCE), chunk(b"{}"))
        self.assertEqual(await self.gateway.metric("exceptions_total"), 0)

    async def test_trailers_are_dropped(self):
        async def behave(call):
            await call.send(b"HTTP/1.1 200 OK\r\nX-Kept: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
                            b"0\r\nX-Late: 1\r\nX-Kept: 2\r\n\r\n")
        self.behave(behave)
        await self.start()
        reader, writer = await self.gateway.connect()
        for _ in range(2):
            writer.write(b"POST / HTTP/1.1\r\nHost: t\r\nAuthorization: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                         b"2\r\n{}\r\n0\r\nX-Late: 1\r\nAuthorization: b\r\nX-Forwarded-For: 6.6.6.6\r\n"
                         b"Connection: authorization\r\nHost: u\r\n\r\n")
            head = await asyncio.wait_for(read_head(reader), PATIENCE)
            self.assertEqual((head.all("X-Kept"), head.all("X-Late")), (["1"], []))
            self.assertEqual(await asyncio.wait_for(read_body(reader, head), PATIENCE), b"{}")
        for call in (call for each in self.engines for call in each.calls):
            self.assertEqual((call.head.all("Authorization"), call.head.all("X-Late")), (["a"], []))
            self.assertEqual(call.head.all("X-Forwarded-For"), ["127.0.0.1"])

    async def test_memory_that_runs_out_costs_connections_alone(self):
        await self.start(threads=1)
        pid = self.gateway.process.pid
        with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
            used = int(statm.read().split()[0]) * resource.getpagesize()
        if used > 1 << 40:
            self.skipTest("a sanitizer has taken all addresses")
        resource.prlimit(pid, resource.RLIMIT_AS, (used + (96 << 20), resource.RLIM_INFINITY))
        size = 20 << 20
        readers = []
        for _ in range(20):
            reader, writer = await self.gateway.connect()
            readers.append(reader)
            writer.write(b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n" % size + b"x" * 1000)

        async def some_are_given_up():
            closed = sum(reader.at_eof() or reader.exception() is not None for reader in readers)
            return closed >= 10 and await self.gateway.metric("exceptions_total") == closed
        await until(some_are_given_up, "requests without memory are given up")
        self.assertIn("goes on after an exception", self.gateway.log())
        self.assertEqual((await self.gateway.open(chat("hello"))).status, 200)

    async def test_memory_of_large_bodies_is_given_back(self):
        await self.start()
        pid = self.gateway.process.pid

        def resident():
            with open(f"/proc/{pid}/statm", encoding="ascii") as statm:
                return int(statm.read().split()[1]) * resource.getpagesize()
        before = resident()
        body = chunk(b"x" * 65536) * 300 + b"0\r\n\r\n"

        async def forget(call):
            call.engine.calls.clear()
            await hello(call)
        self.behave(forget)

        async def send():
            answer = await self.gateway.raw(b"POST / HTTP/1.1\r\nHost: t\r\nConnection: close\r\n"
                                            b"Transfer-Encoding: chunked\r\n\r\n" + body)
            self.assertEqual(answer.split()[1], b"200")
        for _ in range(8):
            await asyncio.gather(*(send() for _ in range(6)))
        await until(lambda: resident() < before + (50 << 20), "what bodies took is given back")

    async def test_refusals_of_a_header_have_the_clients_form(self):
        long = b"X: " + b"x" * 70_000 + b"\r\n\r\n"
        await self.start()
        for wrong, status in ((b"Host: t\r\n" + long, b"431"), (b"\r\n", b"400"), (b"No colon\r\n\r\n", b"400")):
            with self.subTest(status):
                answer = await self.gateway.raw(b"POST /v1/messages HTTP/1.1\r\n" + wrong)
                self.assertEqual(answer.split()[1], status)
                self.assertIn(b'{"type":"error"', answer)
                answer = await self.gateway.raw(b"HEAD / HTTP/1.1\r\n" + wrong)
                self.assertEqual(answer.split()[1], status)
                self.assertTrue(answer.endswith(b"\r\n\r\n"))

    async def test_large_bodies_arrive_whole(self):
        await self.start()
        body = chat("x" * (20 << 20))
        answer = await self.gateway.open(body)
        self.assertEqual(answer.status, 200)
        self.assertEqual(self.engine_of(answer).calls[0].body, body)

    async def test_chunked_requests_are_sent_by_length(self):
        await self.start()
        reader, writer = await self.gateway.connect()
        body = chat("hello" * 1000)
        writer.write(b"POST /v1/x HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: Chunked\r\n\r\n")
        for begin in range(0, len(body), 1000):
            writer.write(chunk(body[begin:begin + 1000]).replace(b"\r\n", b";ext=1\r\n", 1))
            await writer.drain()
        writer.write(b"0\r\nTrailer: 1\r\n\r\n")
        self.assertIn("200", (await read_head(reader)).line)
        call = next(each.calls[0] for each in self.engines if each.calls)
        self.assertEqual((call.body, call.head.all("Content-Length"), call.head.all("Transfer-Encoding")),
                         (body, [str(len(body))], []))

    async def test_expect_100_continue(self):
        await self.start()
        reader, writer = await self.gateway.connect()
        writer.write(b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        self.assertEqual((await read_head(reader)).line, "HTTP/1.1 100 Continue")
        writer.write(b"{}")
        self.assertIn("200", (await read_head(reader)).line)
        self.assertEqual(next(each.calls[0] for each in self.engines if each.calls).head.all("Expect"), [])

    async def test_a_100_of_the_engine_is_swallowed(self):
        async def behave(call):
            await call.send(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n")
            await hello(call)
        self.behave(behave)
        await self.start()
        self.assertEqual((await self.gateway.open(chat("hello"))).status, 200)

    async def test_requests_may_be_pipelined(self):
        await self.start()
        reader, writer = await self.gateway.connect()
        one = b"POST /v1/%d HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n{}"
        writer.write(b"".join(one % n for n in range(20)))
        for _ in range(20):
            head = await asyncio.wait_for(read_head(reader), PATIENCE)
            self.assertIn("200", head.line)
            await read_body(reader, head)
        paths = sorted(int(call.path[4:]) for each in self.engines for call in each.calls)
        self.assertEqual(paths, list(range(20)))

    async def test_empty_lines_before_a_request_are_ignored(self):
        await self.start(timeouts={"keep_alive": 1})
        reader, writer = await self.gateway.connect()
        request = b"POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n{}"
        for pieces in ((b"\r\n" + request + b"\r\n",), (b"\r\n", b"\r", b"\n" + request), (request + b"\r\n\r\n",)):
            for piece in pieces:
                writer.write(piece)
                await asyncio.sleep(0.1)
            head = await asyncio.wait_for(read_head(reader), PATIENCE)
            self.assertIn("200", head.line)
            await read_body(reader, head)
        # They don't keep a connection open either.
        async def more():
            with contextlib.suppress(ConnectionError):
                while not reader.at_eof():
                    writer.write(b"\r\n")
                    await asyncio.sleep(0.1)
        await asyncio.wait_for(more(), PATIENCE)

    async def test_refusals_keep_the_connection(self):
        self.behave(two_events)
        await self.start(instances=[{"url": self.engines[0].url, "max_outstanding": 1}])
        held = await self.gateway.open(chat("hello", stream=True))
        connection = await self.gateway.connect()
        for _ in range(3):
            answer = await self.gateway.request(*connection, chat("hello"))
            self.assertEqual((answer.status, answer.head.get("Retry-After")), (429, "1"))
            self.assertEqual(await answer.json(), {"error": {"message": "every instance is at its limit", "param": None,
                                                             "type": "rate_limit_error", "code": 429}})
        answer = await self.gateway.request(*connection, chat("hello"), "/v1/messages")
        self.assertEqual(await answer.json(), {"type": "error", "error": {
            "type": "rate_limit_error", "message": "every instance is at its limit"}})
        self.release()
        await held.body()

    async def test_head_and_options(self):
        async def behave(call):
            if call.method == "HEAD":
                return await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 123\r\n\r\n")
            await call.send(b"HTTP/1.1 204 No Content\r\nAccess-Control-Allow-Origin: *\r\nContent-Length: 0\r\n\r\n")
        self.behave(behave)
        await self.start()
        connection = await self.gateway.connect()
        for _ in range(2):
            answer = await self.gateway.request(*connection, method="HEAD", path="/v1/models")
            self.assertEqual((answer.status, answer.head.get("Content-Length")), (200, "123"))
            answer = await self.gateway.request(*connection, method="OPTIONS")
            self.assertEqual((answer.status, answer.head.get("Access-Control-Allow-Origin")), (204, "*"))
            self.assertEqual(answer.head.all("Transfer-Encoding") + answer.head.all("Content-Length"), [])
        await self.gateway.request(*connection, method="OPTIONS", path="*")
        answer = await self.gateway.request(*connection, path="http://elsewhere/v1/x?y", method="DELETE")
        self.assertEqual(answer.status, 204)
        self.assertIn("/v1/x?y", [call.path for each in self.engines for call in each.calls])

    async def test_http_1_0(self):
        self.behave(two_events)
        self.release()
        await self.start()
        answer = await self.gateway.raw(b"POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}")
        head, body = answer.split(b"\r\n\r\n", 1)
        self.assertEqual(body, event({"n": 1}) + event(b"[DONE]"))
        self.assertIn(b"Connection: close", head)
        self.assertNotIn(b"Transfer-Encoding", head)

    async def test_http_1_0_sees_that_an_answer_is_broken_off(self):
        async def breaks(call):
            await call.send(SSE + chunk(event({"n": 1})))
            await call.hold()
            raise ConnectionResetError

        self.exit_codes = (0, -signal.SIGKILL)
        self.behave(breaks)
        await self.start(timeouts={"shutdown": 0.1})
        for end in (self.release, lambda: self.gateway.signal(signal.SIGTERM), lambda: self.gateway.process.kill()):
            if not self.gateway.running():
                await self.gateway.start()
            for each in self.engines:
                each.released.clear()
            reader, writer = await self.gateway.connect()
            writer.write(b"POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}")
            await asyncio.wait_for(reader.readuntil(event({"n": 1})), PATIENCE)
            end()
            with self.assertRaises(ConnectionResetError):
                await asyncio.wait_for(reader.read(), PATIENCE)
            if end != self.release:
                await self.gateway.ended()

    async def test_a_body_that_ends_with_the_connection(self):
        async def behave(call):
            await call.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + event({"n": 1}))
            raise ConnectionResetError
        self.behave(behave)
        await self.start()
        answer = await self.gateway.open(chat("hello"))
        self.assertEqual(await answer.body(), event({"n": 1}))
        self.assertEqual(await self.gateway.metric("broken_answers_total"), 0)

    async def test_nothing_that_clients_send_is_in_the_log_or_the_metrics(self):
        async def unavailable(call):
            await call.answer(b"ENGINESECRET", status=503)
        await self.start(health={"failures": 2})
        secret = ["Authorization: Bearer KEYSECRET", "X-Request-Id: IDSECRET"]
        await (await self.gateway.open(chat("PROMPTSECRET"), "/v1/chat/completions?PATHSECRET", headers=secret)).body()
        self.behave(unavailable)
        for _ in range(5):
            error = await (await self.gateway.open(chat("PROMPTSECRET"), "/PATHSECRET", headers=secret)).body()
            self.assertNotIn(b"SECRET", error)
        self.assertNotIn(b"SECRET", await self.gateway.raw(b"SECRET SECRET SECRET\r\nSECRET\r\n\r\n"))
        metrics = await (await self.gateway.open(path="/metrics")).body()
        self.assertNotIn(b"SECRET", metrics)
        self.assertNotIn("SECRET", self.gateway.log())

    async def test_a_log_that_nobody_reads_stops_nothing(self):
        pipe, stderr = os.pipe()
        for each in (pipe, stderr):
            self.addCleanup(os.close, each)
        log = f"{self.gateway.folder}/log"
        with open(log, "ab") as file:
            reader = subprocess.Popen(["cat"], stdin=pipe, stdout=file, preexec_fn=die_with_parent)
        self.addCleanup(reader.wait)
        self.addCleanup(reader.kill)
        self.gateway.configure(self.engines)
        await self.gateway.start(stderr=stderr)
        reader.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, reader.pid, os.WSTOPPED)
        filled = 0
        os.set_blocking(stderr, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                filled += os.write(stderr, b"x" * 4096)
        os.set_blocking(stderr, True)
        self.engines[0].health = 503
        await self.until_metric(f'draining{{instance="{self.engines[0].id}"}}', 1)
        for n in range(10):
            self.assertEqual((await self.gateway.open(chat(str(n)))).status, 200)
        reader.send_signal(signal.SIGCONT)
        await until(lambda: os.path.getsize(log) > filled, "the log is read")
        await self.gateway.reload()

    async def test_metrics_and_health_have_an_address_of_their_own(self):
        await self.start(admin="127.0.0.1:0")
        self.assertNotEqual(self.gateway.admin_port, self.gateway.port)
        self.assertEqual((await self.gateway.open(path="/healthz", port=self.gateway.admin_port)).status, 200)
        self.assertEqual((await self.gateway.open(chat("hello"), port=self.gateway.admin_port)).status, 404)
        self.assertEqual(sum(each.total for each in self.engines), 0)
        # Those of engines are not for everybody either.
        for path in ("/healthz", "/metrics", "/metrics?x", "http://elsewhere/metrics"):
            self.assertEqual((await self.gateway.open(path=path)).status, 404)
        self.gateway.configure(self.engines)
        await self.gateway.reload("stay as they were")
        self.assertEqual((await self.gateway.open(path="/metrics")).status, 404)
        self.assertEqual((await self.gateway.open(path="/metrics", port=self.gateway.admin_port)).status, 200)
        self.assertEqual(sum(each.total for each in self.engines), 0)

    async def test_a_target_may_name_a_server(self):
        await self.start()
        self.assertIn(b"prefixroute_requests_total", await (await self.gateway.open(path="http://x/metrics")).body())
        for path, passed_on in (("http://x", "/"), ("HTTP://x:1/v1/y?z", "/v1/y?z")):
            self.assertEqual((await self.gateway.open(path=path)).status, 200)
            self.assertIn(passed_on, [call.path for each in self.engines for call in each.calls])

    async def test_routing_is_timed(self):
        await self.start()
        for _ in range(10):
            await (await self.gateway.open(chat("x" * 32000))).body()
        self.assertEqual(await self.gateway.metric("routing_seconds_count"), 10)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
