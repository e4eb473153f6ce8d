"""Lightning attention (linear attention whose heads decay at fixed rates), as `moe_mlir::scan`."""

import contextlib

import torch
import torch.nn.functional as F

from ... import ops
from .functions import TOLERANCE, check_close, drawn

# Of a dtype below float32, in which the original adds its state up and ours does not.
ROUNDINGS = 8
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


class _Kept:
    """What a layer keeps in a cache of MiniMax."""

    def __init__(self, state):
        self.state = state

    def get_linear_cache(self, layer):
        return self.state

    def set_linear_cache(self, layer, state):
        self.state = state


def _compare(name, module):
    """In the dtype of the module, whose rates and products are rounded to it: below float32 the tolerance is some roundings."""
    dtype = module.qkv_proj.weight.dtype
    tolerance = TOLERANCE if dtype == torch.float32 else ROUNDINGS * torch.finfo(dtype).eps
    heads, width = module.num_attention_heads, module.head_dim
    with torch.no_grad():
        for length, kept in ((1, False), (module.block_size + 3, False), (1, True), (5, True)):
            x = drawn(1, 2, length, module.qkv_proj.in_features).to(dtype)
            state = drawn(2, 2, heads, width, width).to(dtype)
            caches = [_Kept(state.clone()) if kept else None for _ in range(2)]
            wanted, got = module.forward(x, None, None, caches[0]), _forward(module, x, past_key_values=caches[1])
            if kept:
                wanted, got = (*wanted, caches[0].state), (*got, caches[1].state)
            for a, b in zip(wanted, got, strict=True):
                check_close(a, b, f"'{name}' ({type(module).__name__})", tolerance)
