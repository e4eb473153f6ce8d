"""Drawn configurations of families with recurrent layers and convolutions: functions of a `Source`."""


def delta_nets(draw):
    """Gated DeltaNet beside gated attention."""
    layers, keys = draw.size(2, 3), draw.size(1, 3)
    heads = draw.heads(low=4)
    return {
        **heads, **draw.experts(), "num_hidden_layers": layers, "layer_types": draw.kinds(["linear_attention", "full_attention"], layers),
        "hidden_size": draw.size(6, 70), "rope_parameters": draw.rotary(heads["head_dim"], partial=True),
        "linear_num_key_heads": keys, "linear_num_value_heads": keys * draw.size(1, 3), "linear_key_head_dim": draw.size(2, 20),
        "linear_value_head_dim": draw.size(2, 20), "linear_conv_kernel_dim": draw.size(2, 5),
        "shared_expert_intermediate_size": draw.size(1, 40), "attention_bias": draw.chance(0.3), "hidden_act": draw.activation(),
        "tie_word_embeddings": draw.chance(0.3),
    }


def qwen3_next(draw):
    changes = delta_nets(draw)
    return {
        **changes, "norm_topk_prob": draw.chance(0.5), "intermediate_size": draw.size(1, 60),
        "mlp_only_layers": [layer for layer in range(changes["num_hidden_layers"] - 1) if draw.chance(0.3)],
    }


def nemotron_h(draw):
    """Mamba-2, attention, MLPs and experts, each a layer of its own."""
    layers, groups = draw.size(2, 5), draw.size(1, 3)
    kinds = draw.kinds(["moe", draw.one("linear_attention", "full_attention"), "linear_attention", "full_attention", "mlp"][: max(2, layers)], layers)
    experts = draw.grouped_experts()
    experts.pop("n_shared_experts")
    return {
        **draw.heads(), **experts, "layers_block_type": kinds, "hidden_size": draw.size(6, 70),
        "moe_shared_expert_intermediate_size": draw.size(1, 40), "moe_latent_size": draw.one(None, draw.size(2, 30)),
        "n_groups": groups, "mamba_num_heads": groups * draw.size(1, 4), "mamba_head_dim": draw.size(1, 16), "ssm_state_size": draw.size(1, 20),
        "conv_kernel": draw.size(2, 5), "use_conv_bias": draw.chance(0.6), "use_bias": draw.chance(0.3), "mlp_bias": draw.chance(0.3),
        "chunk_size": draw.size(1, 16), "time_step_min": draw.one(0.001, 0.5), "intermediate_size": draw.size(1, 60),
        "mlp_hidden_act": draw.one("relu2", draw.activation()), "mamba_hidden_act": draw.activation(), "residual_in_fp32": draw.chance(0.3),
    }


def granitemoehybrid(draw):
    layers, groups, expand = draw.size(2, 3), draw.size(1, 2), draw.size(1, 3)
    keys, width = draw.size(1, 2), draw.even(4, 16)
    heads = keys * draw.size(1, 3)
    mamba = groups * draw.one(*[n for n in range(1, 9) if heads * width * expand % (n * groups) == 0] or [1])
    return {
        "num_hidden_layers": layers, "layer_types": draw.kinds(["linear_attention", "full_attention"], layers), "num_attention_heads": heads,
        "num_key_value_heads": keys, "hidden_size": heads * width, "mamba_expand": expand, "mamba_n_heads": mamba, "mamba_n_groups": groups,
        "mamba_d_head": heads * width * expand // mamba, "mamba_d_state": draw.size(1, 20), "mamba_d_conv": draw.size(2, 5),
        "mamba_chunk_size": draw.size(1, 16), "mamba_conv_bias": draw.chance(0.6), "mamba_proj_bias": draw.chance(0.4),
        "time_step_limit": draw.one((0.0, float("inf")), (0.1, 0.8)), **draw.experts("num_local_experts", "intermediate_size"),
        "shared_intermediate_size": draw.size(1, 40), "position_embedding_type": draw.one(None, "rope"), "hidden_act": draw.activation(),
        "embedding_multiplier": draw.number(0.5, 3), "logits_scaling": draw.number(0.5, 4), "residual_multiplier": draw.number(0.3, 1.2),
        "attention_multiplier": draw.number(0.1, 0.6), "attention_bias": draw.chance(0.3), "tie_word_embeddings": draw.chance(0.3),
    }


def jamba(draw):
    """Mamba, whose decay is one for each channel and state."""
    layers, attention, experts = draw.size(2, 4), draw.size(2, 4), draw.size(1, 2)
    return {
        **draw.hidden_of_heads(), "num_hidden_layers": layers, "attn_layer_period": attention, "attn_layer_offset": draw.size(0, attention - 1),
        "expert_layer_period": experts, "expert_layer_offset": draw.size(0, experts - 1), "mamba_d_state": draw.size(1, 20),
        "mamba_d_conv": draw.size(2, 5), "mamba_expand": draw.size(1, 3), "mamba_dt_rank": draw.size(1, 12),
        "mamba_conv_bias": draw.chance(0.6), "mamba_proj_bias": draw.chance(0.4), **draw.experts(width="intermediate_size"),
        "hidden_act": draw.activation(), "tie_word_embeddings": draw.chance(0.3),
    }


def lfm2_moe(draw):
    layers = draw.size(2, 4)
    heads = draw.hidden_of_heads()
    return {
        **heads, **draw.experts(), "num_hidden_layers": layers, "layer_types": draw.kinds(["conv", "full_attention"], layers),
        "conv_L_cache": draw.size(2, 5), "conv_bias": draw.chance(0.5), "num_dense_layers": draw.size(0, layers - 1),
        "intermediate_size": draw.size(1, 60), "use_expert_bias": draw.chance(0.5), "norm_topk_prob": draw.chance(0.5),
        "routed_scaling_factor": draw.number(0.5, 2), "rope_parameters": draw.rotary(heads["hidden_size"] // heads["num_attention_heads"]),
    }


def kimi_linear(draw):
    """Delta attention with a decay for each key channel, beside latent attention."""
    layers = draw.size(2, 3)
    return {
        **draw.latent(), **draw.grouped_experts("num_experts"), **draw.dense_and_sparse(layers), "num_hidden_layers": layers,
        "layer_types": draw.kinds(["linear_attention", "full_attention"], layers), "hidden_size": draw.size(6, 70),
        "linear_head_dim": draw.size(2, 20), "linear_num_heads": draw.size(1, 4), "linear_conv_kernel_dim": draw.size(2, 5),
        "intermediate_size": draw.size(1, 60), "attention_bias": draw.chance(0.3), "hidden_act": draw.activation(),
    }


def bailing_hybrid(draw):
    layers = draw.size(2, 3)
    latent = draw.latent()
    latent.pop("q_lora_rank")
    return {
        **latent, **draw.grouped_experts("num_experts"), **draw.dense_and_sparse(layers), "num_hidden_layers": layers,
        "layer_types": draw.kinds(["linear_attention", "full_attention"], layers), "hidden_size": draw.size(6, 70), "head_dim": draw.size(2, 20),
        "short_conv_kernel_size": draw.size(2, 5), "kda_safe_gate": draw.chance(0.5), "kda_lower_bound": draw.number(-6, -1),
        "intermediate_size": draw.size(1, 60), "hidden_act": draw.activation(), "rope_parameters": draw.rotary(latent["qk_rope_head_dim"]),
    }


def minimax(draw):
    """Lightning attention."""
    layers = draw.size(2, 3)
    heads = draw.heads()
    factors = [f"{part}_{factor}_factor" for part in ("full_attn", "linear_attn", "mlp") for factor in ("alpha", "beta")]
    return {
        **heads, **draw.experts("num_local_experts", "intermediate_size"), "num_hidden_layers": layers, "hidden_size": draw.size(6, 70),
        "layer_types": draw.kinds(["linear_attention", "full_attention"], layers), "block_size": draw.size(1, 9),
        "rope_parameters": draw.rotary(heads["head_dim"]), "hidden_act": draw.activation(), **{name: draw.number(0.5, 2) for name in factors},
    }


def inkling_text(draw):
    """Convolutions around and in attention, whose scores have a bias by distance."""
    layers, keys = draw.size(1, 3), draw.size(1, 3)
    return {
        **draw.heads(), **draw.experts("n_routed_experts"), **draw.dense_and_sparse(layers), "num_hidden_layers": layers,
        "layer_types": draw.kinds(["hybrid_sliding", "hybrid"], layers), "hidden_size": draw.size(6, 70), "swa_num_key_value_heads": keys,
        "swa_num_attention_heads": keys * draw.size(1, 3), "swa_head_dim": draw.even(2, 24), "sliding_window_size": draw.size(2, 9),
        "d_rel": draw.size(1, 10), "rel_extent": draw.size(2, 24), "log_scaling_n_floor": draw.one(None, draw.size(2, 6)),
        "conv_kernel_size": draw.size(2, 5), "intermediate_size": draw.size(1, 60), "n_shared_experts": draw.size(1, 3),
        "route_scale": draw.number(0.5, 4), "logits_mup_width_multiplier": draw.number(1, 4), "hidden_act": draw.activation(),
    }


def zaya(draw):
    """Attention behind two convolutions, and a router that hands its state on."""
    layers = draw.size(2, 3)
    heads = draw.heads(low=4)
    return {
        **heads, "num_hidden_layers": layers, "layer_types": draw.kinds(["hybrid", "hybrid_sliding"], layers), "hidden_size": draw.size(6, 70),
        "sliding_window": draw.size(2, 9), "num_experts": draw.size(2, 14), "num_experts_per_tok": 1, "moe_intermediate_size": draw.size(1, 50),
        "router_hidden_size": draw.size(2, 30), "cca_time0": draw.size(2, 5), "cca_time1": draw.size(2, 5), "attention_bias": draw.chance(0.4),
        "lm_head_bias": draw.chance(0.4), "tie_word_embeddings": draw.chance(0.5), "hidden_act": draw.activation(),
    }


FAMILIES = {
    "qwen3_next": qwen3_next, "qwen3_5_moe_text": delta_nets, "nemotron_h": nemotron_h, "granitemoehybrid": granitemoehybrid, "jamba": jamba,
    "lfm2_moe": lfm2_moe, "kimi_linear": kimi_linear, "bailing_hybrid": bailing_hybrid, "minimax": minimax, "inkling_text": inkling_text,
    "zaya": zaya,
}
