"""The configurations of the numeric tests."""

from .full import FULL

FAMILIES = ["mixtral", "qwen3_moe", "olmoe"]

# Positions of the static cache that they are exported with.
CACHE = 128

# What differs from a family's own configuration does so in each layer: an ordinary run has two.
LAYERS = {} if FULL else {"num_hidden_layers": 2}

# Name -> (family, changes to the tiny configuration). Odd sizes stand in test_sizes.py of the numeric tests.
CONFIGURATIONS = {
    "mixtral": ("mixtral", {}),
    "mixtral-window": ("mixtral", {"sliding_window": 24, **LAYERS}),
    "mixtral-wide-heads": (
        "mixtral",
        {"num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 32, "num_local_experts": 4, "rope_theta": 1e6, **LAYERS},
    ),
    "mixtral-gelu-one-expert-each": ("mixtral", {"hidden_act": "gelu", "num_experts_per_tok": 1, **LAYERS}),
    "qwen3_moe": ("qwen3_moe", {}),
    "qwen3_moe-plain": (
        "qwen3_moe",
        {"norm_topk_prob": False, "mlp_only_layers": [], "tie_word_embeddings": True, "num_hidden_layers": 2},
    ),
    "qwen3_moe-many-experts": ("qwen3_moe", {"num_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 16, **LAYERS}),
    "olmoe": ("olmoe", {}),
    "olmoe-normalised": ("olmoe", {"norm_topk_prob": True, "num_key_value_heads": 6, "num_experts_per_tok": 2, **LAYERS}),
}

# Two of many experts: the cut logit, the second largest of 32, is never close to zero. Where it is, a bfloat16 ulp of it
# is far smaller than the rounding errors of the hidden row, and no margin in such ulps is safe.
LARGE_CUT = {
    "mixtral-32": ("mixtral", {"num_local_experts": 32}),
    "qwen3_moe-32": ("qwen3_moe", {"num_experts": 32, "num_experts_per_tok": 2}),
    "olmoe-32": ("olmoe", {"num_experts": 32, "num_experts_per_tok": 2}),
}
