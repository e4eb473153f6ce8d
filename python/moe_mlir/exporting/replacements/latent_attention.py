"""Latent attention (MLA) that keeps a row of keys and one of values per token for all heads, and never expands them.

transformers keeps a latent `c` [B, 1, L, rank] and a rotated key `r` [B, 1, L, rope], and in every step makes keys and
values of all heads of the whole cache: `k = [W_k c, r]`, `v = W_v c`. As `q.(W_k c) = (q W_k).c`, the products with W_k
and W_v are absorbed into queries and results instead: N heads of queries `[q W_k, q_rope]` read one head of keys
`[c, r]`, whose values are `c`; what a head finds goes through W_v. Keys `[B, 1, L, rank + rope]` and values
`[B, 1, L, rank]` are kept, and a step reads each once: the latent is there twice, as products read keys and values in
different orders of their elements, and one tensor for both would be copied in each step.

The module's own forward runs. What it hands to its cache, to `expand_kv` and to the attention function is taken over.
"""

import contextlib
import types

import torch
from torch import nn

ATTRIBUTE = "_moe_mlir_latent"
SIZES = ("num_heads", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")


def find(model):
    """The model's modules of latent attention: those that expand a latent by one product without a bias."""
    return [module for module in model.modules() if _is_latent(module)]


def _is_latent(module):
    product = getattr(module, "kv_b_proj", None)
    if not isinstance(product, nn.Linear) or product.bias is not None or not callable(getattr(module, "expand_kv", None)):
        return False
    if not all(isinstance(getattr(module, name, None), int) for name in SIZES):
        return False
    heads, rank, nope, _, width = (getattr(module, name) for name in SIZES)
    return tuple(product.weight.shape) == (heads * (nope + width), rank)


@contextlib.contextmanager
def replaced(model):
    """The model with its latent attention absorbed."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    modules = find(model)
    if not modules:
        yield
        return
    name = model.config.get_text_config()._attn_implementation
    inner = ALL_ATTENTION_FUNCTIONS[name]
    for module in modules:
        latent = _Latent(module)
        module.__dict__.update({ATTRIBUTE: latent, "forward": latent.forward, "expand_kv": latent.expand})

    def attend(module, query, key, value, attention_mask, *arguments, **options):
        latent = module.__dict__.get(ATTRIBUTE)
        if latent is None:
            return inner(module, query, key, value, attention_mask, *arguments, **options)
        return latent.attend(inner, query, key, value, attention_mask, *arguments, **options)

    ALL_ATTENTION_FUNCTIONS[name] = attend  # of this object alone, before what is registered for all
    try:
        yield
    finally:
        del ALL_ATTENTION_FUNCTIONS[name]
        for module in modules:
            for attribute in (ATTRIBUTE, "forward", "expand_kv"):
                del module.__dict__[attribute]


class _Latent:
    """One module's part: `kept` are the keys and values that its cache gave in this call."""

    def __init__(self, module):
        self.module, self.original, self.kept = module, module.forward, None

    def forward(self, *arguments, past_key_values=None, **options):
        self.kept = None
        if past_key_values is not None:
            past_key_values = _Cache(past_key_values, self)
        return self.original(*arguments, past_key_values=past_key_values, **options)

    def expand(self, latent, rope):
        """Keys and values of the attention function, for one head."""
        return (torch.cat([latent, rope], dim=-1), latent) if self.kept is None else self.kept

    def attend(self, inner, query, key, value, mask, *arguments, **options):
        """query [B, N, S, nope + rope], key [B, 1, L, rank + rope], value [B, 1, L, rank] -> [B, S, N, width]."""
        module = self.module
        heads, rank, nope, rope, width = (getattr(module, name) for name in SIZES)
        into_keys, into_values = module.kv_b_proj.weight.view(heads, nope + width, rank).split([nope, width], dim=1)
        query, turned = query.split([nope, rope], dim=-1)
        query = torch.cat([query @ into_keys, turned], dim=-1)
        stand_in = types.SimpleNamespace(num_key_value_groups=heads, is_causal=getattr(module, "is_causal", True))
        found, weights = inner(stand_in, query, key, value, mask, *arguments, **options)
        found = found.transpose(1, 2) @ into_values.transpose(1, 2)
        return found.transpose(1, 2).contiguous(), weights


class _Cache:
    """The cache of a call, which keeps a module's latent and rotated key as one row, and the latent as another."""

    def __init__(self, cache, latent):
        self._cache, self._latent = cache, latent

    def __getattr__(self, name):
        return getattr(self._cache, name)

    def update(self, latent, rope, *arguments, **options):
        keys = torch.cat([latent, rope], dim=-1)
        keys, values = self._latent.kept = self._cache.update(keys, latent, *arguments, **options)
        return values, keys[..., latent.shape[-1] :]
