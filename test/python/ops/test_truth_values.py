"""Operators on booleans, every pair of them and rows of each kind, compared with PyTorch: true is larger than false, and true + true is true."""

import torch
from op_program import Operators
from test_operators import written

# Functions of b and d [B, 6], rows r [B, S] and whole numbers i [B, S].
FUNCTIONS = {
    "add": lambda b, d: b + d, "add_true": lambda b: b + True, "add_false": lambda b: b + False, "add_one": lambda b: b + 1,
    "add_numbers": lambda r, i: r + i, "add_alpha": lambda b, d: torch.add(b, d, alpha=True), "add_no_alpha": lambda b, d: torch.add(b, d, alpha=False),
    "add_large_alpha": lambda b, d: torch.add(b, d, alpha=2), "add_alpha_numbers": lambda r, i: torch.add(i, r, alpha=3),
    "add_": written(lambda z, d: z.add_(d), "b", "d"), "add_part": written(lambda z, d: z[:, 1:].add_(d[:, 1:]), "b", "d"),
    "mul": lambda b, d: b * d, "mul_numbers": lambda r, i: r * i, "mul_": written(lambda z, d: z.mul_(d), "b", "d"),
    "maximum": lambda b, d: torch.maximum(b, d), "minimum": lambda b, d: torch.minimum(b, d), "max_two": lambda b, d: torch.max(b, d),
    "maximum_numbers": lambda r, i: torch.maximum(r, i), "max": lambda r: r.max(), "max_none": lambda r: (r & ~r).max(),
    "max_dim": lambda r: r.max(-1), "max_front": lambda r: r.max(0, keepdim=True), "amax": lambda r: r.amax(-1), "amax_dims": lambda r: r.amax((0, 1)),
    "sum": lambda r: r.sum(-1), "sum_truth": lambda r: r.sum(-1, dtype=torch.bool), "sum_truth_numbers": lambda i: i.sum(0, dtype=torch.bool),
    "sum_all": lambda r: r.sum(dtype=torch.bool), "mean": lambda r: r.mean(-1, dtype=torch.float32), "any": lambda r: r.any(-1), "all": lambda r: r.all(0),
    "cumsum": lambda r: r.cumsum(-1), "cummax": lambda r: r.cummax(-1), "cummax_front": lambda r: r.cummax(0),
    "sort": lambda r: torch.sort(r, dim=-1, stable=True), "sort_descending": lambda r: torch.sort(r, dim=0, stable=True, descending=True),
    "argsort": lambda r: torch.argsort(r, dim=-1, stable=True), "sign": lambda r: r.sign(), "square": lambda r: r.square(), "pow": lambda r: r**2,
    "clamp": lambda r: r.clamp(0, 1), "clamp_high": lambda r: r.clamp(2, 5), "exp": lambda r: r.exp(), "softmax": lambda r: r.softmax(-1, dtype=torch.float32),
    "eq": lambda b, d: b == d, "ne": lambda b, d: b != d, "lt": lambda b, d: b < d, "le": lambda b, d: b <= d, "gt": lambda b, d: b > d, "ge": lambda b, d: b >= d,
    "ge_number": lambda b: b >= 1, "lt_numbers": lambda r, i: r < i, "and": lambda b, d: b & d, "or": lambda b, d: b | d, "xor": lambda b, d: b ^ d, "not": lambda b: ~b,
    "and_number": lambda b: b & 1, "or_numbers": lambda r, i: r | i, "diff": lambda r: r.diff(), "where": lambda b, d: torch.where(b, d, ~d),
    "where_numbers": lambda r, i: torch.where(r, r, i), "masked_fill": lambda b, d: b.masked_fill(d, True), "cat": lambda r, i: torch.cat([r, i], 1),
    "pad": lambda r: torch.nn.functional.pad(r, (1, 2), value=True), "tril": lambda r: r.tril(), "rsub": lambda r: 1 - r.int(), "full": lambda r: torch.full_like(r, 3),
    # The first and the last row meet in one place, and nothing comes to the others.
    "index_add": lambda b, d: b.index_add(0, torch.tensor([1, 0, 1]), d[:3]), "index_add_columns": lambda b, d: (b & d).index_add(1, torch.tensor([4, 4]), d[:, :2]),
    "index_copy": lambda b, d: b.index_copy(0, torch.tensor([2, 0]), d[:2]), "index_put": lambda b, d: b.index_put((torch.tensor([1, 0]),), d[:2]),
    "scatter": lambda b, d: b.scatter(1, torch.tensor([[3, 1]]).expand(b.shape[0], -1), d[:, :2]),
    "div": lambda r: r / 2, "narrow": lambda r: r.to(torch.int8) + 100, "half": lambda r: r.half() - 2, "truth": lambda i: i.bool() + (i > 1),
}  # fmt: skip


def make(batch, length):
    g = torch.Generator().manual_seed(batch)
    pairs = torch.tensor([[False, False, True, True, True, False], [False, True, False, True, True, False]])
    rows = torch.rand((batch, length), generator=g) < torch.tensor([[0.5], [0.0], [1.0]]).repeat(batch, 1)[:batch]
    return {"b": pairs[0].repeat(batch, 1), "d": pairs[1].repeat(batch, 1).roll(batch, 0) ^ rows[:, :1], "r": rows,
            "i": torch.randint(-2, 3, (batch, length), generator=g)}


def test_truth_values(tmp_path):
    operators = Operators(FUNCTIONS, make(3, 5), {"b": (0,), "d": (0,), "r": (0, 1), "i": (0, 1)}, tmp_path)
    for batch, length in ((3, 5), (4, 2), (7, 9)):
        operators.check(make(batch, length))
