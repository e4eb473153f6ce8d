"""gpt-oss: attention with sinks, windows in every other layer, experts with biases (not packed as mxfp4: the other sides read the same bits)."""

from .weights import ends, renamed, require, sizes, widened

ARCHITECTURE = "gpt-oss"

ATTENTION = {"q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output"}
WIDE = {
    "input_layernorm.weight": "attn_norm.weight", "post_attention_layernorm.weight": "post_attention_norm.weight",
    "self_attn.sinks": "attn_sinks.weight", "mlp.router.weight": "ffn_gate_inp.weight", "mlp.router.bias": "ffn_gate_inp.bias",
    "mlp.experts.down_proj_bias": "ffn_down_exps.bias",
    **{f"self_attn.{name}.bias": f"{new}.bias" for name, new in ATTENTION.items()},
}  # fmt: skip


def metadata(config):
    """llama.cpp's hyperparameters; constants of the activation and of the ramp of the rotary embeddings are in its code."""
    rope, layers = config["rope_parameters"], range(config["num_hidden_layers"])
    require({
        "windows in every other layer, in the first too": config["layer_types"] == ["full_attention" if i % 2 else "sliding_attention" for i in layers],
        "heads that are rotated whole": rope.get("partial_rotary_factor", 1.0) == 1.0,
        "rotary embeddings of YaRN whose ramp ends at whole numbers": rope["rope_type"] == "yarn" and rope.get("truncate", True),
        "YaRN's ramp from 32 to 1 turns": (rope["beta_fast"], rope["beta_slow"]) == (32, 1),
        "its activation's slope and limit": (config.get("swiglu_alpha", 1.702), config.get("swiglu_limit", 7.0)) == (1.702, 7.0),
        "biases of attention": config["attention_bias"],
    }, ARCHITECTURE)  # fmt: skip
    return {
        **sizes(config, config["num_key_value_heads"], config["rms_norm_eps"]),
        "feed_forward_length": config["intermediate_size"],
        "attention.key_length": config["head_dim"],
        "attention.value_length": config["head_dim"],
        "attention.sliding_window": config["sliding_window"],
        "rope.freq_base": float(rope["rope_theta"]),
        "rope.dimension_count": config["head_dim"],
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": float(rope["factor"]),
        "rope.scaling.original_context_length": rope["original_max_position_embeddings"],
        "expert_count": config["num_local_experts"],
        "expert_feed_forward_length": config["intermediate_size"],
    }


def tensors(config, weights):
    """(name, values) of every tensor. Experts' matrices are [in][out] in transformers; gates and values are its even and odd columns."""
    yield from ends(weights)
    for layer in range(config["num_hidden_layers"]):
        theirs, ours = f"model.layers.{layer}.", f"blk.{layer}."
        yield from widened(weights, layer, theirs, WIDE)
        yield from renamed(weights, layer, f"{theirs}self_attn.", ATTENTION)
        both, biases = weights.take(f"{theirs}mlp.experts.gate_up_proj"), weights.wide(f"{theirs}mlp.experts.gate_up_proj_bias")
        for first, part in enumerate(("gate", "up")):
            yield f"{ours}ffn_{part}_exps.weight", both[..., first::2].transpose(0, 2, 1)
            yield f"{ours}ffn_{part}_exps.bias", biases[:, first::2]
        yield f"{ours}ffn_down_exps.weight", weights.take(f"{theirs}mlp.experts.down_proj").transpose(0, 2, 1)
