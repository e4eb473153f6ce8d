"""Indexers that loop over queries, as operations on all of them.

An indexer that chooses blocks of keys, one query after the other, among as many keys as that query sees, cannot be
traced. Queries see the keys up to their own position, so blocks begin at the same places for all of them: the keys of
all blocks are made at once, and of each query those beyond its last complete block are hidden before the choice.
"""

import contextlib
import functools
import math
import sys

import torch

from .functions import compare, drawn

# What an indexer of this kind has.
PARTS = ("index_qk_proj", "q_layernorm", "k_layernorm", "compress_ratio", "block_topk", "index_n_heads", "index_kv_heads")


def choose_blocks(indexer, rotary, hidden_states, position_embeddings, attention_mask, past_key_values):
    """Mask `[B, 1, S, L]` of the keys in the chosen blocks, and of those behind the last complete block.

    rotary          callable: (tensor of the dtype, positions [L]) -> cosines and sines [1, L, d]
    attention_mask  [B, 1, S, L]: queries see the first keys, one more than the query before
    """
    batch, queries, _ = hidden_states.shape
    ratio, width = indexer.compress_ratio, indexer.index_head_dim
    rotate = sys.modules[type(indexer).__module__].apply_rotary_pos_emb
    cos, sin = (table[:, -queries:] for table in position_embeddings)
    query, keys = torch.split(indexer.index_qk_proj(hidden_states), [indexer.index_n_heads * width, width], dim=-1)
    query = indexer.q_layernorm(query.reshape(batch, queries, -1, width))
    query = rotate(query, cos=cos, sin=sin, unsqueeze_dim=2)
    if past_key_values is not None:
        keys = past_key_values.update_indexer(keys, indexer.layer_idx)

    # As many blocks as the keys fill, the last one with what there is: it is complete for no query that needs it.
    length = keys.shape[1]
    blocks = (length + ratio - 1) // ratio
    padded = torch.cat([keys, keys.new_zeros((batch, ratio - 1, width))], dim=1)[:, : blocks * ratio]
    pooled = padded.reshape(batch, blocks, ratio, width).float().mean(dim=2).to(keys.dtype)
    cos, sin = rotary(hidden_states, torch.arange(blocks) * ratio)
    block_keys = rotate(indexer.k_layernorm(pooled).unsqueeze(2), cos=cos, sin=sin, unsqueeze_dim=2).squeeze(2)

    scores = torch.matmul(query.float(), block_keys.float().transpose(-1, -2).unsqueeze(1))
    scores = torch.relu(scores).sum(dim=2) / math.sqrt(width)
    seen = attention_mask if attention_mask.dtype == torch.bool else attention_mask == 0
    complete = seen.sum(dim=-1)[:, 0] // ratio  # [B, S]
    is_complete = torch.arange(blocks) < complete.unsqueeze(-1)
    scores = scores.masked_fill(~is_complete, float("-inf"))
    chosen = torch.zeros_like(is_complete).scatter(-1, scores.topk(min(indexer.block_topk, blocks), dim=-1).indices, True)
    tokens = (chosen & is_complete).repeat_interleave(ratio, dim=-1)[..., :length]
    behind = torch.arange(length) >= (complete * ratio).unsqueeze(-1)
    return (tokens | (behind & seen[:, 0])).unsqueeze(1)


def _rotary(model, hidden_states, positions):
    """Cosines and sines of the model's text, whose positions are the same in all three directions."""
    embedding = next(module for module in model.modules() if hasattr(module, "recomposition_frequencies"))
    return embedding(hidden_states, positions.view(1, 1, -1).expand(3, 1, -1))


def _draws(model, indexer):
    hidden = indexer.index_qk_proj.in_features
    ratio, budget = indexer.compress_ratio, indexer.token_budget
    weight = indexer.index_qk_proj.weight
    for length in (1, ratio, budget + 3 * ratio + 1):
        states = drawn(length, 2, length, hidden).to(weight.dtype)
        tables = tuple(table.expand(2, -1, -1) for table in _rotary(model, states, torch.arange(length)))
        mask = torch.ones((length, length), dtype=torch.bool).tril().expand(2, 1, length, length)
        yield (states, tables, mask, None), {}


@contextlib.contextmanager
def replaced(model):
    """Context in which the model's indexers can be traced."""
    changed = []
    try:
        for name, indexer in model.named_modules():
            if not all(hasattr(indexer, part) for part in PARTS):
                continue
            forward = functools.partial(choose_blocks, indexer, functools.partial(_rotary, model))
            compare(_numbers(indexer.forward), _numbers(forward), functools.partial(_draws, model, indexer), f"indexer '{name}'")
            indexer.forward = forward
            changed.append(indexer)
        yield
    finally:
        for indexer in changed:
            del indexer.forward


def _numbers(forward):
    """The mask as numbers."""
    return lambda *args, **kwargs: forward(*args, **kwargs).float()
