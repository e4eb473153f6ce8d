"""Drawn configurations of families with activations of their own, experts outside of transformers' registry, and rotary embeddings in complex
numbers: functions of a `Source`."""


def deepseek_v2(draw):
    """Complex rotary embeddings, latent attention."""
    layers = draw.size(1, 3)
    latent, experts = draw.latent(), draw.grouped_experts()
    if grouped := draw.chance(0.5):
        experts["num_experts_per_tok"] = min(experts["num_experts_per_tok"], experts["n_routed_experts"])
    return {
        **latent, **experts, "topk_method": "group_limited_greedy" if grouped else "greedy", "num_hidden_layers": layers,
        "hidden_size": latent["num_attention_heads"] * draw.size(3, 16), "first_k_dense_replace": draw.size(0, layers - 1),
        "intermediate_size": draw.size(1, 60), "attention_bias": draw.chance(0.3), "mlp_bias": draw.chance(0.3), "hidden_act": draw.activation(),
    }


def llama4_text(draw):
    """The same in layers with a chunk, and layers without positions; a token multiplied by its score before its experts."""
    layers, step = draw.size(2, 4), draw.size(1, 2)
    return {
        **draw.heads(low=4), "num_hidden_layers": layers, "hidden_size": draw.size(6, 70), "interleave_moe_layer_step": step,
        "num_local_experts": draw.size(2, 12), "num_experts_per_tok": draw.one(1, 1, 2), "intermediate_size": draw.size(1, 50),
        "intermediate_size_mlp": draw.size(1, 60), "no_rope_layers": [draw.size(0, 1) for _ in range(layers)], "floor_scale": draw.size(2, 8),
        "attn_scale": draw.number(0.05, 0.5), "attn_temperature_tuning": draw.chance(0.7), "use_qk_norm": draw.chance(0.6),
        "attention_chunk_size": draw.size(2, 9), "attention_bias": draw.chance(0.3), "hidden_act": draw.activation(),
    }


def longcat_flash(draw):
    """Two latent attentions in a layer, and experts that hand their input on."""
    heads = draw.latent(queries=False)
    number = draw.size(2, 10)
    return {
        **heads, "head_dim": heads["qk_rope_head_dim"], "qk_head_dim": heads["qk_nope_head_dim"] + heads["qk_rope_head_dim"], "num_layers": draw.size(1, 2),
        "hidden_size": draw.size(6, 70), "n_routed_experts": number, "zero_expert_num": draw.size(1, 5), "moe_topk": draw.size(1, min(number, 4)),
        "ffn_hidden_size": draw.size(1, 60), "expert_ffn_hidden_size": draw.size(1, 50), "routed_scaling_factor": draw.number(0.5, 3),
        "hidden_act": draw.activation(), "attention_bias": draw.chance(0.3),
    }


def jetmoe(draw):
    """Experts of attention, too."""
    number = draw.size(2, 8)
    return {
        "num_hidden_layers": draw.size(1, 3), "hidden_size": draw.size(6, 70), "num_key_value_heads": draw.size(1, 3), "kv_channels": draw.even(4, 20),
        "num_local_experts": number, "num_experts_per_tok": draw.size(1, min(number, 3)), "intermediate_size": draw.size(1, 50),
        "activation_function": draw.activation(), "tie_word_embeddings": draw.chance(0.5),
    }


def dbrx(draw):
    keys, width = draw.size(1, 3), draw.even(4, 20)
    heads, number = keys * draw.size(1, 3), draw.size(2, 12)
    return {
        "n_layers": draw.size(1, 3), "n_heads": heads, "d_model": heads * width,
        "attn_config": {"kv_n_heads": keys, "rope_theta": 1e4, "clip_qkv": draw.one(None, draw.number(0.5, 8))},
        "ffn_config": {
            "ffn_hidden_size": draw.size(1, 50), "moe_num_experts": number, "moe_top_k": draw.size(1, min(number, 4)),
            "ffn_act_fn": {"name": draw.activation()}, "moe_normalize_expert_weights": draw.one(None, 1.0, 2.0),
        },
    }


def beam(draw):
    """An activation of its own."""
    layers = draw.size(1, 3)
    return {
        **draw.heads(low=4), **draw.grouped_experts("num_experts"), **draw.dense_and_sparse(layers), "num_hidden_layers": layers, "hidden_size": draw.size(6, 70),
        "intermediate_size": draw.size(1, 60),
    }


def qwen3_moe(draw):
    """Any activation that has a name."""
    layers = draw.size(1, 3)
    heads = draw.heads()
    return {
        **heads, **draw.experts(), "num_hidden_layers": layers, "mlp_only_layers": [], "hidden_size": draw.size(6, 70), "hidden_act": draw.activation(),
        "norm_topk_prob": draw.chance(0.5), "rope_parameters": draw.rotary(heads["head_dim"]), "intermediate_size": draw.size(1, 60),
    }


FAMILIES = {
    "deepseek_v2": deepseek_v2, "llama4_text": llama4_text, "longcat_flash": longcat_flash, "jetmoe": jetmoe, "dbrx": dbrx, "beam": beam,
    "qwen3_moe": qwen3_moe,
}
