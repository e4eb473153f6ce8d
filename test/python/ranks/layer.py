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
    generator = torch.Generator().manual_seed(layer.experts * 1000 + layer.hidden)
    rows = layer.inner * (2 if layer.gated else 1)
    shapes = {"up": (layer.experts, rows, layer.hidden), "down": (layer.experts, layer.hidden, layer.inner)}
    weights = {name: (torch.randn(shape, generator=generator) / shape[-1] ** 0.5).to(TYPES[layer.dtype]) for name, shape in shapes.items()}
    save_file(weights, folder / "layer.safetensors")
    e, i, h, k, t = layer.experts, layer.inner, layer.hidden, layer.k, layer.dtype
    n, r, dims = (layer.tokens, layer.tokens * k, "") if fixed else ("?", "?", 'moe.dims = ["tokens", ""], ')
    region = f"""gated {{
  ^bb0(%g: f32, %u: f32):
    %s = nn.silu %g : f32
    %a = arith.mulf %s, %u : f32
    moe.yield %a : f32
  }}""" if layer.gated else """{
  ^bb0(%g: f32):
    %s = nn.silu %g : f32
    moe.yield %s : f32
  }"""
    (folder / "layer.mlir").write_text(f"""
func.func @main(%x: tensor<{n}x{h}x{t}> {{{dims}moe.name = "x"}},
                %ids: tensor<{n}x{k}xi32> {{{dims}moe.name = "ids"}},
                %w: tensor<{n}x{k}x{t}> {{{dims}moe.name = "weights"}})
    -> (tensor<{n}x{h}x{t}> {{{dims}moe.name = "y"}}) {{
  %up = moe.parameter ["up"] : tensor<{e}x{rows}x{h}x{t}>
  %down = moe.parameter ["down"] : tensor<{e}x{h}x{i}x{t}>
  %rows, %layout = moe.dispatch %x, %ids num_experts({e}) : tensor<{n}x{h}x{t}>, tensor<{n}x{k}xi32> -> tensor<{r}x{h}x{t}>, !moe.layout<{e}>
  %r = moe.expert %rows, %layout, %up, %down {region}
      : tensor<{r}x{h}x{t}>, !moe.layout<{e}>, tensor<{e}x{rows}x{h}x{t}>, tensor<{e}x{h}x{i}x{t}> -> tensor<{r}x{h}x{t}>
  %y = moe.combine %r, %layout weights(%w : tensor<{n}x{k}x{t}>) : tensor<{r}x{h}x{t}>, !moe.layout<{e}> -> tensor<{n}x{h}x{t}>
  return %y : tensor<{n}x{h}x{t}>
}}
""")
    return ["--from=graph", f"--weights={folder / 'layer.safetensors'}"]


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
