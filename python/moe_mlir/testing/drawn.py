"""Configurations drawn at random: sizes and parts of the families that nobody would think of writing down."""

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Drawn:
    """One configuration of `tiny_config`, and the calls to compare on it.

    calls         (batch, length) of prefills, at least one token each
    cache_length  positions of the static cache: at least the longest call, and the exporter's least of 8
    bfloat16      whether the weights and the compiled model are bf16
    """

    family: str
    changes: dict
    calls: tuple
    cache_length: int
    bfloat16: bool


def draw(seed):
    """The configuration of a seed; the same on every machine."""
    source = random.Random(seed)
    family = source.choice(["mixtral", "qwen3_moe", "olmoe"])
    key_heads = source.randint(1, 4)
    heads = key_heads * source.randint(1, 4)
    head_dim = 2 * source.randint(1, 20)
    experts = source.randint(1, 20)
    changes = {
        "vocab_size": source.randint(4, 400),
        # OLMoE's norm of the keys needs it to be the width of all heads.
        "hidden_size": heads * head_dim if family == "olmoe" else source.randint(1, 130),
        "num_hidden_layers": source.randint(1, 3),
        "num_attention_heads": heads,
        "num_key_value_heads": key_heads,
        "head_dim": head_dim,
        "num_experts_per_tok": source.randint(1, experts),
        "hidden_act": source.choice(["silu", "silu", "gelu", "relu"]),
        "tie_word_embeddings": source.random() < 0.3,
        "rope_theta": source.choice([1e4, 1e6]),
        "num_local_experts" if family == "mixtral" else "num_experts": experts,
        "moe_intermediate_size" if family == "qwen3_moe" else "intermediate_size": source.randint(1, 150),
    }
    if family == "mixtral":
        changes["sliding_window"] = source.choice([None, source.randint(1, 40)])
    else:
        changes["norm_topk_prob"] = source.random() < 0.5
        changes["attention_bias"] = source.random() < 0.3
    if family == "qwen3_moe":
        changes["intermediate_size"] = source.randint(1, 150)
        # At least one layer keeps its experts.
        changes["mlp_only_layers"] = [n for n in range(changes["num_hidden_layers"] - 1) if source.random() < 0.3]
    cache_length = source.randint(8, 70)
    calls = tuple((source.randint(1, 5), source.randint(1, cache_length)) for _ in range(3))
    return Drawn(family, changes, calls, cache_length, source.random() < 0.4)
