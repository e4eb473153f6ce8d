"""Quotients and remainders of floats whose rounding shows: exactly as in PyTorch, signs of zeros included."""

import pytest
import torch
from op_program import Operators

NUMBERS = [0.0, -0.0, 0.1, -0.1, 0.3, 0.5, 0.9, -0.9, 1.0, -1.0, 2.0, -2.5, 3.0, 7.0, -7.5, 1e7, -60000.0, 3e-8, -3e-8, float("inf"), float("-inf"), float("nan")]
# Functions of all pairs of them, x and y, and of a vector of them.
FUNCTIONS = {
    "floor_divide": lambda x, y: torch.floor_divide(x, y), "operator": lambda x, y: x // y, "div_floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "div_trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"), "remainder": lambda x, y: torch.remainder(x, y), "modulo": lambda x, y: x % y,
    "fmod": lambda x, y: torch.fmod(x, y), "div": lambda x, y: x / y,
    **{f"{name}_{number}": eval(f"lambda x: {text.format(number)}", {"torch": torch})
       for number in (0.1, 0.3, -2.5, 3, float("1e30"))
       for name, text in {"floor": "x // {}", "div_floor": "torch.div(x, {}, rounding_mode='floor')", "modulo": "x % {}", "fmod": "torch.fmod(x, {})"}.items()},
    "floor_infinite": lambda x: x // float("inf"), "modulo_infinite": lambda x: x % float("-inf"), "floor_zero": lambda x: x // 0.0,
    "number_modulo": lambda x: torch.remainder(7.5, x), "in_place": lambda x, y: x.clone().remainder_(y), "row": lambda x, y: x % y[0],
}  # fmt: skip


def make(type, seed):
    """All pairs, and pairs of random numbers whose quotients are near whole numbers."""
    g = torch.Generator().manual_seed(seed)
    special = torch.tensor(NUMBERS, dtype=torch.float64)
    divisors = torch.randint(1, 40, (len(special), 64), generator=g) / 10.0
    near = divisors * torch.randint(-30, 31, divisors.shape, generator=g)
    x = torch.cat([special[:, None].expand(-1, len(special)), near], 1)
    y = torch.cat([special[None].expand(len(special), -1), divisors * (torch.randint(0, 2, divisors.shape, generator=g) * 2 - 1)], 1)
    return {"x": x.to(type), "y": y.to(type)}


def rounded_once(inputs):
    """Elements of 16 bits are computed in f32, as PyTorch does on a GPU; on a CPU it rounds some of the steps of pairs of tensors."""
    wide = {name: value.float() for name, value in inputs.items()}
    return {f"{name}.0": function(wide["x"], wide["y"]).to(inputs["x"].dtype) for name, function in FUNCTIONS.items()
            if function.__code__.co_argcount == 2}  # fmt: skip


@pytest.mark.parametrize("type", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=lambda type: str(type).removeprefix("torch."))
def test_float_divisions(type, tmp_path):
    operators = Operators(FUNCTIONS, make(type, 0), {"x": (0,), "y": (0,)}, tmp_path)
    for seed in range(3):
        inputs = make(type, seed)
        operators.check(inputs, tolerance=0, instead=rounded_once(inputs) if type.itemsize == 2 else {})
