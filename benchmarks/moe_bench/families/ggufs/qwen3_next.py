"""Qwen3-Next: gated delta nets, gated attention, experts with a shared one."""

import numpy as np

from .weights import ends, renamed, require, sizes, widened

ARCHITECTURE = "qwen3next"

ATTENTION = {"q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output"}
PROJECTIONS = ("gate", "up", "down")


def metadata(config):
    """llama.cpp's hyperparameters."""
    interval = config["layer_types"].index("full_attention") + 1
    layers = ["linear_attention" if (i + 1) % interval else "full_attention" for i in range(config["num_hidden_layers"])]
    require({
        "rotary embeddings without scaling": config["rope_parameters"]["rope_type"] == "default",
        "normed weights of experts": config["norm_topk_prob"],
        "experts in every layer": not config["mlp_only_layers"] and config["decoder_sparse_step"] == 1,
        "keys and values of one width in delta nets": config["linear_key_head_dim"] == config["linear_value_head_dim"],
        "attention at a regular interval": config["layer_types"] == layers,
    }, ARCHITECTURE)  # fmt: skip
    rope = config["rope_parameters"]
    return {
        **sizes(config, config["num_key_value_heads"], config["rms_norm_eps"]),
        "feed_forward_length": config["intermediate_size"],
        "attention.key_length": config["head_dim"],
        "attention.value_length": config["head_dim"],
        "rope.freq_base": float(rope["rope_theta"]),
        "rope.dimension_count": int(config["head_dim"] * rope["partial_rotary_factor"]),
        "expert_count": config["num_experts"],
        "expert_feed_forward_length": config["moe_intermediate_size"],
        "expert_shared_feed_forward_length": config["shared_expert_intermediate_size"],
        "full_attention_interval": interval,
        "ssm.conv_kernel": config["linear_conv_kernel_dim"],
        "ssm.state_size": config["linear_key_head_dim"],
        "ssm.group_count": config["linear_num_key_heads"],
        "ssm.time_step_rank": config["linear_num_value_heads"],
        "ssm.inner_size": config["linear_num_value_heads"] * config["linear_value_head_dim"],
    }


def tensors(config, weights):
    """(name, values) of every tensor. Norms scale by 1 + weight in transformers, but those of delta nets."""
    for name, values in ends(weights):
        yield name, values + 1 if name == "output_norm.weight" else values
    for layer, kind in enumerate(config["layer_types"]):
        theirs, ours = f"model.layers.{layer}.", f"blk.{layer}."
        yield f"{ours}attn_norm.weight", 1 + weights.wide(f"{theirs}input_layernorm.weight")
        yield f"{ours}post_attention_norm.weight", 1 + weights.wide(f"{theirs}post_attention_layernorm.weight")
        if kind == "full_attention":
            yield from renamed(weights, layer, f"{theirs}self_attn.", ATTENTION)
            for name in ("q_norm", "k_norm"):
                yield f"{ours}attn_{name}.weight", 1 + weights.wide(f"{theirs}self_attn.{name}.weight")
        else:
            yield from _delta_net(config, weights, layer, f"{theirs}linear_attn.")
        yield from _experts(config, weights, layer, f"{theirs}mlp.")


def _delta_net(config, weights, layer, theirs):
    """A projection has the queries, keys, values and gates of each key head in turn; llama.cpp wants all queries first, then all keys and values, gates apart."""
    ours, heads, width = f"blk.{layer}.", config["linear_num_key_heads"], config["linear_key_head_dim"]
    values = config["linear_num_value_heads"] // heads * config["linear_value_head_dim"]
    mixed = weights.take(f"{theirs}in_proj_qkvz.weight")
    parts = np.split(mixed.reshape(heads, -1, mixed.shape[-1]), np.cumsum([width, width, values]), axis=1)
    query, key, value, gate = (part.reshape(-1, mixed.shape[-1]) for part in parts)
    yield f"{ours}attn_qkv.weight", np.concatenate([query, key, value])
    yield f"{ours}attn_gate.weight", gate
    yield from renamed(weights, layer, theirs, {"in_proj_ba": "ssm_ba", "out_proj": "ssm_out"})
    yield from widened(weights, layer, theirs, {"dt_bias": "ssm_dt.bias", "norm.weight": "ssm_norm.weight"})
    yield f"{ours}ssm_conv1d.weight", weights.wide(f"{theirs}conv1d.weight")[:, 0]
    yield f"{ours}ssm_a", -np.exp(weights.wide(f"{theirs}A_log"))


def _experts(config, weights, layer, theirs):
    ours = f"blk.{layer}."
    yield f"{ours}ffn_gate_inp.weight", weights.wide(f"{theirs}gate.weight")
    yield f"{ours}ffn_gate_inp_shexp.weight", weights.wide(f"{theirs}shared_expert_gate.weight")[0]
    for part in PROJECTIONS:
        yield f"{ours}ffn_{part}_exps.weight", weights.experts(f"{theirs}experts.", f"{part}_proj", config["num_experts"])
        yield f"{ours}ffn_{part}_shexp.weight", weights.take(f"{theirs}shared_expert.{part}_proj.weight")
