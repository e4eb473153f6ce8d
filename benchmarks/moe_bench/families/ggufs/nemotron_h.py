"""Nemotron-H: layers of Mamba-2, of experts with two matrices, and of attention without positions."""

import numpy as np

from .weights import ends, renamed, require, sizes, widened

ARCHITECTURE = "nemotron_h_moe"

ATTENTION = {"q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output"}


def metadata(config):
    """llama.cpp's hyperparameters; it tells layers apart by their heads and widths, which are lists."""
    kinds = config["layers_block_type"]
    require({
        "no layers but Mamba-2, experts and attention": set(kinds) <= {"linear_attention", "moe", "full_attention"},
        "experts of the hidden size": config.get("moe_latent_size") is None,
        "squared relu": config["mlp_hidden_act"] == "relu2",
        "one group of experts": config["n_group"] == 1,
        "no biases but the convolution's": not config["use_bias"] and not config["mlp_bias"] and not config["attention_bias"] and config["use_conv_bias"],
    }, ARCHITECTURE)  # fmt: skip
    heads_kv = [config["num_key_value_heads"] if kind == "full_attention" else 0 for kind in kinds]
    return {
        **sizes({**config, "num_hidden_layers": len(kinds)}, heads_kv, config["layer_norm_epsilon"]),
        "feed_forward_length": [config["moe_intermediate_size"] if kind == "moe" else 0 for kind in kinds],
        "attention.key_length": config["head_dim"],
        "attention.value_length": config["head_dim"],
        "attention.layer_norm_epsilon": float(config["layer_norm_epsilon"]),
        "rope.scaling.finetuned": False,
        "expert_count": config["n_routed_experts"],
        "expert_feed_forward_length": config["moe_intermediate_size"],
        "expert_shared_feed_forward_length": config["moe_shared_expert_intermediate_size"],
        "expert_shared_count": config["n_shared_experts"],
        "expert_group_count": config["n_group"],
        "expert_weights_norm": config["norm_topk_prob"],
        "expert_weights_scale": float(config["routed_scaling_factor"]),
        "ssm.conv_kernel": config["conv_kernel"],
        "ssm.state_size": config["ssm_state_size"],
        "ssm.group_count": config["n_groups"],
        "ssm.time_step_rank": config["mamba_num_heads"],
        "ssm.inner_size": config["mamba_num_heads"] * config["mamba_head_dim"],
    }


def tensors(config, weights):
    """(name, values) of every tensor."""
    yield from ends(weights, "backbone.embeddings", "backbone.norm_f")
    for layer, kind in enumerate(config["layers_block_type"]):
        theirs = f"backbone.layers.{layer}."
        yield f"blk.{layer}.attn_norm.weight", weights.wide(f"{theirs}norm.weight")
        if kind == "linear_attention":
            yield from _mamba(config, weights, layer, f"{theirs}mixer.")
        elif kind == "moe":
            yield from _experts(config, weights, layer, f"{theirs}mixer.")
        else:
            yield from renamed(weights, layer, f"{theirs}mixer.", ATTENTION)


def _mamba(config, weights, layer, theirs):
    """Numbers of a head and norms of a group are rows."""
    ours = f"blk.{layer}."
    yield from renamed(weights, layer, theirs, {"in_proj": "ssm_in", "out_proj": "ssm_out"})
    yield from widened(weights, layer, theirs, {"dt_bias": "ssm_dt.bias", "conv1d.bias": "ssm_conv1d.bias"})
    yield f"{ours}ssm_conv1d.weight", weights.wide(f"{theirs}conv1d.weight")[:, 0]
    yield f"{ours}ssm_norm.weight", weights.wide(f"{theirs}norm.weight").reshape(config["n_groups"], -1)
    yield f"{ours}ssm_a", -np.exp(weights.wide(f"{theirs}A_log"))[:, None]
    yield f"{ours}ssm_d", weights.wide(f"{theirs}D")[:, None]


def _experts(config, weights, layer, theirs):
    ours = f"blk.{layer}."
    yield from widened(weights, layer, theirs, {"gate.weight": "ffn_gate_inp.weight", "gate.e_score_correction_bias": "exp_probs_b.bias"})
    for part in ("up", "down"):
        yield f"{ours}ffn_{part}_exps.weight", weights.experts(f"{theirs}experts.", f"{part}_proj", config["n_routed_experts"])
        yield f"{ours}ffn_{part}_shexp.weight", weights.take(f"{theirs}shared_experts.{part}_proj.weight")
