#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a small model of the llama architecture with random weights, as GGUF: make_model.py FILE

It answers nonsense, but an engine has real work with it: to prefill a prompt, to keep and to find its KV cache. A token
is a byte. The same file each time. The format: ggml's docs/gguf.md; the names: llama.cpp's, of its llama models.
"""

import array
import random
import struct
import sys

LAYERS, WIDTH, FEED_FORWARD, HEADS, CONTEXT, TOKENS = 1, 256, 768, 4, 131072, 256
UINT32, INT32, FLOAT32, STRING, ARRAY = 4, 5, 6, 8, 9  # Types of metadata.
F32 = 0                                                # A type of tensor.
ALIGNMENT = 32

METADATA = [
    ("general.architecture", STRING, "llama"),
    ("llama.context_length", UINT32, CONTEXT),
    ("llama.embedding_length", UINT32, WIDTH),
    ("llama.block_count", UINT32, LAYERS),
    ("llama.feed_forward_length", UINT32, FEED_FORWARD),
    ("llama.attention.head_count", UINT32, HEADS),
    ("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
    ("llama.rope.dimension_count", UINT32, WIDTH // HEADS),
    ("tokenizer.ggml.model", STRING, "gpt2"),
    ("tokenizer.ggml.pre", STRING, "default"),
    ("tokenizer.ggml.tokens", (ARRAY, STRING), [f"<{byte:02x}>" for byte in range(TOKENS)]),
    ("tokenizer.ggml.token_type", (ARRAY, INT32), [1] * TOKENS),
    ("tokenizer.ggml.merges", (ARRAY, STRING), ["< 0"]),
    ("tokenizer.ggml.bos_token_id", UINT32, 0),
    ("tokenizer.ggml.eos_token_id", UINT32, 0),
]


def tensors():
    """Names and shapes, the fastest dimension first."""
    yield "token_embd.weight", (WIDTH, TOKENS)
    yield "output_norm.weight", (WIDTH,)
    yield "output.weight", (WIDTH, TOKENS)
    for layer in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            yield f"blk.{layer}.{name}.weight", (WIDTH,)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield f"blk.{layer}.{name}.weight", (WIDTH, WIDTH)
        for name in ("ffn_gate", "ffn_up"):
            yield f"blk.{layer}.{name}.weight", (WIDTH, FEED_FORWARD)
        yield f"blk.{layer}.ffn_down.weight", (FEED_FORWARD, WIDTH)


def count(shape):
    return shape[0] * (shape[1] if len(shape) > 1 else 1)


def string(text):
    return struct.pack("<Q", len(text)) + text.encode()


def value(kind, of):
    if isinstance(kind, tuple):
        return struct.pack("<IQ", kind[1], len(of)) + b"".join(value(kind[1], each) for each in of)
    return string(of) if kind == STRING else struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f"}[kind], of)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make_model.py FILE")
    random.seed(1)
    shapes = list(tensors())
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(METADATA))
    for key, kind, of in METADATA:
        head += string(key) + struct.pack("<I", kind[0] if isinstance(kind, tuple) else kind) + value(kind, of)
    offset = 0
    for name, shape in shapes:
        head += string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, F32, offset)
        offset += (4 * count(shape) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
    with open(sys.argv[1], "wb") as file:
        file.write(head + bytes(-len(head) % ALIGNMENT))
        for _, shape in shapes:
            # What goes into a layer comes out of it about as large.
            spread = (3 / shape[0]) ** 0.5
            weights = [1.0] * shape[0] if len(shape) == 1 else [
                spread * (2 * random.random() - 1) for _ in range(count(shape))]
            data = array.array("f", weights)
            if sys.byteorder == "big":
                data.byteswap()
            file.write(data.tobytes() + bytes(-len(data) * 4 % ALIGNMENT))


main()
