"""Attention of models for which transformers has no `scaled_dot_product_attention`: a function in its interface.

It calls `scaled_dot_product_attention` where that says everything, and `moe_mlir::attention` where a layer hands sinks
over.
"""

import contextlib

from ...errors import UnsupportedError

IMPLEMENTATION = "moe_mlir"
SINKS = ("s_aux", "sinks")


@contextlib.contextmanager
def replaced(model):
    """The model with attention as one op per layer; afterwards it has the implementation that it had."""
    before = model.config.get_text_config()._attn_implementation
    try:
        model.set_attn_implementation("sdpa")
    except (ValueError, ImportError):
        register()
        model.set_attn_implementation(IMPLEMENTATION)
    try:
        yield
    finally:
        model.set_attn_implementation(before)


def register():
    """Register the function and its masks; calling it again changes nothing."""
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    ALL_ATTENTION_FUNCTIONS.register(IMPLEMENTATION, forward)
    ALL_MASK_ATTENTION_FUNCTIONS.register(IMPLEMENTATION, mask)


def mask(*args, **options):
    """A mask [B, 1, S, L] of bools, also where `is_causal` would say the same: that is no argument of ours."""
    from transformers.masking_utils import sdpa_mask

    return sdpa_mask(*args, **{**options, "allow_is_causal_skip": False, "allow_is_bidirectional_skip": False})


def forward(module, query, key, value, attention_mask, dropout=0.0, scaling=None, **options):
    """An attention function of transformers: [B, N, S, D], [B, M, L, D], [B, M, L, Dv] -> [B, S, N, Dv], None."""
    import torch
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    from ...ops import attention

    if (indices := options.pop("indices", None)) is not None:
        attention_mask = _only(indices, key.shape[2], attention_mask)
    sinks = next((options[name] for name in SINKS if options.get(name) is not None), None)
    if options.get("softcap") is not None:
        raise UnsupportedError(f"{_name(module)} caps its scores (softcap), which is not supported")
    if sinks is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, dropout, scaling, **options)
    if sinks.dim() != 1 or sinks.shape[0] != query.shape[1]:
        raise UnsupportedError(
            f"{_name(module)} has sinks of shape {list(sinks.shape)}; supported is one per head, [{query.shape[1]}]: only layers whose "
            "sinks do not depend on the token can be exported"
        )
    if attention_mask is not None and attention_mask.dtype != torch.bool:
        raise UnsupportedError(
            f"{_name(module)} adds a mask of {attention_mask.dtype} to scores that have sinks; supported are masks of bools"
        )
    bias = options.get("position_bias")
    if bias is not None:
        attention_mask = bias if attention_mask is None else torch.where(attention_mask, bias, torch.finfo(bias.dtype).min)
    scale = scaling if scaling is not None else query.shape[-1] ** -0.5
    out = attention(query, key, value, attention_mask, sinks, scale)
    return out.transpose(1, 2).contiguous(), None


def _only(indices, length, mask):
    """The mask of those keys that an indexer chose, `indices` [B, S, k]: models hand them over to implementations that they
    do not know, instead of hiding the others themselves."""
    import torch

    chosen = torch.zeros((*indices.shape[:2], length), dtype=torch.bool, device=indices.device)
    chosen = chosen.scatter(-1, indices.long(), True).unsqueeze(1)
    return chosen if mask is None else mask & chosen


def _name(module):
    index = getattr(module, "layer_idx", None)
    return f"'{type(module).__name__}'" + ("" if index is None else f" of layer {index}")
