"""The table of the tiny configurations, one of every family of causal language models of transformers.

What a family's configuration is like says only its library: fields whose names are known get small values, and what does not fit
together, or would leave out a kind of layer that the family has, is stated per family.
"""

# Small values by the names that the families' configurations use.
_SIZES = {
    64: "hidden_size d_model n_embd word_embed_proj_dim max_position_embeddings n_positions",
    131: "vocab_size vocab_size_per_layer_input",
    80: "intermediate_size ffn_dim n_inner ffn_hidden_size intermediate_size_mlp",
    48: "moe_intermediate_size expert_ffn_hidden_size expert_intermediate_size moe_ffn_hidden_size",
    40: "shared_expert_intermediate_size shared_intermediate_size moe_shared_expert_intermediate_size",
    4: "num_attention_heads n_head n_heads num_heads swa_num_attention_heads linear_num_value_heads sliding_window index_topk "
       "attention_chunk_size",
    3: "num_hidden_layers n_layer n_layers num_layers conv_L_cache",
    2: "num_key_value_heads swa_num_key_value_heads linear_num_key_heads num_experts_per_tok num_experts_per_token "
       "moe_topk moe_k top_k_experts n_group",
    16: "index_n_heads head_dim v_head_dim qk_nope_head_dim swa_head_dim swa_v_head_dim index_head_dim hidden_size_per_layer_input "
        "linear_key_head_dim linear_value_head_dim mamba_d_head mamba_head_dim mamba_d_state",
    8: "num_experts num_local_experts n_routed_experts moe_num_experts n_experts qk_rope_head_dim rotary_dim block_size "
       "mamba_n_heads mamba_num_heads mamba_chunk_size mamba_dt_rank",
    1: "first_k_dense_replace topk_group num_global_key_value_heads mamba_n_groups",
    24: "q_lora_rank",
    32: "kv_lora_rank global_head_dim",
    0: "num_kv_shared_layers",
}
_SMALL = {name: size for size, names in _SIZES.items() for name in names.split()}
# Fields that mean "none" by default, but without which there is no model.
_NEEDED = {"num_experts_per_tok", "n_routed_experts"}
_MIXED = ["sliding_attention", "full_attention", "sliding_attention"]
_LINEAR = ["linear_attention", "full_attention", "linear_attention"]
_FIRST_DENSE = ["dense", "sparse", "sparse"]
_TWO = {"num_hidden_layers": 2}  # no more kinds
_CHANGES = {
    "afmoe": {"global_attn_every_n_layers": 3},
    "bailing_hybrid": {"num_experts_per_tok": 2, "n_group": 2, "layer_group_size": 3},
    "beam": {"mlp_layer_types": _FIRST_DENSE},
    "cohere2_moe": {"sliding_window_pattern": 3, "first_k_dense_replace": 1},
    "dbrx": {"n_layers": 2, "attn_config": {"kv_n_heads": 2, "rope_theta": 1e4, "clip_qkv": 8.0}, "ffn_config": {"ffn_hidden_size": 48, "moe_num_experts": 8, "moe_top_k": 2}},
    "deepseek_v2": {"topk_method": "group_limited_greedy", "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1},
    "deepseek_v4": {
        "layer_types": ["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"],
        "mlp_layer_types": ["hash_moe", "moe", "moe"],
        "compress_rates": {"compressed_sparse_attention": 2, "heavily_compressed_attention": 4},
        "num_key_value_heads": 1, "partial_rotary_factor": 0.5, "hc_mult": 2, "o_groups": 2, "o_lora_rank": 16,
    },
    "doge": {"is_moe": True, "num_experts": 16},
    "dots1": {"n_shared_experts": 1, "max_window_layers": 1},
    "dots3_note_text": {
        "shared_experts_intermediate_size": 40, "swa_num_attention_heads": 4, "swa_num_key_value_heads": 4, "swa_q_lora_rank": 24,
        "swa_kv_lora_rank": 32, "swa_head_dim": 24, "swa_qk_nope_head_dim": 16, "swa_v_head_dim": 16,
    },
    "exaone_moe": {"sliding_window_pattern": 3},
    "flint": {"layer_types": _MIXED, "mlp_only_layers": [0]},
    "gemma4_text": {
        "enable_moe_block": True, "num_experts": 8, "top_k_experts": 2, "moe_intermediate_size": 48, "num_hidden_layers": 4,
        "layer_types": ["sliding_attention", "full_attention"] * 2, "num_kv_shared_layers": 2,  # a layer of each kind reuses keys and values
    },
    "glm_moe_dsa": {"indexer_types": ["full", "shared", "full"]},
    "granitemoehybrid": {"layer_types": _LINEAR, "position_embedding_type": "rope"},
    "granitemoe_swa": {"shared_intermediate_size": 40},
    "granitemoeshared": {**_TWO, "shared_intermediate_size": 40},
    "hunyuan_v1_moe": {**_TWO, "head_dim": 16, "moe_topk": 2},
    "hy_v4": {"hc_mult": 2},
    "inkling2_text": {
        "layer_types": ["hybrid_sliding", "hybrid", "hybrid_sliding"], "sliding_window_size": 4, "d_rel": 8, "rel_extent": 8,
        "unpadded_vocab_size": 131, "n_layers_per_attn_res_block": 2,
    },
    "inkling_text": {
        "layer_types": ["hybrid_sliding", "hybrid", "hybrid_sliding"], "mlp_layer_types": _FIRST_DENSE, "sliding_window_size": 4,
        "d_rel": 8, "rel_extent": 8, "logits_mup_width_multiplier": 2.0,
    },
    "jamba": {"num_hidden_layers": 4, "attn_layer_period": 4, "attn_layer_offset": 1, "use_mamba_kernels": False},
    "jetmoe": {"kv_channels": 16},
    "kimi_linear": {"layer_types": _LINEAR, "linear_head_dim": 16, "linear_num_heads": 4},
    "kolibri1": {"layer_types": _MIXED},
    "laguna": {"layer_types": ["full_attention", "sliding_attention", "full_attention"], "num_attention_heads_per_layer": [4, 8, 4]},
    "lfm2_moe": {"layer_types": ["conv", "full_attention", "conv"], "num_dense_layers": 1},
    "llama4_text": {"num_hidden_layers": 4, "interleave_moe_layer_step": 2, "num_experts_per_tok": 1, "floor_scale": 4},
    "longcat_flash": {"num_layers": 2, "zero_expert_num": 4},
    "mellum": {"layer_types": ["full_attention", "sliding_attention", "full_attention"], "mlp_layer_types": _FIRST_DENSE},
    "mimo_v2_flash": {"v_head_dim": 8},
    "minimax": {"block_size": 4},
    "minimax_m3_vl_text": {
        "layer_types": ["full_attention", "minimax_m3_sparse", "minimax_m3_sparse"], "mlp_layer_types": _FIRST_DENSE,
        "dense_intermediate_size": 80, "index_n_heads": 2, "index_block_size": 2, "index_topk_blocks": 2,
    },
    "mistral4": {**_TWO, "first_k_dense_replace": 1},
    "nemotron_h": {"ssm_state_size": 16, "n_groups": 2, "chunk_size": 4, "moe_latent_size": 32, "use_mamba_kernels": False},
    "qwen2_moe": {**_TWO, "mlp_only_layers": [0], "use_sliding_window": True},
    "qwen3_5_moe_text": {"layer_types": _LINEAR},
    "qwen3_moe": {**_TWO, "mlp_only_layers": [0]},
    "qwen3_next": {"layer_types": _LINEAR, "mlp_only_layers": [0]},
    "qwen4_exp_text": {
        "layer_types": ["linear_attention", "indexed_attention", "linear_attention"], "hc_count": 2, "hc_lowrank": 8,
        "ple_layer_ids": [1], "ple_embed_dim": 32, "heads_per_ngram": 2, "ngram_vocab_size_base": 101, "split_ngram_parts": 2,
        "make_ngram_vocab_size_divisible_by": 8, "indexer_n_heads": 16, "indexer_kv_heads": 1, "indexer_head_dim": 16,
        "indexer_budget": 4, "indexer_compress_ratio": 2,
    },
    **dict.fromkeys(["aria_text", "axk1", "deepseek_v3", "ernie4_5_moe", "flex_olmo", "glm4_moe", "glm4_moe_lite", "granitemoe", "hy_v3", "minimax_m2",
                     "mixtral", "olmoe", "phimoe", "solar_open"], _TWO),
    "zaya": {"num_experts_per_tok": 1, "layer_types": ["hybrid", "hybrid_sliding", "hybrid"], "sliding_window": 4, "router_hidden_size": 32},
}


def small_config(family, **changes):
    """Configuration of `family` with small sizes and `changes` applied."""
    from transformers import CONFIG_MAPPING

    made = CONFIG_MAPPING[family]
    default = dict(made().__dict__)
    if default.get("text_config") is not None:
        return made(text_config=small_config(default["text_config"].model_type, **changes))
    aliases = getattr(made, "attribute_map", {})
    values = {"pad_token_id": None, "bos_token_id": None, "eos_token_id": 2}
    for name, size in _SMALL.items():
        old = default.get(name)
        known = isinstance(old, int) and not isinstance(old, bool) or (name in default and name in _NEEDED)
        if known and not (name in aliases and aliases[name] in _SMALL):
            values[name] = size
    if default.get("n_group") in (None, 1):
        values.pop("n_group", None)
    if default.get("num_key_value_heads") == default.get("num_attention_heads") and "num_key_value_heads" in values:
        values["num_key_value_heads"] = values.get("num_attention_heads", 4)
    if "qk_rope_head_dim" in default and "head_dim" in values:
        values["head_dim"] = values["qk_rope_head_dim"]  # of which the rotary embedding makes its table
    return made(**{**values, **_CHANGES.get(family, {}), **changes})
