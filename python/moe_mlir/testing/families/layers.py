"""How many layers of each kind a configuration says there are, and how many a graph has."""

import re

# Kind of layer -> operation of level `graph` that it becomes.
OPERATIONS = {
    "gates": "moe.gate", "experts": "moe.expert", "attention": "nn.attention", "scans": "nn.scan", "convolutions": "nn.causal_conv",
}
_WITHOUT_ATTENTION = {"linear_attention", "conv", "moe", "mlp"}


def expected_layers(model):
    """Kind -> number, as the model's configuration says."""
    config = model.config.get_text_config()
    kinds = getattr(config, "layer_types", None) or ["full_attention"] * config.num_hidden_layers
    experts = _sparse_layers(config)
    recurrent = kinds.count("linear_attention")
    return {
        "gates": experts, "experts": experts, "attention": sum(kind not in _WITHOUT_ATTENTION for kind in kinds), "scans": recurrent,
        "convolutions": len(_convolutions(model)),
    }


def _convolutions(model):
    """Name -> module of each convolution by channels. Its window and its channels stand there alone."""
    return {name: m for name, m in model.named_modules()
            if type(m).__name__.startswith("Conv") and getattr(m, "groups", 1) == m.in_channels}


def dilated_convolutions(model):
    """Names of the modules."""
    return [name for name, module in _convolutions(model).items() if set(module.dilation) != {1}]


def _sparse_layers(config):
    layers = config.num_hidden_layers
    by_layer = getattr(config, "mlp_layer_types", None)
    if by_layer is not None:
        return sum(kind != "dense" for kind in by_layer)
    if getattr(config, "layers_num_experts", None) is not None:
        return sum(number > 1 for number in config.layers_num_experts)
    if "moe" in (getattr(config, "layer_types", None) or ()):
        return config.layer_types.count("moe")
    if getattr(config, "moe_layers", None) is not None:
        return len(config.moe_layers)
    if getattr(config, "mlp_only_layers", None) is not None:
        return layers - len(config.mlp_only_layers)
    if getattr(config, "moe_layer_end_index", None) is not None:
        return config.moe_layer_end_index - config.moe_layer_start_index + 1
    if getattr(config, "zero_expert_num", None) is not None:
        return config.num_layers  # each with two attentions
    for first in ("num_dense_layers", "first_k_dense_replace"):
        if getattr(config, first, None) is not None:
            return layers - getattr(config, first)
    return layers


def layers_in(graph):
    """Kind -> number in the text of a module at level `graph`."""
    return {kind: len(re.findall(rf"= {re.escape(name)}\b(?!\.)", graph)) for kind, name in OPERATIONS.items()}
