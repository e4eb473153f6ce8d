"""Operands of different types meet in the type that PyTorch promotes them to, and are rounded to it: vectors, tensors without
dimensions and numbers of drawn types, beside PyTorch. So are elements that get a type before they are summed."""

import random

import pytest
import torch
from op_program import Operators

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["bool", "int8", "int16", "int32", "int64"]
# Numbers that a narrower type rounds to one beside them, or to a part of them.
NEAR = {True: [1.0, 256.0, 0.1, 16777216.0, 2048.0, 0.0], False: [1, 256, 257, 16777217, 2049, 2**31 + 4]}
SINGLE = {True: [1.0039, 0.1, 257.0, 16777217.0, 1e-50], False: [257, 2**31 + 4, 1, 2049, 16777217]}
COMPARISONS = ["torch.eq", "torch.ne", "torch.lt", "torch.le", "torch.gt", "torch.ge", "torch.logical_and", "torch.logical_xor"]
ARITHMETIC = ["torch.add", "torch.mul", "torch.maximum", "torch.minimum", "torch.sub"]
BITS = ["torch.bitwise_and", "torch.bitwise_or", "torch.bitwise_xor"]


def make_inputs(turn):
    """A vector and a tensor without dimensions of each type."""
    inputs = {}
    for dtype in FLOATS + INTEGERS:
        near, single = NEAR[dtype in FLOATS], SINGLE[dtype in FLOATS]
        wide = torch.float64 if dtype in FLOATS else torch.int64
        inputs[f"v_{dtype}"] = torch.tensor(near, dtype=wide).to(getattr(torch, dtype)).roll(turn)
        inputs[f"s_{dtype}"] = torch.tensor(single[turn % len(single)], dtype=wide).to(getattr(torch, dtype))
    return inputs


def draw():
    """Functions of pairs of inputs, at least one of them a vector, by their texts."""
    rng, texts = random.Random(0), []
    for name in COMPARISONS + ARITHMETIC + BITS:
        types = [t for t in INTEGERS + FLOATS if (name not in BITS or t in INTEGERS) and (name != "torch.sub" or t != "bool")]
        for _ in range(14):
            pair = [rng.choice("vvs") + "_" + rng.choice(types) for _ in range(2)]
            texts.append((name, *pair))
    # Both of these are told apart by the second operand having dimensions.
    texts += [("torch.mul", "v_bfloat16", "s_int64"), ("torch.div", "v_bfloat16", "s_int64"), ("torch.div", "v_int64", "v_bfloat16")]
    texts += [("torch.floor_divide", "v_bfloat16", "s_int64"), ("torch.floor_divide", "v_int64", "v_bfloat16")]
    functions = {}
    for number, (name, first, second) in enumerate(texts):
        arguments = ", ".join(dict.fromkeys((first, second)))
        functions[f"{number}_{name}_{first}_{second}"] = eval(f"lambda {arguments}: {name}({first}, {second})")
    for dtype in FLOATS + INTEGERS:
        for symbol in ("==", "<", ">=") if dtype != "bool" else ("==",):
            for number in (0.1, 257.0, 16777216.0):
                functions[f"{symbol}_{number}_{dtype}"] = eval(f"lambda v_{dtype}: v_{dtype} {symbol} {number}")
    for dtype in INTEGERS[1:]:  # a number that does not fit wraps
        for symbol, number in (("==", 257), (">", 200), ("<", 2**31 + 4), ("!=", 65537)):
            functions[f"{symbol}_{number}_{dtype}"] = eval(f"lambda v_{dtype}: v_{dtype} {symbol} {number}")
    return functions


def test_promotion(tmp_path):
    operators = Operators(draw(), make_inputs(0), {}, tmp_path)
    for turn in range(5):
        operators.check(make_inputs(turn), tolerance=0)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_dtype_before_sums(dtype, tmp_path):
    given = {"dtype": getattr(torch, dtype)}
    functions = {
        "softmax": lambda x: x.softmax(-1, **given), "softmax_front": lambda x: torch.softmax(x, 0, **given),
        "softmax_double": lambda d: d.softmax(-1, **given), "cumsum": lambda x: x.cumsum(-1, **given), "cumsum_double": lambda d: d.cumsum(0, **given),
        "sum": lambda x: x.sum(-1, **given), "mean": lambda x: x.mean(-1, **given), "mean_double": lambda d: d.mean(0, **given),
        "softmax_wide": lambda h: h.softmax(-1, **given), "cumsum_numbers": lambda i: i.cumsum(-1, **given),
    }  # fmt: skip
    x = torch.tensor([[100.3, 100.1, 99.9, 5.0], [257.5, -256.0, 2049.5, -2048.0]])
    inputs = {"x": x, "d": x.double() + 2.0**-30, "h": (x / 256).half(), "i": (x * 2).long()}
    Operators(functions, inputs, {}, tmp_path).check(inputs, tolerance=2.0**-9)
