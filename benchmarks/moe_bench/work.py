"""What one call of a model has to do: floating-point operations and bytes read, counted by hooks on the PyTorch model.

Counted are matrix products, expert weights that the routing of this call really uses, attention over the tokens that exist, and the cache. Norms, rotary
embeddings and activations are left out: they are small, and the floor must not be overstated.
"""

import torch


def products(model, call, most_rows=None):
    """(flops, bytes) of the matrix products and embeddings of `call()`.

    most_rows  that a matrix has to be multiplied with at a time, where the model may multiply it with more than the call's own tokens
    """
    flops = bytes_ = 0
    handles = []

    def dense(module, inputs, outputs):
        nonlocal flops, bytes_
        weight = module.weight
        rows = inputs[0].numel() // weight.shape[1]
        rows = rows if most_rows is None else min(rows, most_rows)
        flops += 2 * rows * weight.numel()
        bytes_ += weight.numel() * weight.element_size()

    def gather(module, inputs, outputs):
        nonlocal bytes_
        bytes_ += outputs.numel() * outputs.element_size()

    def experts(module, inputs):
        nonlocal flops, bytes_
        ids = inputs[1]
        weights = [p for p in module.parameters(recurse=False) if p.dim() == 3]
        per_expert = sum(p.numel() // p.shape[0] for p in weights)
        flops += 2 * ids.numel() * per_expert
        bytes_ += ids.unique().numel() * per_expert * weights[0].element_size()

    for module in model.modules():
        own = dict(module.named_parameters(recurse=False))
        if isinstance(module, torch.nn.Embedding):
            handles.append(module.register_forward_hook(gather))
        elif hasattr(module, "down_proj") and own:
            handles.append(module.register_forward_pre_hook(experts))
        elif "weight" in own and own["weight"].dim() == 2:
            handles.append(module.register_forward_hook(dense))
    try:
        call()
    finally:
        for handle in handles:
            handle.remove()
    return flops, bytes_


def count(model, call, batch, position, new_tokens):
    """{"flops", "bytes"} of `call()`: `new_tokens` per row at `position`; logits of the last token only."""
    flops, bytes_ = products(model, call)
    config = model.config.get_text_config()
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    visible = sum(position + i + 1 for i in range(new_tokens))
    flops += 4 * config.num_hidden_layers * batch * config.num_attention_heads * head_dim * visible
    cached = 2 * batch * config.num_key_value_heads * head_dim * (position + new_tokens)
    bytes_ += config.num_hidden_layers * cached * model.dtype.itemsize
    return {"flops": flops, "bytes": bytes_}
