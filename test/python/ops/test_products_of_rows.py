"""Matrices that follow from the number of rows alone, as masks and similarities do, at several numbers of rows."""

import pytest
import torch
from op_program import Operators

from moe_mlir.serving import Refused

COLUMNS = 6


def products(x, y):
    return x @ x.transpose(-1, -2), x @ y.t(), torch.nn.functional.linear(y, x)


# Each is used behind the product, so that its size is asked for.
FUNCTIONS = {
    "clamp": lambda x, y: [p.clamp(-1, 1) for p in products(x, y)],
    "centred": lambda x, y: [p - p.sum(1, keepdim=True) for p in products(x, y)],
    "square": lambda x, y: [torch.relu(p) * p for p in products(x, y)],
    "stack": lambda x, y: [torch.stack([p, p], 2) for p in products(x, y)],
    "expand": lambda x, y: [p.unsqueeze(0).expand(2, -1, -1) + 1 for p in products(x, y)],
    "second": lambda x, y: [p @ x for p in products(x, x)],
    "rows": lambda x, y: [(p.sum(0, keepdim=True) * 2).reshape(-1) for p in products(x, y)],
    "vector": lambda x, y: [torch.nn.functional.linear(y[0], x).clamp(-1, 1)],
    "broadcast": lambda x, y: torch.clamp(x[:1], min=y) * 2,
    "attention": lambda x, y: torch.nn.functional.scaled_dot_product_attention(x[None, None], y[None, None], (y @ x.t())[None, None])[0, 0] + 1,
    "batch": lambda x, y: [torch.tanh(torch.matmul(x.view(-1, 2, 3), y.t()[:3])).amax(1)],
}


def make(rows, seed):
    g = torch.Generator().manual_seed(seed)
    return {"x": torch.randn(rows, COLUMNS, generator=g), "y": torch.randn(rows, COLUMNS, generator=g)}


@pytest.fixture(scope="module")
def operators(tmp_path_factory):
    return Operators(FUNCTIONS, make(5, 0), {"x": (0,), "y": (0,)}, tmp_path_factory.mktemp("products"))


@pytest.mark.parametrize("rows", [1, 2, 4, 5, 17, 64])
def test_products_of_rows(operators, rows):
    operators.check(make(rows, rows), tolerance=1e-4)


def test_as_many_rows_as_columns(operators):
    """Tracing has noted where it compared the two, and PyTorch's exported program refuses it, too."""
    with pytest.raises(Refused, match=r"exported for inputs with 6 != inputs\['x'\].size\(\)\[0\]"):
        operators.check(make(COLUMNS, 0))
