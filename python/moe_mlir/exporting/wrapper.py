"""The modules that are exported: plain tensors in, logits out.

The number of inputs depends on the model, so `step` takes keywords; torch.export reads the names of the graph's inputs
from the signature of `forward`, which `_Named` therefore spells out.
"""

import inspect

import torch

from .cache import Place, external_cache


def _like(ids, tokens):
    """`ids` [B, S, k], after telling the exporter that B and S are those of `tokens` [B, S]."""
    torch._check(ids.shape[0] == tokens.shape[0])
    torch._check(ids.shape[1] == tokens.shape[1])
    return ids


class _Named(torch.nn.Module):
    """Module whose `forward` has the parameters `names`; calls `step(**inputs)`.

    routers        the model's `Routers`, or None where they are left alone
    force_experts  inputs experts_N [B, S, k] int64 choose the experts of MoE layer N (counted over MoE layers)
    return_experts the chosen experts [B, S, k] of every MoE layer are further outputs
    states         what `find_states` has found; `length` is that of the caches among it
    """

    def __init__(self, model, names, routers=None, force_experts=False, return_experts=False, states=None, length=0):
        super().__init__()
        self.model, self.states, self.length = model, states, length

        def forward(*args, **kwargs):
            inputs = dict(zip(names, args), **kwargs)
            tokens = inputs["input_ids"]
            if force_experts:
                routers.ids = [_like(inputs.pop(f"experts_{i}"), tokens) for i in range(len(routers))]
            if routers is not None:
                routers.clear()
            logits = self.step(**inputs)
            if not return_experts:
                return logits
            return logits, *(ids.reshape(*tokens.shape, -1) for ids in routers.chosen)

        forward.__signature__ = inspect.Signature(
            [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
        )
        self.forward = forward


class CachedModel(_Named):
    """One step of a causal language model with its cache as inputs.

    forward(input_ids, position, logits_to_keep, key_cache_0, value_cache_0, ...) -> logits [B, K, V]

    input_ids       [B, S] int64
    position        [B] int64, position of each row's first token; all rows must be equal
    logits_to_keep  [K] int64, indices in [0, S) of the tokens whose logits are wanted
    others          the states, [B, ..]; of caches, tokens at positions below `position` are filled; changed in place
    """

    def step(self, input_ids, position, logits_to_keep, **tensors):
        # One batch. What only an op of ours reads says so nowhere else, nor do positions that no layer uses.
        for tensor in (position, *tensors.values()):
            torch._check(tensor.shape[0] == input_ids.shape[0])
        steps = torch.arange(input_ids.shape[1], device=input_ids.device)
        start = position[0]
        place = Place(start, start + steps, self.length)
        return self.model(
            input_ids=input_ids,
            position_ids=position.unsqueeze(1) + steps,
            past_key_values=external_cache(self.model, self.states, tensors, place),
            use_cache=True,
            logits_to_keep=logits_to_keep,
        ).logits


class PlainModel(_Named):
    """Without a cache: forward(input_ids [B, S] int64) -> logits [B, S, V] of all positions."""

    def step(self, input_ids):
        return self.model(input_ids=input_ids, use_cache=False).logits
