"""Hook into Hugging Face transformers: experts as one op.

`register()` adds the experts implementation "moe_mlir" to transformers' public registry. A model that selects it,

    moe_mlir.hf.register()
    model.set_experts_implementation("moe_mlir")

calls one `moe_mlir::experts` op per MoE layer. The router stays what it is.
"""

import re

from .errors import UnsupportedError

IMPLEMENTATION = "moe_mlir"


def register():
    """Register the experts implementation; calling it again changes nothing."""
    from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS

    from . import ops  # noqa: F401  (defines the op)

    ALL_EXPERTS_FUNCTIONS.register(IMPLEMENTATION, experts_forward)


def experts_forward(module, hidden_states, top_k_index, top_k_weights):
    """Forward of an experts module of transformers: `[T, H]`, `[T, k]`, `[T, k]` -> `[T, H]`."""
    import torch

    from . import ops

    layout = expert_layout(module)
    first = "gate_up_proj" if layout["gated"] else "up_proj"
    bias = module.has_bias
    if module.has_post_expert_norm:
        # What each expert gives is normalised before it is weighed: every pair is a token of its own until then.
        pairs, top_k = (-1, 1), top_k_index.shape[1]
        rows = ops.experts(
            hidden_states.repeat_interleave(top_k, dim=0),
            top_k_index.reshape(pairs),
            torch.ones_like(top_k_weights).reshape(pairs),
            getattr(module, first),
            module.down_proj,
            getattr(module, first + "_bias") if bias else None,
            module.down_proj_bias if bias else None,
            **layout,
        )
        rows = module.post_expert_norm(rows) * top_k_weights.reshape(pairs)
        return rows.view(-1, top_k, rows.shape[-1]).sum(dim=1).to(hidden_states.dtype)
    return ops.experts(
        hidden_states,
        top_k_index,
        top_k_weights,
        getattr(module, first),
        module.down_proj,
        getattr(module, first + "_bias") if bias else None,
        module.down_proj_bias if bias else None,
        **layout,
    )


def expert_layout(module):
    """`activation`, `gated`, `interleaved` and `transposed` of an experts module, found once per module.

    A module may bring its own gate function, so names in the configuration prove nothing: the module's function is
    compared with every activation that has a name, on values that separate them, and traced if it is none of them.
    """
    known = getattr(module, "_moe_mlir_layout", None)
    if known is None:
        known = _probe(module)
        module._moe_mlir_layout = known
    return known


def _probe(module):
    from . import tracing

    kind = type(module).__name__
    if module._is_expert_parallel:
        raise UnsupportedError(
            f"experts of '{kind}' are sharded over ranks: export the model before it is parallelised"
        )
    gated = bool(module.has_gate)
    name, interleaved = tracing.trace(
        module._apply_gate if gated else module.act_fn, gated, module.down_proj.dtype, f"experts of '{kind}'"
    )
    return {
        "activation": name,
        "gated": gated,
        "interleaved": interleaved,
        "transposed": bool(module.is_transposed),
    }


def experts_modules(model):
    """`[(qualified name, module)]` of the model's experts modules, in layer order."""
    return [
        (name, module)
        for name, module in model.named_modules()
        if hasattr(module, "down_proj") and hasattr(module, "_is_expert_parallel") and hasattr(module, "num_experts")
    ]


def cast(model, dtype):
    """Cast parameters and saved buffers to `dtype`, as loading in that dtype does.

    `model.to(dtype)` also casts buffers that are not saved, such as the rotary frequencies, and so makes another model.
    Weights that a family keeps in float32, such as biases for the choice of experts, become that.
    """
    import torch

    saved = model.state_dict(keep_vars=True).keys()
    kept = _kept_in_float32(model, dtype)

    def type_of(name):
        return torch.float32 if kept and kept.search(name) else dtype

    for module_name, module in model.named_modules():
        prefix = module_name + "." if module_name else ""
        for name, parameter in module.named_parameters(recurse=False):
            if parameter.is_floating_point():
                parameter.data = parameter.data.to(type_of(prefix + name))
        for name, buffer in module.named_buffers(recurse=False):
            if prefix + name in saved and buffer.is_floating_point():
                setattr(module, name, buffer.to(type_of(prefix + name)))
    model.config.dtype = dtype
    return model


def _kept_in_float32(model, dtype):
    """What transformers looks for in the names of weights that it loads in float32 in a model of `dtype`; None if there are none."""
    import torch

    lists = []
    if dtype in (torch.float16, torch.bfloat16):
        lists.append(getattr(model, "_keep_in_fp32_modules_strict", None))
    if dtype == torch.float16:
        lists.append(getattr(model, "_keep_in_fp32_modules", None))
    names = sorted({name for names in lists for name in names or ()})
    return re.compile("|".join(name.replace("*", ".*") for name in names)) if names else None
