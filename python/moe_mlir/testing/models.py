"""Tiny random models of the supported families, with weights of unit gain.

The library's default initialisation (standard deviation 0.02) makes the experts' outputs so small that a wrong MoE
layer hides behind the residual. Here every matrix keeps the size of what it multiplies, so each layer contributes as
much as the residual does.
"""

import math

import torch

from .. import hf

# Sizes shared by the families; head_dim is stated because it need not be hidden_size / heads.
_COMMON = {
    "vocab_size": 331,
    "hidden_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 256,
    "tie_word_embeddings": False,
    "bos_token_id": None,
    "eos_token_id": 2,
    "pad_token_id": None,
}
_FAMILIES = {
    "mixtral": {"intermediate_size": 80, "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": None},
    "qwen3_moe": {
        "intermediate_size": 144,
        "moe_intermediate_size": 48,
        "num_experts": 16,
        "num_experts_per_tok": 4,
        "norm_topk_prob": True,
        "mlp_only_layers": [1],
        "decoder_sparse_step": 1,
    },
    # OLMoE's key norm has hidden_size / heads per key head, so head_dim must be that.
    "olmoe": {"intermediate_size": 48, "num_experts": 16, "num_experts_per_tok": 4, "norm_topk_prob": False},
}


def tiny_config(family, **changes):
    """Configuration of `family` ("mixtral", "qwen3_moe", "olmoe") with `changes` applied."""
    from transformers import AutoConfig

    return AutoConfig.for_model(family, **{**_COMMON, **_FAMILIES[family], **changes})


def build(config, *, dtype=torch.float32, seed=0):
    """Model of `config` in evaluation mode with seeded weights of unit gain, drawn in float32 and rounded to `dtype`.

    Its experts run as transformers' plain loop, which works in every precision.
    """
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    unit_gain(model, seed)
    model.set_experts_implementation("eager")
    return hf.cast(model, dtype).eval()


def tiny_model(family, *, dtype=torch.float32, seed=0, **changes):
    """`build` of `tiny_config`."""
    return build(tiny_config(family, **changes), dtype=dtype, seed=seed)


def unit_gain(model, seed=0):
    """Fill the model's parameters in place.

    Matrices get variance 1 / inputs, embeddings 1, vectors (norm weights) 1 +- 0.1, biases 0.1 times a normal variable.
    """
    generator = torch.Generator().manual_seed(seed)
    transposed = {id(p) for _, m in hf.experts_modules(model) if m.is_transposed for p in m.parameters()}
    embedding = model.get_input_embeddings().weight
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            normal = torch.randn(parameter.shape, generator=generator)
            if parameter is embedding:
                parameter.copy_(normal)
            elif name.endswith("bias"):
                parameter.copy_(0.1 * normal)
            elif parameter.dim() == 1:
                parameter.copy_(1 + 0.1 * normal)
            else:
                inputs = parameter.shape[-2 if id(parameter) in transposed else -1]
                parameter.copy_(normal / math.sqrt(inputs))
    return model
