"""Tensors without elements where operators have a rule of their own for them, compared with PyTorch."""

import numpy as np
import pytest
import torch

from moe_mlir import Error, Executable
from moe_mlir.testing.compiling import moe_compile


class Constant(torch.nn.Module):
    def __init__(self, function, shape, type):
        super().__init__()
        self.function = function
        self.register_buffer("m", torch.zeros(shape, dtype=type))

    def forward(self, x):
        return self.function(self.m, x)


CONSTANTS = {
    "mv": (lambda m, x: m.mv(x[0]), (3, 0), (2, 0)),
    "linear": (lambda m, x: torch.nn.functional.linear(x, m), (3, 0), (2, 0)),
    "matmul": (lambda m, x: m @ x, (3, 0), (0, 2)),
    "bmm": (lambda m, x: m @ x, (2, 3, 0), (2, 0, 4)),
    "sum": (lambda m, x: m.sum(1) + x, (3, 0), (3,)),
    "no_rows": (lambda m, x: torch.nn.functional.linear(x, m), (0, 3), (2, 3)),
    "joined": (lambda m, x: torch.cat([x, m], 1) + 1, (3, 0), (3, 2)),
}


@pytest.mark.parametrize("type", [torch.float32, torch.bfloat16, torch.int64], ids=lambda type: str(type)[6:])
@pytest.mark.parametrize("name", CONSTANTS)
def test_constants(tmp_path, name, type):
    function, shape, size = CONSTANTS[name]
    module, x = Constant(function, shape, type), torch.ones(size, dtype=type)
    torch.export.save(torch.export.export(module, (x,)), tmp_path / "m.pt2")
    with Executable(moe_compile(tmp_path / "m.pt2", tmp_path / "m")) as executable:
        [got] = executable.run({"x": x.float().numpy() if type == torch.bfloat16 else x.numpy()}).values()
    expected = module(x)
    assert np.array_equal(got.astype(np.float64), expected.double().numpy())


@pytest.mark.parametrize("correction", [-1, 0, 1])
@pytest.mark.parametrize("rows", ["fixed", "dynamic"])
def test_variance(tmp_path, rows, correction):
    class Module(torch.nn.Module):
        def forward(self, x):
            return x.std(0, correction=correction), x.var((0, 1), correction=correction)

    inputs = [torch.zeros(0, 3)] if rows == "fixed" else [torch.zeros(0, 3), torch.randn(1, 3), torch.randn(4, 3)]
    dims = None if rows == "fixed" else ({0: torch.export.Dim.DYNAMIC},)
    torch.export.save(torch.export.export(Module(), (inputs[-1],), dynamic_shapes=dims), tmp_path / "m.pt2")
    with Executable(moe_compile(tmp_path / "m.pt2", tmp_path / "m")) as executable:
        for x in inputs:
            for got, expected in zip(executable.run({"x": x.numpy()}).values(), Module()(x), strict=True):
                assert np.allclose(got, expected.numpy(), equal_nan=True, rtol=1e-5, atol=1e-6), x.shape


def test_a_tensor_to_narrow_from(tmp_path):
    class Module(torch.nn.Module):
        def forward(self, x):
            return torch.narrow(x, 0, torch.tensor(1), 2)

    torch.export.save(torch.export.export(Module(), (torch.ones(4, 3),)), tmp_path / "m.pt2")
    with pytest.raises(Error, match=r"ended with code 2:(.|\n)*aten.narrow.Tensor"):
        moe_compile(tmp_path / "m.pt2", tmp_path / "m")
