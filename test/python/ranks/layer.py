"""Layers whose routing is an input, drawn at random, as text with their weights in a file."""

import random
from dataclasses import dataclass

import numpy as np
import torch
from safetensors.torch import save_file

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
ROUTINGS = ("random", "one expert", "first rank", "last rank", "skip", "nobody")


@dataclass(frozen=True)
class Drawn:
    """A layer of `experts` experts, `k` for each of `tokens` tokens [tokens, hidden]; `routing` says which."""

    experts: int
    k: int
    hidden: int
    inner: int
    gated: bool
    dtype: str
    tokens: int
    routing: str


def draw(seed):
    source = random.Random(seed)
    experts = source.choice([4, 4, 8, 16])
    k = source.choice([1, 2, 3, experts])
    hidden, inner, gated, dtype = source.randint(1, 70), source.randint(1, 60), source.random() < 0.7, source.choice(list(TYPES))
    return Drawn(experts, k, hidden, inner, gated, dtype, **rows(seed))


def rows(seed):
    """What differs from call to call of a layer."""
    source = random.Random(f"rows {seed}")
    return {"tokens": source.choice([0, 1, 2, 3, 5, 9, 33, 70]), "routing": source.choice(ROUTINGS)}


def write(layer, folder, fixed=False):
    """Writes layer.mlir and its weights to the folder; returns the flags to compile them. fixed: the number of tokens is no size of the call."""
    return write_all([layer], folder, fixed)


def write_all(layers, folder, fixed=False):
    """The same of a program of several layers with inputs and an output each; their names end in the layer's number, but for the first one."""
    weights, arguments, types, body = {}, [], [], ""
    for number, layer in enumerate(layers):
        suffix = str(number) if number else ""
        generator = torch.Generator().manual_seed(layer.experts * 1000 + layer.hidden)
        rows = layer.inner * (2 if layer.gated else 1)
        shapes = {"up": (layer.experts, rows, layer.hidden), "down": (layer.experts, layer.hidden, layer.inner)}
        weights |= {name + suffix: (torch.randn(shape, generator=generator) / shape[-1] ** 0.5).to(TYPES[layer.dtype]) for name, shape in shapes.items()}
        text = text_of(layer, suffix, rows, fixed)
        arguments.append(text[0])
        types.append(text[1])
        body += text[2]
    save_file(weights, folder / "layer.safetensors")
    results = ", ".join(f"%y{number or ''}" for number in range(len(layers)))
    (folder / "layer.mlir").write_text(f"""
func.func @main({", ".join(arguments)})
    -> ({", ".join(f'{t} {dims}' for t, dims in types)}) {{{body}
  return {results} : {", ".join(t for t, _ in types)}
}}
""")
    return ["--from=graph", f"--weights={folder / 'layer.safetensors'}"]


def text_of(layer, suffix, rows, fixed):
    """A layer as text: arguments of the function, type and attributes of the result, ops."""
    e, i, h, k, t = layer.experts, layer.inner, layer.hidden, layer.k, layer.dtype
    n, r, dims = (layer.tokens, layer.tokens * k, "") if fixed else ("?", "?", 'moe.dims = ["tokens", ""], ')
    region = """gated {
  ^bb0(%g: f32, %u: f32):
    %s = nn.silu %g : f32
    %a = arith.mulf %s, %u : f32
    moe.yield %a : f32
  }""" if layer.gated else """{
  ^bb0(%g: f32):
    %s = nn.silu %g : f32
    moe.yield %s : f32
  }"""
    x, ids, w, up, down, placed, layout, made, y = (f"%{name}{suffix}" for name in ("x", "ids", "w", "up", "down", "rows", "layout", "r", "y"))
    arguments = f"""{x}: tensor<{n}x{h}x{t}> {{{dims}moe.name = "x{suffix}"}},
                {ids}: tensor<{n}x{k}xi32> {{{dims}moe.name = "ids{suffix}"}},
                {w}: tensor<{n}x{k}x{t}> {{{dims}moe.name = "weights{suffix}"}}"""
    body = f"""
  {up} = moe.parameter ["up{suffix}"] : tensor<{e}x{rows}x{h}x{t}>
  {down} = moe.parameter ["down{suffix}"] : tensor<{e}x{h}x{i}x{t}>
  {placed}, {layout} = moe.dispatch {x}, {ids} num_experts({e}) : tensor<{n}x{h}x{t}>, tensor<{n}x{k}xi32> -> tensor<{r}x{h}x{t}>, !moe.layout<{e}>
  {made} = moe.expert {placed}, {layout}, {up}, {down} {region}
      : tensor<{r}x{h}x{t}>, !moe.layout<{e}>, tensor<{e}x{rows}x{h}x{t}>, tensor<{e}x{h}x{i}x{t}> -> tensor<{r}x{h}x{t}>
  {y} = moe.combine {made}, {layout} weights({w} : tensor<{n}x{k}x{t}>) : tensor<{r}x{h}x{t}>, !moe.layout<{e}> -> tensor<{n}x{h}x{t}>"""
    return arguments, (f"tensor<{n}x{h}x{t}>", f'{{{dims}moe.name = "y{suffix}"}}'), body


def route(layer, ranks, rng):
    """Expert ids [tokens, k] as `routing` says, for a job of `ranks` ranks; no expert twice for a token."""
    e, k, each = layer.experts, layer.k, layer.experts // ranks
    ids = np.stack([rng.permutation(e)[:k] for _ in range(layer.tokens)]).astype(np.int32) if layer.tokens else np.zeros((0, k), np.int32)
    if layer.routing == "one expert":
        ids[:, 1:] = -1
        ids[:, :1] = e // 2
    elif layer.routing == "first rank":
        ids[ids >= each] = -1
    elif layer.routing == "last rank":
        ids[ids < e - each] = -1
    elif layer.routing == "skip":
        ids[rng.random(ids.shape) < 0.4] = -1
    elif layer.routing == "nobody":
        ids[:] = -1
    return ids


def inputs_of(layer, ranks, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(layer.tokens, layer.hidden)).astype(np.float32)
    weights = rng.random((layer.tokens, layer.k)).astype(np.float32)
    return {"x": x, "ids": route(layer, ranks, rng), "weights": weights}
