"""What a module computes between the two products of an expert, found by running it and watching each operation.

The function runs on a probe, so Python's control flow, helper modules and constants of the configuration are simply
there; what is recorded are the operations on single elements that PyTorch was asked for. An operation that is none (a
reduction, a choice that depends on the values) ends it with an error that names it.
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from . import activations, expressions
from .errors import UnsupportedError

# Relative to the largest value: what rounding in that type may change.
_TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}

_SAME = ("neg", "abs", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "square", "sin", "cos", "sigmoid", "tanh", "erf",
         "relu", "silu")  # fmt: skip
_OF_TWO = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "minimum": "min", "maximum": "max"}
_COPIES = ("_to_copy", "clone", "contiguous", "detach", "lift_fresh_copy", "alias")


class _Untraceable(Exception):
    """An operation, or a use of a tensor, that no expression has."""


class _Recorder(TorchDispatchMode):
    """Knows for each tensor that is computed from `pre` the expression of one element, over `whole`, `gate` and `up`."""

    def __init__(self, pre, gated):
        super().__init__()
        self.gated = gated
        self.dtype = pre.dtype
        self.interleaved = set()  # of the cuts that were seen
        self.known = {}  # storage -> (tensor, expression); holding the tensor keeps the storage's address its own
        self._remember(pre, "whole")

    def _remember(self, tensor, expression):
        if len(expression) > expressions.MAX_LENGTH:
            raise _Untraceable(f"an expression of more than {expressions.MAX_LENGTH} characters")
        self.known[tensor.untyped_storage().data_ptr()] = (tensor, expression)

    def expression(self, value):
        """Text for a tensor or number; None for a tensor that has nothing to do with the first product."""
        if not isinstance(value, torch.Tensor):
            return expressions.number(value)
        root, text = self.known.get(value.untyped_storage().data_ptr(), (None, None))
        if root is None:
            return None
        layout = (value.shape, value.stride(), value.storage_offset())
        if layout == (root.shape, root.stride(), root.storage_offset()):
            return text
        rows, columns = root.shape
        half = columns // 2
        cuts = {0: (False, "gate"), half: (False, "up")} if value.stride(-1) == 1 else {0: (True, "gate"), 1: (True, "up")}
        offset = value.storage_offset() - root.storage_offset()
        step = value.stride(-1) if value.dim() == 2 else 0
        if not self.gated or value.shape != (rows, half) or step not in (1, 2) or offset not in cuts or "whole" not in text:
            raise _Untraceable("a view that is neither a half nor every second column of the first product")
        interleaved, part = cuts[offset]
        self.interleaved.add(interleaved)
        return text.replace("whole", part)

    def _operand(self, value, name):
        text = self.expression(value)
        if text is not None:
            return text
        if value.numel() != 1:
            raise _Untraceable(f"{name} with a tensor of {value.numel()} elements that is no part of the first product")
        return expressions.number(value.item())

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = function(*args, **kwargs)
        flat = [value for arg in (*args, *kwargs.values()) for value in (arg if isinstance(arg, (list, tuple)) else [arg])]
        tensors = [value for value in flat if isinstance(value, torch.Tensor)]
        known = [value for value in tensors if value.untyped_storage().data_ptr() in self.known]
        if not known:
            return out
        name = str(function.name()).replace("aten::", "aten.").split(".out")[0]
        outs = out if isinstance(out, (list, tuple)) else [out]
        if not all(isinstance(value, torch.Tensor) for value in outs):
            raise _Untraceable(f"{name}, which makes a number of a tensor")
        mutates = any(argument.alias_info is not None and argument.alias_info.is_write
                      for argument in function._schema.arguments)  # fmt: skip
        if mutates:
            raise _Untraceable(f"{name}, which changes a tensor in place")
        if all(value.untyped_storage().data_ptr() in self.known for value in outs):
            return out  # views
        if len(outs) != 1 or not out.is_floating_point() or out.shape != known[0].shape:
            raise _Untraceable(name)
        self._remember(out, self._compute(function, name, args, kwargs, out))
        return out

    def _compute(self, function, name, args, kwargs, out):
        base = function.overloadpacket.__name__
        values = {}
        for number, argument in enumerate(function._schema.arguments):
            given = args[number] if number < len(args) else kwargs.get(argument.name, argument.default_value)
            values[argument.name] = given

        def text(key):
            return self._operand(values[key], name)

        if base in _COPIES:
            if out.dtype.itemsize < self.dtype.itemsize:
                raise _Untraceable(f"{name} to {str(out.dtype).removeprefix('torch.')}, which is narrower than the weights")
            return text("self")
        if base in _SAME:
            return f"({base} {text('self')})"
        if base in ("add", "sub", "rsub") and values.get("alpha", 1) == 1:
            first, second = ("other", "self") if base == "rsub" else ("self", "other")
            return f"({'sub' if base == 'rsub' else base} {text(first)} {text(second)})"
        if base in _OF_TWO and values.get("alpha", 1) == 1 and values.get("rounding_mode") is None:
            return f"({_OF_TWO[base]} {text('self')} {text('other')})"
        if base == "reciprocal":
            return f"(div 1.0 {text('self')})"
        if base == "gelu":
            return f"({'gelu_tanh' if values['approximate'] == 'tanh' else 'gelu'} {text('self')})"
        if base == "softplus":
            beta = float(values["beta"])
            return f"(softplus {text('self')})" if beta == 1 else f"(div (softplus (mul {text('self')} {beta!r})) {beta!r})"
        if base == "mish":
            return f"(mul {text('self')} (tanh (softplus {text('self')})))"
        if base == "pow":
            exponent = values["exponent"]
            if exponent == 2:
                return f"(square {text('self')})"
            if exponent == 0.5:
                return f"(sqrt {text('self')})"
            if exponent == 3:
                return f"(mul (square {text('self')}) {text('self')})"
            return f"(pow {text('self')} {text('exponent')})"
        if base in ("clamp", "clamp_min", "clamp_max", "hardtanh"):
            result = text("self")
            for which, key in (("max", "min"), ("min", "max")):
                bound = values.get(f"{key}_val" if base == "hardtanh" else key)
                if bound is not None:
                    result = f"({which} {result} {self._operand(bound, name)})"
            return result
        if base == "leaky_relu":
            slope = expressions.number(values["negative_slope"])
            return f"(add (relu {text('self')}) (mul (min {text('self')} 0.0) {slope}))"
        raise _Untraceable(name)


def _probe(rows, columns, dtype, seed):
    generator = torch.Generator().manual_seed(seed)
    return (6 * torch.randn(rows, columns, generator=generator, dtype=torch.float64)).to(dtype)


def _known_name(function, gated):
    """`(name, interleaved)` of an activation with a name that has the function's values; None if there is none."""
    pre = _probe(64, 32, torch.float64, seed=0)
    try:
        actual = function(pre.clone())
    except Exception:  # it does not compute in this type; tracing says what it does
        return None
    for interleaved in (False, True) if gated else (False,):
        for name in activations.names(gated):
            expected = activations.apply(name, pre, gated, interleaved)
            if actual.shape == expected.shape and torch.allclose(actual.double(), expected, rtol=1e-9, atol=1e-9):
                return name, interleaved
    return None


def trace(function, gated, dtype, where):
    """`(activation, interleaved)` for `function`: `[n, 2 I]` -> `[n, I]` if `gated`, else `[n, I]` -> `[n, I]`.

    dtype   in which the experts compute
    where   what the experts are called in an error
    """
    # Called while a graph is traced: the probe must run on real tensors all the same.
    with _disable_current_modes(), torch.no_grad():
        if (found := _known_name(function, gated)) is not None:
            return found
        pre = _probe(64, 32, dtype, seed=0)
        recorder = _Recorder(pre, gated)
        try:
            with recorder:
                out = function(pre)
            text = recorder.expression(out)
            if text is None or "whole" in text and gated or out.shape != (64, 16 if gated else 32):
                raise _Untraceable(f"a result of shape {list(out.shape)} from [64, 32] that is not computed element by element")
        except _Untraceable as reason:
            raise UnsupportedError(
                f"{where} compute their activation with {reason}, which is no arithmetic on single elements that is known; "
                f"known are: {', '.join((*expressions.UNARY, *expressions.BINARY))}"
            ) from None
        if len(recorder.interleaved) > 1:
            raise UnsupportedError(f"{where} cut gate and up out of their first product in two ways")
        text = text.replace("whole", "up")
        interleaved = recorder.interleaved == {True}
        for name in activations.names(gated):
            if text in (f"(mul ({name} gate) up)", f"(mul up ({name} gate))", f"({name} up)"):
                return name, interleaved
        text = expressions.PREFIX + text
        _compare(function, text, gated, interleaved, dtype, where)
        return text, interleaved


def _compare(function, text, gated, interleaved, dtype, where):
    """Raise `UnsupportedError` if the expression has other values than the function on another probe."""
    pre = _probe(64, 48, dtype, seed=1)
    actual, expected = activations.apply(text, pre, gated, interleaved).double(), function(pre.clone()).double()
    if actual.shape == expected.shape:  # both may be no number in the same places
        same = actual.isnan() & expected.isnan()
        actual, expected = actual.masked_fill(same, 0), expected.masked_fill(same, 0)
    bound = _TOLERANCE.get(dtype, _TOLERANCE[torch.bfloat16]) * max(expected.abs().max().item(), 1e-30)
    difference = (actual - expected).abs().max().item() if actual.shape == expected.shape else float("inf")
    if not difference <= bound:
        raise UnsupportedError(
            f"{where} compute another activation than what was traced of it: the largest difference is {difference:.3g}, "
            f"allowed {bound:.3g} ({text})"
        )
