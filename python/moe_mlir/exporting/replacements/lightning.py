"""Lightning attention (linear attention whose heads decay at fixed rates), as `moe_mlir::scan`."""

import contextlib

import torch
import torch.nn.functional as F

from ... import ops
from .functions import check_close, drawn

_PARTS = ("qkv_proj", "out_proj", "output_gate", "norm", "slope_rate", "query_decay", "key_decay", "diagonal_decay")


def _forward(module, hidden_states, position_embeddings=None, attention_mask=None, past_key_values=None, **kwargs):
    batch, steps = hidden_states.shape[:2]
    heads, width = module.num_attention_heads, module.head_dim
    qkv = module.act_fn(module.qkv_proj(hidden_states))
    if attention_mask is not None:
        qkv = qkv * attention_mask[:, :, None].to(qkv.dtype)
    query, key, value = qkv.reshape(batch, steps, heads, 3 * width).split(width, dim=3)
    state = past_key_values.get_linear_cache(module.layer_idx) if past_key_values is not None else None
    if state is None:
        state = hidden_states.new_zeros((batch, heads, width, width), dtype=torch.float32)
    decay = (-module.slope_rate.float().reshape(heads)).expand(batch, steps, heads)
    out, state = ops.scan(query, key, value, decay, None, None, state.float())
    if past_key_values is not None:
        past_key_values.set_linear_cache(module.layer_idx, state)
    out = module.norm(out.reshape(batch, steps, heads * width))
    out = F.sigmoid(module.output_gate(hidden_states)) * out
    return module.out_proj(out), state


@contextlib.contextmanager
def replaced(model):
    """Context in which the model's lightning attention is a single op."""
    modules = [(name, module) for name, module in model.named_modules() if all(hasattr(module, part) for part in _PARTS)]
    try:
        for name, module in modules:
            _compare(name, module)
            module.forward = lambda *args, _module=module, **kwargs: _forward(_module, *args, **kwargs)
        yield
    finally:
        for _, module in modules:
            module.__dict__.pop("forward", None)


def _compare(name, module):
    with torch.no_grad():
        for length in (1, module.block_size + 3):
            x = drawn(1, 2, length, module.qkv_proj.in_features).to(module.qkv_proj.weight.dtype)
            if x.dtype == torch.float32:
                for wanted, got in zip(module.forward(x, None, None), _forward(module, x)):
                    check_close(wanted, got, f"'{name}' ({type(module).__name__})")
