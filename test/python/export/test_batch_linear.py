"""Modules that multiply each head with a matrix of its own: what torch.export writes of them becomes nn.batch_linear."""

import numpy as np
import pytest
import torch
from torch import nn

from moe_mlir import Executable
from moe_mlir.testing.compare import assert_close
from moe_mlir.testing.compiling import moe_compile

HEADS, K, N = 3, 12, 10


class Matrices(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(HEADS * K, HEADS * K, bias=False), nn.Parameter(torch.randn(HEADS, K, N))
        self.third = nn.Parameter(torch.randn(HEADS * (K + N), N))

    def rows(self, x):
        return self.first(x).unflatten(-1, (HEADS, K))


class Transposed(Matrices):
    """Heads outside, as attention has them; the second product's matrices are a part of a weight."""

    def forward(self, x):
        y = self.rows(x).transpose(1, 2) @ self.second
        _, part = self.third.view(HEADS, K + N, N).split([K, N], dim=1)
        return (y @ part.transpose(1, 2)).transpose(1, 2).flatten(2)


class Batched(Matrices):
    """bmm of what is batched by heads alone."""

    def forward(self, x):
        rows = self.rows(x).flatten(0, 1).transpose(0, 1)
        return torch.bmm(rows, self.second).transpose(0, 1).reshape(*x.shape[:2], HEADS * N)


class HeadsOutside(Matrices):
    """No transpose stands beside it."""

    def forward(self, x):
        heads = torch.stack([x[..., :K], x[..., K : 2 * K], x[..., 2 * K :]], dim=1)
        return torch.tanh(heads @ self.second)


@pytest.mark.parametrize("module, products, copies", [(Transposed, 2, 0), (Batched, 1, 0), (HeadsOutside, 1, 2)])
def test_equals_pytorch(module, products, copies, tmp_path):
    torch.manual_seed(0)
    layer = module().eval()
    auto = torch.export.Dim.AUTO
    with torch.no_grad():
        program = torch.export.export(layer, (torch.randn(2, 5, HEADS * K),), dynamic_shapes=({0: auto, 1: auto},), strict=False)
    torch.export.save(program, tmp_path / "m.pt2")
    graph = moe_compile(tmp_path / "m.pt2", tmp_path / "graph.mlir", "--to=graph").read_text()
    assert graph.count("nn.batch_linear ") == products and '"reduction"' not in graph
    assert graph.count("linalg.yield %in :") == copies  # transposes
    executable = Executable(moe_compile(tmp_path / "m.pt2", tmp_path / "m"))
    for batch, tokens in ((1, 1), (2, 9), (3, 1), (2, 0)):
        x = torch.randn(batch, tokens, HEADS * K)
        with torch.no_grad():
            expected = layer(x).numpy()
        [got] = executable.run({"x": x.numpy()}).values()
        assert got.shape == expected.shape
        if expected.size:
            assert_close(got, expected)
        np.testing.assert_array_equal(np.isnan(got), False)
