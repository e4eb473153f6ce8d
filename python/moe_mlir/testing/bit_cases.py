"""The models on which two compilers must compute the same bits: the trained one, those of the numeric tests, and drawn ones."""

from dataclasses import dataclass
from typing import Callable

import numpy as np

from .compiling import step_inputs
from .configurations import CACHE, CONFIGURATIONS, FAMILIES, LARGE_CUT
from .drawn import draw
from .paths import TINY_MOE

DTYPES = ("float32", "bfloat16")
PROMPT = b"The value of a model is what it says about things that nobody told it. "
TOKENS = 23  # of a layer on the emulated GPU


@dataclass(frozen=True)
class Case:
    """A model by its name, and what it is run on.

    export  exports the model to a path and gives {entry or None: [inputs of a call]}; None instead of inputs resets the states
    device  "cpu", or "cuda": each MoE layer alone, on the emulated GPU
    """

    name: str
    export: Callable
    device: str = "cpu"


# PyTorch is imported by whoever exports, not by whoever asks for names.
def _trained(dtype, path):
    import torch

    from ..exporting import export
    from ..exporting.load import load_model

    export(load_model(TINY_MOE, getattr(torch, dtype)), path)
    tokens = np.frombuffer(PROMPT, np.uint8).astype(np.int64)[None]
    return {None: [step_inputs(tokens[:, :-1]), step_inputs(tokens[:, -1:], tokens.shape[1] - 1)]}


def _export(family, changes, dtype, path, cache):
    """Exports a tiny model; returns it."""
    import torch

    from ..exporting import export
    from .models import tiny_model

    model = tiny_model(family, dtype=getattr(torch, dtype), **changes)
    export(model, path, max_cache_len=cache)
    return model


def _tokens(model, batch, length, seed):
    from .inputs import random_tokens

    return random_tokens(model, batch, length, seed)


def _configuration(name, dtype, path):
    model = _export(*{**CONFIGURATIONS, **LARGE_CUT}[name], dtype, path, CACHE)
    tokens = _tokens(model, 3, 41, 0)
    return {None: [step_inputs(tokens[:, :40]), step_inputs(tokens[:, 40:], 40), None, step_inputs(tokens[:1, :1])]}


def _drawn(seed, dtype, path):
    drawn = draw(seed)
    model = _export(drawn.family, drawn.changes, dtype, path, drawn.cache_length)
    calls = []
    for index, (batch, length) in enumerate(drawn.calls):
        calls += [step_inputs(_tokens(model, batch, length, index)), None]
    return {None: calls[:-1]}


def _layers(name, dtype, path):
    model = _export(*CONFIGURATIONS[name], dtype, path, CACHE)
    routed = [i for i, layer in enumerate(model.model.layers) if hasattr(layer.mlp, "experts")]
    x = np.random.default_rng(0).normal(size=(TOKENS, model.config.hidden_size)).astype(np.float32)
    return {f"layer{i}_moe": [{"x": x}] for i in routed}


def cases(count, full=False):
    """All cases, with so many drawn configurations. Layers of few models run on the emulated GPU, with `full` those of all configurations."""
    result = [Case(f"trained/{dtype}", lambda path, d=dtype: _trained(d, path)) for dtype in DTYPES]
    for name in (*CONFIGURATIONS, *LARGE_CUT):
        result += [Case(f"{name}/{dtype}", lambda path, n=name, d=dtype: _configuration(n, d, path)) for dtype in DTYPES]
    for seed in range(count):
        result += [Case(f"drawn-{seed}/{dtype}", lambda path, s=seed, d=dtype: _drawn(s, d, path)) for dtype in DTYPES]
    gpu = [(name, dtype) for name in CONFIGURATIONS for dtype in DTYPES] if full else [*((name, "bfloat16") for name in FAMILIES), ("mixtral", "float32")]
    return result + [Case(f"gpu-{name}/{dtype}", lambda path, n=name, d=dtype: _layers(n, d, path), "cuda") for name, dtype in gpu]
