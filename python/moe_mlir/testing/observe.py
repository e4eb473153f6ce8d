"""Runs of PyTorch models that keep what the tests compare: logits, router logits, chosen experts."""

import contextlib
from dataclasses import dataclass

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from ..exporting.routers import Routers


@dataclass
class Observation:
    """One forward pass over tokens `[B, S]`, in float64.

    logits         [B, S, V]
    router_logits  [N, B, S, E] of the N MoE layers
    chosen         [N, B, S, k] ids
    """

    logits: np.ndarray
    router_logits: np.ndarray
    chosen: np.ndarray


def observe(model, tokens, ids=None):
    """Run `model` on `tokens` [B, S] without a cache. `ids` [N, B, S, k] forces the experts."""
    tokens = torch.as_tensor(tokens)
    with torch.no_grad(), Routers(model) as routers:
        routers.ids = None if ids is None else list(torch.as_tensor(ids))
        logits = model(input_ids=tokens, use_cache=False).logits
        shape = (len(routers), *tokens.shape, -1)
        return Observation(
            logits.double().numpy(),
            torch.stack(routers.logits).double().numpy().reshape(shape),
            torch.stack(routers.chosen).numpy().reshape(shape),
        )


class _Widen(TorchFunctionMode):
    """Makes casts to float32 casts to float64: transformers computes norms, softmax and rotary angles in float32."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function is torch.Tensor.float:
            return args[0].double()
        args = tuple(torch.float64 if a is torch.float32 else a for a in args)
        kwargs = {key: torch.float64 if value is torch.float32 else value for key, value in kwargs.items()}
        return function(*args, **kwargs)


@contextlib.contextmanager
def double_precision(model):
    """Context in which `model` has its weights in float64, values unchanged, and computes in it throughout."""
    before = {name: p.data for name, p in model.named_parameters()}
    dtype = model.config.dtype
    try:
        for parameter in model.parameters():
            parameter.data = parameter.data.double()
        model.config.dtype = torch.float64
        with _Widen():
            yield model
    finally:
        for name, parameter in model.named_parameters():
            parameter.data = before[name]
        model.config.dtype = dtype


def greedy(model, tokens, steps):
    """Greedy continuation of one prompt `[S]`, `(ids [steps], Observation of the whole sequence but its last id)`.

    The observation's rows S - 1 ... S + steps - 2 are the ones whose largest logit was taken.
    """
    sequence = torch.as_tensor(tokens).reshape(1, -1)
    start, step, cache = sequence.shape[1], sequence, None
    with torch.no_grad():
        for _ in range(steps):
            out = model(input_ids=step, past_key_values=cache, use_cache=True)
            step, cache = out.logits[:, -1].argmax(dim=-1, keepdim=True), out.past_key_values
            sequence = torch.cat([sequence, step], dim=1)
    return sequence[0, start:].numpy(), observe(model, sequence[:, :-1])
