"""Indices that the model computes: each rank checks those of its tokens, and one that lies outside ends the call for all of them."""

import pytest
import torch

from moe_mlir import ops
from moe_mlir.testing.ranks import assert_same_bits, compile_for, outputs_of


class Shifted(torch.nn.Module):
    """Adds a row of a table, by an index that it computes, to what an MoE layer gives."""

    def __init__(self):
        super().__init__()
        self.router = torch.nn.Parameter(torch.randn(4, 16))
        self.up, self.down = torch.nn.Parameter(torch.randn(4, 16, 16) / 4), torch.nn.Parameter(torch.randn(4, 16, 8) / 4)
        self.register_buffer("table", torch.randn(4, 16))

    def forward(self, x, index):
        weights, experts = torch.sigmoid(x @ self.router.T).topk(2)
        return ops.experts(x, experts, weights, self.up, self.down, None, None, "silu", True, False, False) + self.table[index * 3 - 4]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    torch.manual_seed(1)
    rows = {0: torch.export.Dim.DYNAMIC}
    path = tmp_path_factory.mktemp("model") / "m.pt2"
    with torch.no_grad():
        torch.export.save(torch.export.export(Shifted(), (torch.randn(6, 16), torch.ones(6, dtype=torch.int64)),
                                              dynamic_shapes=(rows, rows)), path)
    return path


def call(rows, last=1):
    generator = torch.Generator().manual_seed(rows)
    index = torch.randint(0, 3, (rows,), generator=generator)
    if rows:
        index[-1] = last
    return {"x": torch.randn(rows, 16, generator=generator).numpy(), "index": index.numpy()}


@pytest.mark.parametrize("parallel", ["ep=2", "dp=2"])
def test_each_rank_checks_its_own(model, tmp_path, parallel):
    calls = [call(rows) for rows in (7, 1, 0, 4)]
    one = outputs_of(compile_for(model, tmp_path / "one", 1), 1, calls, tmp_path / "expected")
    program = compile_for(model, tmp_path / "two", parallel)
    assert_same_bits(outputs_of(program, 2, calls, tmp_path / "actual"), one)
    with pytest.raises(AssertionError, match="an index is outside dimension 0, which has size 4"):
        outputs_of(program, 2, [call(7, last=3)], tmp_path / "outside")
