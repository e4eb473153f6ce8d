"""Tiny random models of every family of causal language models in transformers, exported as plain torch.export does.

What a family's configuration is like says only its library: fields whose names are known get small values, and what does
not fit together is stated per family.
"""

import math

import torch

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
    2: "num_key_value_heads swa_num_key_value_heads linear_num_key_heads index_n_heads num_experts_per_tok num_experts_per_token "
       "moe_topk moe_k top_k_experts n_group",
    16: "head_dim v_head_dim qk_nope_head_dim swa_head_dim swa_v_head_dim index_head_dim hidden_size_per_layer_input "
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
_CHANGES = {
    "bailing_hybrid": {"num_experts_per_tok": 2, "n_group": 2},
    "dots1": {"n_shared_experts": 1},
    "gemma4_text": {"enable_moe_block": True, "num_experts": 8, "top_k_experts": 2, "moe_intermediate_size": 48},
    "hunyuan_v1_moe": {"head_dim": 16, "moe_topk": 2},
    "lfm2_moe": {"layer_types": ["conv", "full_attention", "full_attention"], "num_dense_layers": 1},
    "zaya": {"num_experts_per_tok": 1},
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


def small_model(family, seed=0, **changes):
    """Model with eager attention and seeded weights: no part of it is too small to be seen in the logits."""
    from transformers import AutoModelForCausalLM

    config = small_config(family, **changes)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32, attn_implementation="eager").eval()
    generator = torch.Generator().manual_seed(seed)
    buffers = [(name, b) for name, b in model.named_buffers() if b.is_floating_point() and "bias" in name]
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *buffers]:
            normal = torch.randn(tensor.shape, generator=generator)
            if name.endswith("bias"):
                tensor.copy_(0.1 * normal)
            elif tensor.dim() <= 1:
                tensor.copy_(1 + 0.1 * normal)
            else:
                tensor.copy_(normal if "embed_tokens" in name else normal / math.sqrt(tensor.shape[-1]))
    return model


class Logits(torch.nn.Module):
    """All logits of the model, without a cache."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, use_cache=False).logits


def moe_families():
    """Names of the families whose configuration counts experts."""
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    counts = {"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "n_experts"}
    return [family for family in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
            if counts & {*CONFIG_MAPPING[family].__dataclass_fields__, *CONFIG_MAPPING[family].attribute_map}]
