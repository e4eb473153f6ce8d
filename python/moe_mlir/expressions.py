"""Activations of experts as text, for those that have no name: what `activation: str` of `moe_mlir::experts` may also be.

    activation = "expr:" expression
    expression = "gate" | "up" | number | "(" operator " " expression { " " expression } ")"

A gated expert has both values, one without a gate has only `up`. Operators of one value are the keys of `UNARY`, of two
values those of `BINARY`; a number is as Python writes a finite float. An expression has at most `MAX_LENGTH` characters
and `MAX_DEPTH` nested parentheses. The compiler reads the same (lib/Conversion/AtenToGraph/ExpertExpression.cpp).

    expr:(mul (silu (min gate 10.0)) (max (min up 10.0) -10.0))
"""

import math
import re

from .errors import UnsupportedError

PREFIX = "expr:"
MAX_LENGTH = 4096
MAX_DEPTH = 64

UNARY = (
    "neg", "abs", "exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "square", "sin", "cos", "sigmoid", "tanh", "erf", "relu",
    "silu", "gelu", "gelu_tanh", "softplus",
)  # fmt: skip
BINARY = ("add", "sub", "mul", "div", "pow", "min", "max")

_TOKEN = re.compile(r"[()]|[^\s()]+")


def number(value):
    """The text of a finite number; `UnsupportedError` for others."""
    value = float(value)
    if not math.isfinite(value):
        raise UnsupportedError(f"an activation with the number {value} is not supported")
    return repr(value)


def parse(text):
    """The tree of `text` without its prefix: a name, a float, or (operator, tree, ...)."""
    if len(text) > MAX_LENGTH:
        raise UnsupportedError(f"an activation of more than {MAX_LENGTH} characters is not supported")
    tokens = [(match.start(), match.group()) for match in _TOKEN.finditer(text)]
    at = 0

    def fail(place, what):
        raise UnsupportedError(f"activation '{PREFIX}{text}', character {place}: {what}")

    def read(depth):
        nonlocal at
        if at == len(tokens):
            fail(len(text), "the expression ends here")
        place, token = tokens[at]
        at += 1
        if token in ("gate", "up"):
            return token
        if token != "(":
            try:
                return float(number(token))
            except ValueError:
                fail(place, f"expected gate, up, a number or (; got '{token}'")
        if depth == MAX_DEPTH:
            fail(place, f"more than {MAX_DEPTH} nested parentheses")
        place, name = tokens[at] if at < len(tokens) else (len(text), "")
        at += 1
        count = 1 if name in UNARY else 2 if name in BINARY else fail(place, f"there is no operator '{name}'")
        operands = [read(depth + 1) for _ in range(count)]
        place, token = tokens[at] if at < len(tokens) else (len(text), "")
        at += 1
        if token != ")":
            fail(place, f"expected ) behind {count} operand(s) of {name}; got '{token}'")
        return (name, *operands)

    tree = read(0)
    if at < len(tokens):
        fail(tokens[at][0], "expected the end")
    return tree


def _functions():
    import torch
    import torch.nn.functional as F

    named = {"erf": torch.special.erf, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "min": torch.minimum,
             "max": torch.maximum}  # fmt: skip
    return {
        name: named.get(name) or getattr(F, name, None) or getattr(torch, name)
        for name in (*UNARY, *BINARY)
        if name != "softplus"
    } | {"softplus": F.softplus}


def evaluate(text, gate, up):
    """Value of `text`, which has the prefix, for tensors `gate` (None without a gate) and `up`; in f32, or wider if they are.

    The result is rounded once, to the type of `up`.
    """
    import torch

    functions = _functions()
    wide = torch.promote_types(up.dtype, torch.float32)
    values = {"up": up.to(wide), "gate": None if gate is None else gate.to(wide)}

    def run(tree):
        if isinstance(tree, str):
            if values[tree] is None:
                raise UnsupportedError(f"activation '{text}' reads a gate, and the experts have none")
            return values[tree]
        if isinstance(tree, float):
            return torch.full((), tree, dtype=wide, device=up.device)
        return functions[tree[0]](*[run(operand) for operand in tree[1:]])

    result = run(parse(text.removeprefix(PREFIX)))
    return result.expand(up.shape).to(up.dtype)
