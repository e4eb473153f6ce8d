"""Models whose buffers take each other's values, call by call beside PyTorch."""

import numpy as np
import pytest
import torch

from moe_mlir import Executable
from moe_mlir.testing.compiling import moe_compile


class Buffers(torch.nn.Module):
    def __init__(self, *shapes):
        super().__init__()
        for name, shape in zip("abc", shapes):
            self.register_buffer(name, torch.zeros(shape))


class Shift(Buffers):
    def forward(self, x):
        y = self.a + x + self.b
        old = self.a.clone()
        self.a.copy_(x)
        self.b.copy_(old)
        return y


class Exchange(Buffers):
    def forward(self, x):
        y = self.a + x + self.b * 2
        old = self.a.clone()
        self.a.copy_(self.b + x)
        self.b.copy_(old)
        return y


class Rotate(Buffers):
    """A cycle of three, one of another shape; and an old state as a result."""

    def forward(self, x):
        a, b, c = self.a.clone(), self.b.clone(), self.c.clone()
        self.a.copy_(b)
        self.b.copy_(c.reshape(4))
        self.c.copy_((a + x).reshape(2, 2))
        return c


@pytest.mark.parametrize("model", [Shift((4,), (4,)), Exchange((4,), (4,)), Rotate((4,), (4,), (2, 2))], ids=lambda model: type(model).__name__)
def test_buffers_of_each_other(model, tmp_path):
    x = torch.tensor([1.0, 2, 3, 4])
    torch.export.save(torch.export.export(model, (x,)), tmp_path / "m.pt2")
    with Executable(moe_compile(tmp_path / "m.pt2", tmp_path / "m")) as program:
        for call in range(5):
            value = x * (call + 1)
            [y] = program.run({"x": value.numpy()}).values()
            np.testing.assert_array_equal(y, model(value).numpy(), f"call {call}")
