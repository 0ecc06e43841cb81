#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clients_test.py directory: clients that people use, through the gateway: curl, wrk, and from npm the packages openai and
@anthropic-ai/sdk, which are installed into the directory and kept there. What is not installed is skipped."""

import asyncio
import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from harness import GatewayTest, chat, event, until

HERE = pathlib.Path(__file__).resolve().parent
DIRECTORY = None  # From the command line.
TEXT = ["It ", "is ", "sunny."]


def openai_chunk(delta, **more):
    return event({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                  "choices": [{"index": 0, "delta": delta, "finish_reason": None}], **more})


def anthropic_event(kind, **fields):
    return b"event: " + kind.encode() + b"\n" + event({"type": kind, **fields})


OPENAI_USAGE = {"prompt_tokens": 20, "completion_tokens": 3, "total_tokens": 23,
                "prompt_tokens_details": {"cached_tokens": 16}}
ANTHROPIC_USAGE = {"input_tokens": 4, "cache_read_input_tokens": 16, "cache_creation_input_tokens": 0,
                   "output_tokens": 3}
TOOL_CALL = {"id": "t", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}


async def openai_engine(call, body):
    with_tool = "tools" in body and body["messages"][-1]["role"] != "tool"
    if body.get("stream"):
        deltas = [{"tool_calls": [{"index": 0, **TOOL_CALL}]}] if with_tool else [{"content": piece} for piece in TEXT]
        events = [openai_chunk({"role": "assistant"})] + [openai_chunk(delta) for delta in deltas]
        events.append(event({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [
            {"index": 0, "delta": {}, "finish_reason": "tool_calls" if with_tool else "stop"}]}))
        if body.get("stream_options", {}).get("include_usage"):
            events.append(event({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                                 "choices": [], "usage": OPENAI_USAGE}))
        if body["model"] == "endless":
            return await call.stream(events[:4] + [b""], held=1)
        return await call.stream(events + [event(b"[DONE]")])
    message = {"role": "assistant", "content": "".join(TEXT)}
    if with_tool:
        message = {"role": "assistant", "content": None, "tool_calls": [TOOL_CALL]}
    await call.answer(json.dumps({"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
        {"index": 0, "message": message, "finish_reason": "stop"}], "usage": OPENAI_USAGE}).encode())


async def anthropic_engine(call, body):
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": ANTHROPIC_USAGE}
    if body.get("stream"):
        events = [anthropic_event("message_start", message=message),
                  anthropic_event("content_block_start", index=0, content_block={"type": "text", "text": ""})]
        events += [anthropic_event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
                   for piece in TEXT]
        if body["model"] == "endless":
            return await call.stream(events + [b""], held=1)
        events += [anthropic_event("content_block_stop", index=0),
                   anthropic_event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 3}),
                   anthropic_event("message_stop")]
        return await call.stream(events)
    message["content"] = [{"type": "text", "text": "".join(TEXT)}]
    if "tools" in body:
        message["content"] = [{"type": "tool_use", "id": "t", "name": "weather", "input": {"city": "Paris"}}]
    await call.answer(json.dumps(message).encode())


async def engine(call):
    if call.method == "GET":
        return await call.answer(b'{"object": "list", "data": [{"id": "m", "object": "model"}]}')
    body = json.loads(call.body)
    if body["model"] == "away":
        return await call.answer(status=503)
    await (anthropic_engine if call.path == "/v1/messages" else openai_engine)(call, body)


class ClientsTest(GatewayTest):
    async def asyncSetUp(self):
        await super().asyncSetUp()
        self.behave(engine)
        await self.start(health={"failures": 1000})
        self.base = f"http://127.0.0.1:{self.gateway.port}"

    async def run_program(self, *command, directory=None):
        process = await asyncio.create_subprocess_exec(
            *command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            output, _ = await asyncio.wait_for(process.communicate(), 240)
        finally:
            if process.returncode is None:
                process.kill()
        return process.returncode, output.decode()

    async def test_curl(self):
        curl = shutil.which("curl")
        if curl is None:
            self.skipTest("curl is not installed")
        url = f"{self.base}/v1/chat/completions"
        status, output = await self.run_program(curl, "-sSN", url, "-d", chat("hello", stream=True).decode())
        self.assertEqual((status, output.count("data: "), output[-14:]), (0, 6, "data: [DONE]\n\n"))
        # A large body: curl waits for 100 Continue.
        body = pathlib.Path(self.gateway.folder, "body")
        body.write_bytes(chat("x" * (2 << 20)))
        status, output = await self.run_program(curl, "-sS", "-v", url, "-d", f"@{body}")
        self.assertEqual(status, 0, output[-2000:])
        self.assertIn("It is sunny.", output)
        status, output = await self.run_program(curl, "-sS", "-I", f"{self.base}/healthz")
        self.assertIn("HTTP/1.1 200 OK", output)

    async def test_wrk(self):
        wrk = shutil.which("wrk")
        if wrk is None:
            self.skipTest("wrk is not installed")
        script = pathlib.Path(self.gateway.folder, "post.lua")
        script.write_text("""
            wrk.method = "POST"
            local prompts = 0
            request = function()
              prompts = prompts + 1
              return wrk.format(nil, nil, nil, '{"model": "m", "stream": true, "messages": [{"role": "user", "content": "'
                  .. string.rep("prompt " .. prompts % 20, 300) .. '"}]}')
            end""", encoding="utf-8")
        status, output = await self.run_program(
            wrk, "-t2", "-c64", "-d2s", "-s", str(script), f"{self.base}/v1/chat/completions")
        self.assertEqual(status, 0, output)
        for trouble in ("Socket errors", "Non-2xx"):
            self.assertNotIn(trouble, output)
        served = int(re.search(r"(\d+) requests in", output)[1])
        self.assertGreater(served, 0)
        self.assertGreaterEqual(sum(each.total for each in self.engines), served)
        self.assertEqual(await self.gateway.metric("retries_total"), 0)

    async def test_node(self):
        node, npm = shutil.which("node"), shutil.which("npm")
        if not node or not npm:
            self.skipTest("Node.js and npm are not installed")
        version = (await self.run_program(node, "--version"))[1].strip()
        if int(re.match(r"v(\d+)", version)[1]) < 20:
            self.skipTest(f"Node.js is {version}, and must be 20 or newer")
        DIRECTORY.mkdir(parents=True, exist_ok=True)
        for file in (HERE / "clients").iterdir():
            shutil.copy(file, DIRECTORY)
        if not (DIRECTORY / "node_modules" / ".package-lock.json").exists():
            status, output = await self.run_program(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund",
                                                    directory=DIRECTORY)
            if status != 0:
                self.skipTest("npm can't install the clients: " + output.strip()[-300:])
        status, output = await self.run_program(node, "clients.mjs", self.base, directory=DIRECTORY)
        self.assertEqual(status, 0, output)
        self.assertEqual(output.count("ok "), 12, output)
        await until(lambda: sum(each.aborted for each in self.engines) == 2, "the engines hear of what was aborted")
        metrics = await self.gateway.metrics()
        self.assertEqual(metrics["client_losses_total"], 2)
        # Three answers in Anthropic's form, and four in OpenAI's, told of 16 cached tokens each.
        self.assertEqual(sum(v for k, v in metrics.items() if k.startswith("cached_tokens_total")), 16 * 7)


if __name__ == "__main__":
    DIRECTORY = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(warnings="ignore")
