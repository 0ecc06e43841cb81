#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
//
// A real engine, small: llama.cpp, from the npm package node-llama-cpp, behind the OpenAI form of HTTP.
//
//   engine.mjs --model FILE [--port 0] [--slots 4] [--slot-tokens 4608] [--threads 1]
//
// Prints the port that it listens on, and ends when its stdin does. A token is a byte of the prompt, as make_model.py's
// models have it. As llama-server does, it keeps the KV cache of the last prompt in each slot: a request goes to the
// idle slot that shares most of it, or to the one that was used longest ago; while a busy slot shares at least half, it
// waits for that, so that one prompt is not prefilled twice. Answers have max_tokens tokens, of nonsense.
//
// POST /v1/chat/completions and /v1/completions, with "stream" or without; GET /v1/models, /health, and /metrics with
// the names of llama-server.
import http from "node:http";
import {parseArgs} from "node:util";
import {getLlama, LlamaLogLevel} from "node-llama-cpp";

const {values: flags} = parseArgs({options: {
    model: {type: "string"}, port: {type: "string", default: "0"}, slots: {type: "string", default: "4"},
    "slot-tokens": {type: "string", default: "4608"}, threads: {type: "string", default: "1"}
}});
const slotTokens = Number(flags["slot-tokens"]);
const model = "random";

const llama = await getLlama({build: "never", gpu: false, logLevel: LlamaLogLevel.error, maxThreads: 0});
const context = await (await llama.loadModel({modelPath: flags.model})).createContext({
    contextSize: Number(flags.slots) * slotTokens, sequences: Number(flags.slots), batchSize: 512,
    threads: Number(flags.threads)
});
const slots = Array.from({length: Number(flags.slots)}, () => (
    {sequence: context.getSequence(), tokens: Buffer.alloc(0), busy: false, lastUsed: 0}
));
const waiting = [];
let uses = 0;
const totals = {prompt: 0, cached: 0, predicted: 0};

function shared(a, b) {
    const length = Math.min(a.length, b.length);
    let i = 0;
    while (i < length && a[i] === b[i]) i++;
    return i;
}

// A slot for the prompt, or undefined: not yet.
function findSlot(prompt) {
    const nearest = slots.map((slot) => [shared(slot.tokens, prompt), slot]).sort((a, b) => b[0] - a[0])[0];
    if (2 * nearest[0] >= prompt.length) return nearest[1].busy ? undefined : nearest[1];
    return slots.filter((slot) => !slot.busy).sort((a, b) => a.lastUsed - b.lastUsed)[0];
}

function assign() {
    for (let i = 0; i < waiting.length;) {
        const slot = findSlot(waiting[i].prompt);
        if (slot === undefined) {
            i++;
            continue;
        }
        const [{prompt, resolve}] = waiting.splice(i, 1);
        slot.busy = true;
        slot.tokens = prompt;
        resolve(slot);
    }
}

function take(prompt, signal) {
    return new Promise((resolve, reject) => {
        const place = {prompt, resolve};
        signal.addEventListener("abort", () => {
            const at = waiting.indexOf(place);
            if (at >= 0) waiting.splice(at, 1);
            reject(new Error("the client left"));
        });
        waiting.push(place);
        assign();
    });
}

// Calls onToken(text) for each token; returns how many of the prompt's tokens were in the cache.
async function generate(prompt, count, signal, onToken) {
    const slot = await take(prompt, signal);
    let cached = 0, made = 0;
    try {
        // The last token is evaluated in any case: the first one of the answer follows from it.
        await slot.sequence.adaptStateToTokens(Array.from(prompt.subarray(0, -1)), false);
        cached = slot.sequence.nextTokenIndex;
        totals.prompt += prompt.length;
        totals.cached += cached;
        const answer = slot.sequence.evaluate(Array.from(prompt.subarray(cached)), {yieldEogToken: true});
        for await (const token of answer) {
            if (signal.aborted) break;
            totals.predicted++;
            onToken(String.fromCharCode(97 + token % 26), cached);
            if (++made === count) break;
        }
    } finally {
        slot.tokens = prompt.subarray(0, Math.min(slot.sequence.nextTokenIndex, prompt.length));
        slot.busy = false;
        slot.lastUsed = ++uses;
        assign();
    }
    return cached;
}

function promptOf(path, body) {
    if (path === "/v1/completions") return body.prompt;
    return body.messages.map(({role, content}) => `<${role}>${
        typeof content === "string" ? content : content.map((part) => part.text ?? "").join("")}\n`).join("");
}

async function complete(request, response, chat) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks));
    const prompt = Buffer.from(promptOf(request.url, body));
    const count = body.max_tokens ?? body.max_completion_tokens ?? 16;
    if (prompt.length === 0 || prompt.length + count > slotTokens) {
        throw new Error(`the prompt's ${prompt.length} tokens and max_tokens ${count} must be 1 to ${slotTokens}`);
    }
    const left = new AbortController();
    response.on("close", () => left.abort());

    const form = {id: `r${uses}`, created: Math.floor(Date.now() / 1000), model};
    const usage = (cached) => ({prompt_tokens: prompt.length, completion_tokens: count,
        total_tokens: prompt.length + count, prompt_tokens_details: {cached_tokens: cached}});
    if (!body.stream) {
        let text = "";
        const cached = await generate(prompt, count, left.signal, (token) => text += token);
        const choice = chat ? {message: {role: "assistant", content: text}} : {text};
        response.setHeader("Content-Type", "application/json");
        response.end(JSON.stringify({...form, object: chat ? "chat.completion" : "text_completion",
            choices: [{index: 0, ...choice, finish_reason: "length"}], usage: usage(cached)}));
        return;
    }
    const object = chat ? "chat.completion.chunk" : "text_completion";
    const send = (choices, more = {}) =>
        response.write(`data: ${JSON.stringify({...form, object, choices, ...more})}\n\n`);
    response.setHeader("Content-Type", "text/event-stream");
    const cached = await generate(prompt, count, left.signal, (token) =>
        send([{index: 0, ...(chat ? {delta: {content: token}} : {text: token}), finish_reason: null}]));
    send([{index: 0, ...(chat ? {delta: {}} : {text: ""}), finish_reason: "length"}]);
    send([], {usage: usage(cached)});
    response.end("data: [DONE]\n\n");
}

function metrics() {
    return Object.entries({
        prompt_tokens_total: totals.prompt - totals.cached, tokens_predicted_total: totals.predicted,
        requests_processing: slots.filter((slot) => slot.busy).length, requests_deferred: waiting.length
    }).map(([name, value]) => `llamacpp:${name} ${value}\n`).join("");
}

const server = http.createServer(async (request, response) => {
    const call = `${request.method} ${request.url}`;
    try {
        if (call === "POST /v1/chat/completions") await complete(request, response, true);
        else if (call === "POST /v1/completions") await complete(request, response, false);
        else if (call === "GET /health") response.end("{\"status\": \"ok\"}");
        else if (call === "GET /metrics") response.end(metrics());
        else if (call === "GET /v1/models") response.end(JSON.stringify({object: "list", data: [{id: model, object: "model"}]}));
        else response.writeHead(404).end();
    } catch (error) {
        if (!response.headersSent) response.statusCode = 400;
        response.end(JSON.stringify({error: {message: error.message, type: "invalid_request_error"}}));
    }
});
server.listen(Number(flags.port), "127.0.0.1", () => console.log(server.address().port));
process.stdin.on("end", () => process.exit(0)).resume();
