"""Tiny random models of the families."""

import math

import torch

from .configurations import small_config


def small_model(family, seed=0, **changes):
    """Model with eager attention and seeded weights: no part of it is too small to be seen in the logits."""
    import transformers

    made = getattr(transformers, _classes()[family])
    model = made._from_config(small_config(family, **changes), dtype=torch.float32, attn_implementation="eager").eval()
    generator = torch.Generator().manual_seed(seed)
    buffers = [(name, b) for name, b in model.named_buffers() if b.is_floating_point() and "bias" in name]
    with torch.no_grad():
        for name, tensor in [*model.named_parameters(), *buffers]:
            normal = torch.randn(tensor.shape, generator=generator)
            if name.endswith("A_log"):
                tensor.copy_(0.3 * normal - 1.5)  # states that last for some tokens
            elif name.endswith("bias"):
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


def _classes():
    """Family -> class of its language model. Some stand among the models of images and text alone."""
    from transformers.models.auto import modeling_auto

    others = modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES.items()
    return {**{family: name for family, name in others if name.endswith("ForCausalLM")},
            **modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES}


def moe_families():
    """Names of the families of language models whose configuration counts experts, itself or in a part of it."""
    from transformers import CONFIG_MAPPING

    counts = {"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "n_experts"}

    def has_experts(made):
        parts = getattr(made, "sub_configs", {})
        if "text_config" in parts:
            return False  # whose language model is a family of its own
        fields = {*getattr(made, "__dataclass_fields__", ()), *getattr(made, "attribute_map", {})}
        return bool(counts & fields) or any(map(has_experts, parts.values()))

    return sorted(family for family in _classes() if has_experts(CONFIG_MAPPING[family]))
