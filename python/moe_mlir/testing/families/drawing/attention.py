"""Drawn configurations of families with latent attention, sinks and indexers: functions of a `Source`."""


def _latent(draw, queries=True):
    layers = draw.size(1, 3)
    latent = draw.latent(queries)
    return {
        **latent, "head_dim": latent["qk_rope_head_dim"], **draw.grouped_experts(), "num_hidden_layers": layers, "hidden_size": draw.size(6, 70), "intermediate_size": draw.size(1, 60),
        "rope_parameters": draw.rotary(latent["qk_rope_head_dim"]), "attention_bias": draw.chance(0.3), "hidden_act": draw.activation(),
        "tie_word_embeddings": draw.chance(0.3),
    }


def deepseek_v3(draw):
    changes = _latent(draw)
    return {**changes, "first_k_dense_replace": draw.size(0, changes["num_hidden_layers"] - 1), "rope_interleave": draw.chance(0.5)}


def mistral4(draw):
    changes = deepseek_v3(draw)
    changes.pop("rope_parameters")  # of its own kind, with a scale of queries by their position
    return {**changes, "head_dim": changes["qk_nope_head_dim"] + changes["qk_rope_head_dim"]}


def latent_by_layer(draw, queries=False):
    """With dense and sparse layers in any order."""
    changes = _latent(draw, queries)
    return {**changes, **draw.dense_and_sparse(changes["num_hidden_layers"]), "rope_interleave": draw.chance(0.5)}


def glm4_moe_lite(draw):
    return latent_by_layer(draw, queries=True)


def indexed(draw):
    """Latent attention to the keys that an indexer chooses."""
    changes = _latent(draw, queries=False)
    return {
        **changes, **draw.dense_and_sparse(changes["num_hidden_layers"]), "index_topk": draw.size(1, 6), "index_n_heads": draw.size(6, 16),
        "index_head_dim": changes["qk_rope_head_dim"] + draw.size(0, 12),
    }


def glm_moe_dsa(draw):
    changes = indexed(draw)
    return {**changes, "indexer_types": ["full"] + [draw.one("full", "shared") for _ in range(changes["num_hidden_layers"] - 1)]}


def axk2(draw):
    changes = indexed(draw)
    if draw.chance(0.5):
        changes.update(n_group=None, topk_group=None)
    return {**changes, "gated_norm_rank": draw.size(1, 12)}


def dots3_note_text(draw):
    """Besides, sliding windows with latents of other sizes."""
    changes, sliding = indexed(draw), draw.latent(queries=False)
    changes.pop("rope_parameters")
    window = {f"swa_{name}": sliding[name] for name in ("num_attention_heads", "num_key_value_heads", "q_lora_rank", "kv_lora_rank",
                                                       "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")}
    return {
        **changes, **window, "swa_head_dim": sliding["qk_nope_head_dim"] + sliding["qk_rope_head_dim"], "sliding_window": draw.size(1, 9),
        "head_dim": changes["qk_nope_head_dim"] + changes["qk_rope_head_dim"], "shared_experts_intermediate_size": draw.size(1, 40),
        "layer_types": draw.kinds(["indexed_attention", "sliding_attention"], changes["num_hidden_layers"]),
    }


def minimax_m3_vl_text(draw):
    """An indexer that chooses blocks of keys, for each key head."""
    layers = draw.size(1, 3)
    heads = draw.heads(low=4)
    return {
        **heads, **draw.experts("num_local_experts", "intermediate_size"), **draw.dense_and_sparse(layers), "num_hidden_layers": layers,
        "layer_types": draw.kinds(["minimax_m3_sparse", "full_attention"], layers), "hidden_size": draw.size(6, 70),
        "dense_intermediate_size": draw.size(1, 60), "shared_intermediate_size": draw.size(1, 40), "index_n_heads": heads["num_key_value_heads"],
        "index_head_dim": heads["head_dim"], "index_block_size": draw.size(1, 5), "index_topk_blocks": draw.size(1, 4),
        "index_local_blocks": draw.size(0, 2), "rotary_dim": draw.even(2, heads["head_dim"]), "swiglu_alpha": draw.number(1, 2),
        "swiglu_limit": draw.number(0.5, 7), "routed_scaling_factor": draw.number(0.5, 3),
    }


def _windows(draw, **options):
    layers = draw.size(1, 3)
    return {
        **draw.heads(**options), "num_hidden_layers": layers, "layer_types": draw.kinds(["sliding_attention", "full_attention"], layers),
        "sliding_window": draw.size(1, 9), "hidden_size": draw.size(6, 70), "tie_word_embeddings": draw.chance(0.3),
    }


def gpt_oss(draw):
    changes = _windows(draw, low=4)
    return {
        **changes, **draw.experts("num_local_experts", "intermediate_size"), "rope_parameters": draw.rotary(changes["head_dim"]),
        "swiglu_alpha": draw.number(1, 2), "swiglu_limit": draw.number(0.5, 7), "attention_bias": draw.chance(0.6),
    }


def mimo_v2_flash(draw):
    """Sinks in the windows alone, which have twice as many key heads; values of another width than keys."""
    changes = _windows(draw, low=4)
    changes["num_attention_heads"] = 2 * changes["num_key_value_heads"] * draw.size(1, 2)
    return {
        **changes, **draw.grouped_experts(), **draw.dense_and_sparse(changes["num_hidden_layers"]), "v_head_dim": draw.size(1, 24),
        "attention_value_scale": draw.one(None, draw.number(0.4, 1.5)), "attention_bias": draw.chance(0.3), "hidden_act": draw.activation(),
        "intermediate_size": draw.size(1, 60),
        "rope_parameters": {
            kind: {"rope_type": "default", "rope_theta": draw.one(1e4, 5e5), "partial_rotary_factor": draw.even(2, changes["head_dim"]) / changes["head_dim"]}
            for kind in ("full_attention", "sliding_attention")
        },
    }


def granitemoe_swa(draw):
    changes = _windows(draw, low=4)
    layers = changes["num_hidden_layers"]
    changes["hidden_size"] = changes["num_attention_heads"] * changes.pop("head_dim")
    return {
        **changes, **draw.experts("num_local_experts", "intermediate_size"), "shared_intermediate_size": draw.one(0, draw.size(1, 40)),
        "layer_rope_theta": [draw.one(0, 1e4, 5e5) for _ in range(layers)], "embedding_multiplier": draw.number(0.5, 3),
        "logits_scaling": draw.number(0.5, 4), "residual_multiplier": draw.number(0.3, 1.2), "attention_multiplier": draw.number(0.1, 0.6),
        "attention_bias": draw.chance(0.3), "hidden_act": draw.activation(),
    }


def flint(draw):
    changes = _windows(draw, low=4)
    return {
        **changes, **draw.experts(), "mlp_only_layers": [layer for layer in range(changes["num_hidden_layers"] - 1) if draw.chance(0.3)],
        "intermediate_size": draw.size(1, 60), "shared_expert_intermediate_size": draw.size(1, 40), "norm_topk_prob": draw.chance(0.5),
        "attention_bias": draw.chance(0.3), "hidden_act": draw.activation(), "rope_parameters": draw.rotary(changes["head_dim"]),
    }


FAMILIES = {
    "deepseek_v3": deepseek_v3, "glm4_moe_lite": glm4_moe_lite, "mistral4": mistral4, "axk1": latent_by_layer, "deepseek_v32": indexed,
    "glm_moe_dsa": glm_moe_dsa, "axk2": axk2, "dots3_note_text": dots3_note_text, "minimax_m3_vl_text": minimax_m3_vl_text,
    "gpt_oss": gpt_oss, "mimo_v2_flash": mimo_v2_flash, "granitemoe_swa": granitemoe_swa, "flint": flint,
}
