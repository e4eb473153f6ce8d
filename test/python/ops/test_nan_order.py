"""Operators that order elements, on rows with NaN: it is larger than any number, and indices stay a permutation. Exactly as in PyTorch."""

import itertools

import pytest
import torch
from op_program import Operators

from moe_mlir.testing.full import sample

TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
NAN = float("nan")

# Functions of rows with one NaN and else different numbers, x (of any length), s (7 elements) and l (300 elements): each
# has one answer. Of equal elements, topk may choose any.
ONE = {
    f"{name}__{rows}": eval(f"lambda {rows}: {text.format(rows)}")
    for rows in "xsl"
    for name, text in {
        "topk": "{0}.topk(3, -1)", "topk_smallest": "{0}.topk(3, -1, largest=False)", "topk_front": "{0}.topk(2, 0)",
        "sort": "{0}.sort(-1)", "sort_descending": "{0}.sort(-1, descending=True)", "argsort_front": "{0}.argsort(0)",
    }.items()
}
# Functions of rows with any number of NaN, zeros of both signs and infinities.
ANY = {
    f"{name}__{rows}": eval(f"lambda {rows}: {text.format(rows)}")
    for rows in "xsl"
    for name, text in {
        "sort": "torch.sort({0}, dim=-1, stable=True)", "sort_descending": "torch.sort({0}, dim=-1, stable=True, descending=True)",
        "sort_front": "torch.sort({0}, dim=0, stable=True)", "argsort": "torch.argsort({0}, dim=-1, stable=True)",
        "argsort_descending": "torch.argsort({0}, dim=-1, stable=True, descending=True)", "max": "{0}.max(-1)", "max_front": "{0}.max(0)",
        "argmax": "{0}.argmax(-1)", "argmax_keep": "{0}.argmax(0, keepdim=True)", "amax": "{0}.amax(-1)", "max_all": "{0}.max()",
        "cummax": "{0}.cummax(-1)", "topk_values": "{0}.abs().topk(3).values", "topk_smallest": "{0}.abs().topk(3, largest=False).values",
        # Of zeros of both signs PyTorch takes any.
        "maximum": "torch.maximum({0}, {0}.flip(-1)) + 0", "minimum": "torch.minimum({0}, {0}.flip(0)) + 0",
    }.items()
}


def nans(type):
    """A NaN of each sign (on x86, 0 / 0 has the negative one), which the order does not see."""
    if type == torch.bfloat16:  # conversions to it drop the sign
        return torch.tensor([0x7FC0, 0x7FC0 - 2**15], dtype=torch.int32).to(torch.int16).view(type)
    return torch.tensor([NAN, -NAN], dtype=type)


def one_nan(type, batch, length, seed=0):
    """Different numbers of both signs, and one NaN in each row, in no column twice."""
    g = torch.Generator().manual_seed(seed)
    places = torch.randperm(batch * length, generator=g).view(batch, length)
    # Whole numbers of that many digits do not fit 16 bits, but their bit patterns do.
    x = places.to(type) if type.itemsize > 2 else (places * 16).to(torch.int16).view(type)
    x *= places % 2 * 2 - 1
    for row, column in enumerate(torch.randperm(length, generator=g)[:batch]):
        x[row, column] = nans(type)[row % 2]
    return x


def any_nan(type, batch, length, seed=0):
    g = torch.Generator().manual_seed(seed)
    numbers = torch.tensor([NAN, NAN, 0.0, -0.0, float("inf"), float("-inf"), 1.5, -1.5, 60000.0, 3e-8], dtype=type)
    numbers[:2] = nans(type)
    x = numbers[torch.randint(len(numbers), (batch, length), generator=g)]
    x[0], x[0, ::2] = nans(type)
    assert x[0].signbit().any() and not x[0].signbit().all()
    x[1, 1:] = numbers[2:][torch.randint(len(numbers) - 2, (length - 1,), generator=g)]
    return x


KINDS = {"one": (ONE, one_nan), "any": (ANY, any_nan)}


# In an ordinary run each type has one kind of rows, in a full run both.
@pytest.mark.parametrize("kind, type", sample(itertools.product(KINDS, TYPES), 0, 3, 5, 6), ids=lambda value: str(value).removeprefix("torch."))
def test_rows_with_nan(kind, type, tmp_path):
    functions, rows = KINDS[kind]

    def make(batch, length):
        return {"x": rows(type, batch, length), "s": rows(type, batch, 7), "l": rows(type, 2, 300)}

    operators = Operators(functions, make(3, 6), {"x": (0, 1), "s": (0,)}, tmp_path)
    for batch, length in ((3, 6), (2, 40), (5, 9)):
        operators.check(make(batch, length), tolerance=0)
