"""Sizes of the models: 300 to 500 million parameters, in the proportions of the model that each is named after.

Head sizes, state sizes and kernel widths are the real ones; what grows with the model is scaled down: the hidden size, layers, heads, experts.
"""

VOCABULARY = 8192
POSITIONS = 4096

_COMMON = {"vocab_size": VOCABULARY, "hidden_size": 1024, "max_position_embeddings": POSITIONS, "tie_word_embeddings": False,
           "bos_token_id": None, "eos_token_id": None, "pad_token_id": None}  # fmt: skip

# name -> (transformers' model type, sizes).
FAMILIES = {
    # 3 of 4 layers are gated delta nets, twice as many value heads as key heads.
    "qwen3-next": ("qwen3_next", {
        **_COMMON, "num_hidden_layers": 12, "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 256, "intermediate_size": 2816,
        "linear_num_key_heads": 8, "linear_num_value_heads": 16, "linear_key_head_dim": 128, "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4,
        "num_experts": 32, "num_experts_per_tok": 4, "moe_intermediate_size": 256, "shared_expert_intermediate_size": 256, "norm_topk_prob": True,
    }),
    # Layers of Mamba-2, of experts (two matrices, squared relu) and few of attention.
    "nemotron-h": ("nemotron_h", {
        **_COMMON, "hybrid_override_pattern": "MEME*MEME*MEME", "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 128,
        "mamba_num_heads": 32, "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 4, "conv_kernel": 4, "chunk_size": 128, "intermediate_size": 1536,
        "n_routed_experts": 32, "num_experts_per_tok": 3, "moe_intermediate_size": 768, "moe_shared_expert_intermediate_size": 1536,
        "n_shared_experts": 1, "n_group": 1, "topk_group": 1, "norm_topk_prob": True, "routed_scaling_factor": 2.5, "use_mamba_kernels": False,
    }),
    # Latent attention; routing to groups of experts; a first layer without experts.
    "deepseek-v3": ("deepseek_v3", {
        **_COMMON, "num_hidden_layers": 12, "num_attention_heads": 8, "num_key_value_heads": 8, "q_lora_rank": 384, "kv_lora_rank": 256,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "intermediate_size": 2560, "first_k_dense_replace": 1,
        "n_routed_experts": 32, "num_experts_per_tok": 4, "moe_intermediate_size": 288, "n_shared_experts": 1, "n_group": 4, "topk_group": 2,
        "norm_topk_prob": True, "routed_scaling_factor": 2.5,
    }),
    # Sinks; every other layer sees 128 tokens; experts as wide as the model, with biases. The ramp of the rotary frequencies is that of gpt-oss with its ends
    # rounded ("truncate"), which is the only one that llama.cpp has.
    "gpt-oss": ("gpt_oss", {
        **_COMMON, "hidden_size": 768, "num_hidden_layers": 6, "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 64, "sliding_window": 128,
        "num_local_experts": 32, "num_experts_per_tok": 4, "intermediate_size": 768,
        "rope_parameters": {"rope_type": "yarn", "rope_theta": 150000.0, "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": True,
                            "original_max_position_embeddings": 4096},
    }),
}  # fmt: skip


def configuration(family, **changes):
    """transformers' configuration of a family, with `changes` applied."""
    from transformers import AutoConfig

    model_type, sizes = FAMILIES[family]
    return AutoConfig.for_model(model_type, **{**sizes, **changes})
