"""Hook into Hugging Face transformers: experts as one op.

`register()` adds the experts implementation "moe_mlir" to transformers' public registry. A model that selects it,

    moe_mlir.hf.register()
    model.set_experts_implementation("moe_mlir")

calls one `moe_mlir::experts` op per MoE layer. The router stays what it is.
"""

from . import activations
from .errors import UnsupportedError

IMPLEMENTATION = "moe_mlir"


def register():
    """Register the experts implementation; calling it again changes nothing."""
    from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS

    from . import ops  # noqa: F401  (defines the op)

    ALL_EXPERTS_FUNCTIONS.register(IMPLEMENTATION, experts_forward)


def experts_forward(module, hidden_states, top_k_index, top_k_weights):
    """Forward of an experts module of transformers: `[T, H]`, `[T, k]`, `[T, k]` -> `[T, H]`."""
    from . import ops

    layout = expert_layout(module)
    first = "gate_up_proj" if layout["gated"] else "up_proj"
    bias = module.has_bias
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
    compared with every activation that `moe_mlir::experts` knows, on values that separate them.
    """
    known = getattr(module, "_moe_mlir_layout", None)
    if known is None:
        known = _probe(module)
        module._moe_mlir_layout = known
    return known


def _probe(module):
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    kind = type(module).__name__
    if module.has_post_expert_norm:
        raise UnsupportedError(f"experts of '{kind}' normalise after each expert, which is not supported")
    if module._is_expert_parallel:
        raise UnsupportedError(
            f"experts of '{kind}' are sharded over ranks: export the model before it is parallelised"
        )
    gated = bool(module.has_gate)
    # Called while a graph is traced: the probe must run on real tensors all the same.
    with _disable_current_modes(), torch.no_grad():
        generator = torch.Generator().manual_seed(0)
        pre = 6 * torch.randn(64, 32, generator=generator, dtype=torch.float64)
        actual = module._apply_gate(pre) if gated else module.act_fn(pre)
        for interleaved in (False, True) if gated else (False,):
            for name in activations.names(gated):
                expected = activations.apply(name, pre, gated, interleaved)
                if actual.shape == expected.shape and torch.allclose(actual, expected, rtol=1e-9, atol=1e-9):
                    return {
                        "activation": name,
                        "gated": gated,
                        "interleaved": interleaved,
                        "transposed": bool(module.is_transposed),
                    }
    raise UnsupportedError(
        f"experts of '{kind}' use an activation that is not known "
        f"({'own gate function' if gated else type(module.act_fn).__name__}); "
        f"known are: {', '.join(activations.names(gated))}"
    )


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
    """
    saved = model.state_dict(keep_vars=True).keys()
    for module_name, module in model.named_modules():
        prefix = module_name + "." if module_name else ""
        for name, parameter in module.named_parameters(recurse=False):
            if parameter.is_floating_point():
                parameter.data = parameter.data.to(dtype)
        for name, buffer in module.named_buffers(recurse=False):
            if prefix + name in saved and buffer.is_floating_point():
                setattr(module, name, buffer.to(dtype))
    model.config.dtype = dtype
    return model
