"""DeepSeek-V3: latent attention, first layers without experts, routing to groups of experts."""

from .weights import ends, renamed, require, sizes, widened

ARCHITECTURE = "deepseek2"

ATTENTION = {"q_a_proj": "attn_q_a", "q_b_proj": "attn_q_b", "kv_a_proj_with_mqa": "attn_kv_a_mqa", "o_proj": "attn_output"}
NORMS = {
    "input_layernorm.weight": "attn_norm.weight", "post_attention_layernorm.weight": "ffn_norm.weight",
    "self_attn.q_a_layernorm.weight": "attn_q_a_norm.weight", "self_attn.kv_a_layernorm.weight": "attn_kv_a_norm.weight",
}  # fmt: skip
ROUTER = {"gate.weight": "ffn_gate_inp.weight", "gate.e_score_correction_bias": "exp_probs_b.bias"}
PROJECTIONS = ("gate", "up", "down")
SIGMOID = 2


def metadata(config):
    """llama.cpp's hyperparameters. It keeps the latent rows alone, so that to its cache all heads share one key, which is a latent row and the rotated part."""
    require({
        "rotary embeddings of neighbours without scaling": config["rope_parameters"]["rope_type"] == "default" and config["rope_interleave"],
        "latent queries": config["q_lora_rank"] is not None,
        "no biases": not config["attention_bias"],
    }, ARCHITECTURE)  # fmt: skip
    latent, rotated = config["kv_lora_rank"], config["qk_rope_head_dim"]
    return {
        **sizes(config, 1, config["rms_norm_eps"]),
        "feed_forward_length": config["intermediate_size"],
        "leading_dense_block_count": config["first_k_dense_replace"],
        "attention.q_lora_rank": config["q_lora_rank"],
        "attention.kv_lora_rank": latent,
        "attention.key_length": latent + rotated,
        "attention.value_length": latent,
        "attention.key_length_mla": config["qk_nope_head_dim"] + rotated,
        "attention.value_length_mla": config["v_head_dim"],
        "rope.freq_base": float(config["rope_parameters"]["rope_theta"]),
        "rope.dimension_count": rotated,
        "expert_count": config["n_routed_experts"],
        "expert_feed_forward_length": config["moe_intermediate_size"],
        "expert_shared_count": config["n_shared_experts"],
        "expert_group_count": config["n_group"],
        "expert_group_used_count": config["topk_group"],
        "expert_gating_func": SIGMOID,
        "expert_weights_norm": config["norm_topk_prob"],
        "expert_weights_scale": float(config["routed_scaling_factor"]),
    }


def tensors(config, weights):
    """(name, values) of every tensor."""
    yield from ends(weights)
    for layer in range(config["num_hidden_layers"]):
        theirs, ours = f"model.layers.{layer}.", f"blk.{layer}."
        yield from widened(weights, layer, theirs, NORMS)
        yield from renamed(weights, layer, f"{theirs}self_attn.", ATTENTION)
        yield from _expansion(config, weights, layer, f"{theirs}self_attn.")
        theirs += "mlp."
        if layer < config["first_k_dense_replace"]:
            yield from renamed(weights, layer, theirs, {f"{part}_proj": f"ffn_{part}" for part in PROJECTIONS})
            continue
        yield from widened(weights, layer, theirs, ROUTER)
        for part in PROJECTIONS:
            yield f"{ours}ffn_{part}_exps.weight", weights.experts(f"{theirs}experts.", f"{part}_proj", config["n_routed_experts"])
            yield f"{ours}ffn_{part}_shexp.weight", weights.take(f"{theirs}shared_experts.{part}_proj.weight")


def _expansion(config, weights, layer, theirs):
    """What makes keys and values of latent rows is one matrix of all heads; llama.cpp multiplies queries with a head's keys, transposed, and sums with its values."""
    both = weights.take(f"{theirs}kv_b_proj.weight").reshape(config["num_attention_heads"], -1, config["kv_lora_rank"])
    keys, values = both[:, : config["qk_nope_head_dim"]], both[:, config["qk_nope_head_dim"] :]
    yield f"blk.{layer}.attn_k_b.weight", keys.transpose(0, 2, 1)
    yield f"blk.{layer}.attn_v_b.weight", values
