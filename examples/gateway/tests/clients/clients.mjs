// SPDX-License-Identifier: Apache-2.0
//
// clients.mjs http://host:port: the packages openai and @anthropic-ai/sdk as clients of the gateway, behind which
// clients_test.py has put engines. Ends with an error at the first thing that is not as it should be.

import assert from "node:assert/strict";
import OpenAI from "openai";
import Anthropic from "@anthropic-ai/sdk";

const base = process.argv[2];
const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: "key", maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: base, apiKey: "key", maxRetries: 0 });
const messages = [{ role: "user", content: "What is the weather in Paris?" }];
const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } }];
const chat = { model: "m", messages };
const message = { model: "m", max_tokens: 100, messages };

const cases = {
  async models() {
    assert.deepEqual((await openai.models.list()).data.map((model) => model.id), ["m"]);
  },

  async chat() {
    const { data, response } = await openai.chat.completions.create(chat).withResponse();
    assert.equal(data.choices[0].message.content, "It is sunny.");
    assert.equal(data.usage.prompt_tokens_details.cached_tokens, 16);
    assert.equal(response.headers.get("x-prefixroute-reason") !== null, true);
  },

  async chatStream() {
    const stream = await openai.chat.completions.create({
      ...chat, stream: true, stream_options: { include_usage: true },
    });
    let text = "";
    let usage;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      usage = chunk.usage ?? usage;
    }
    assert.equal(text, "It is sunny.");
    assert.equal(usage.prompt_tokens_details.cached_tokens, 16);
  },

  async chatTools() {
    const answer = await openai.chat.completions.create({ ...chat, tools });
    const call = answer.choices[0].message.tool_calls[0];
    assert.equal(call.function.name, "weather");
    assert.deepEqual(JSON.parse(call.function.arguments), { city: "Paris" });
    const turns = [...messages, answer.choices[0].message, { role: "tool", tool_call_id: call.id, content: "sunny" }];
    const end = await openai.chat.completions.create({ ...chat, messages: turns, tools });
    assert.equal(end.choices[0].message.content, "It is sunny.");
  },

  async chatToolsStream() {
    const runner = openai.chat.completions.stream({ ...chat, tools });
    const { choices } = await runner.finalChatCompletion();
    assert.deepEqual(JSON.parse(choices[0].message.tool_calls[0].function.arguments), { city: "Paris" });
  },

  async chatAbort() {
    const stream = await openai.chat.completions.create({ ...chat, model: "endless", stream: true });
    let chunks = 0;
    for await (const chunk of stream) {
      chunks += chunk.choices.length;
      if (chunks === 3) stream.controller.abort();
    }
    assert.ok(chunks >= 3);
  },

  async refusal() {
    const error = await openai.chat.completions.create({ ...chat, model: "away" }).catch((e) => e);
    assert.ok(error instanceof OpenAI.InternalServerError, String(error));
    assert.equal(error.status, 503);
    assert.equal(error.type, "service_unavailable_error");
    assert.equal(error.headers.get("retry-after"), "1");
  },

  async message() {
    const answer = await anthropic.messages.create(message);
    assert.equal(answer.content[0].text, "It is sunny.");
    assert.equal(answer.usage.cache_read_input_tokens, 16);
  },

  async messageStream() {
    const stream = anthropic.messages.stream({ ...message, system: "Be short." });
    let text = "";
    stream.on("text", (piece) => { text += piece; });
    const answer = await stream.finalMessage();
    assert.equal(text, "It is sunny.");
    assert.equal(answer.usage.cache_read_input_tokens, 16);
  },

  async messageTools() {
    const answer = await anthropic.messages.create({
      ...message, tools: [{ name: "weather", input_schema: { type: "object" } }],
    });
    const use = answer.content.find((block) => block.type === "tool_use");
    assert.deepEqual(use.input, { city: "Paris" });
  },

  async messageAbort() {
    const stream = await anthropic.messages.create({ ...message, model: "endless", stream: true });
    let events = 0;
    for await (const event of stream) {
      if (event.type === "content_block_delta" && ++events === 3) stream.controller.abort();
    }
    assert.ok(events >= 3);
  },

  async messageRefusal() {
    const error = await anthropic.messages.create({ ...message, model: "away" }).catch((e) => e);
    assert.ok(error instanceof Anthropic.InternalServerError, String(error));
    assert.equal(error.status, 503);
    assert.equal(error.error.error.type, "overloaded_error");
  },
};

for (const [name, run] of Object.entries(cases)) {
  try {
    await run();
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`FAILED ${name}: ${error.stack}`);
    process.exitCode = 1;
  }
}
