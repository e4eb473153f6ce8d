"""What a model demands of values that it computes holds when the program runs, as in PyTorch's exported program."""

import numpy as np
import pytest
import torch

from moe_mlir import Executable
from moe_mlir.executable import ExecutableError
from moe_mlir.testing.compiling import moe_compile


class Demand(torch.nn.Module):
    def __init__(self, demand):
        super().__init__()
        self.demand = demand

    def forward(self, x, n):
        self.demand(x, n)
        return x * 2


def number(x, n):
    torch._check(n[0].item() <= 4)


def both_bounds(x, n):
    a, b = n.tolist()
    torch._check(a >= b - 1, lambda: "the first is too small")
    torch._check(a + b < 9)


def with_a_size(x, n):
    torch._check(n[0].item() < x.shape[0])


def remainder(x, n):
    torch._check(n[1].item() % 3 == 2)


def decimal(x, n):
    torch._check(x.sum().item() > -0.5)


def negation(x, n):
    torch._check(torch.sym_not(n[0].item() > 4))


def sizes(x, n):
    torch._check(x.shape[0] <= 7)


def element(x, n):
    torch._assert_async(x[0, 0] != -3.0, "the first element is -3")


def one_number(x, n):
    torch._assert_async(n[1:])


CASES = [(rows, fill, n) for rows in (4, 8) for fill in (1.0, -1.0, -3.0, 0.0) for n in ((2, 2), (4, 5), (5, 2), (0, 0), (7, 3), (1, 4))]


@pytest.mark.parametrize("demand", [number, both_bounds, with_a_size, remainder, decimal, negation, sizes, element, one_number], ids=lambda f: f.__name__)
def test_as_the_exported_program(tmp_path, demand):
    program = torch.export.export(Demand(demand), (torch.ones(5, 3), torch.tensor([2, 2])), dynamic_shapes=({0: torch.export.Dim.AUTO}, None))
    torch.export.save(program, tmp_path / "m.pt2")
    runner, executable = program.module(), Executable(moe_compile(tmp_path / "m.pt2", tmp_path / "m"))
    taken = 0
    for rows, fill, n in CASES:
        x = torch.full((rows, 3), fill)
        try:
            expected = runner(x, torch.tensor(n)).numpy()
        except (RuntimeError, AssertionError):
            with pytest.raises(ExecutableError) as caught:
                executable.run({"x": x.numpy(), "n": np.array(n)})
            assert caught.value.exit_code == 1, caught.value
            continue
        assert np.array_equal(executable.run({"x": x.numpy(), "n": np.array(n)})["mul"], expected)
        taken += 1
    assert 0 < taken < len(CASES)


def test_what_is_said(tmp_path):
    program = torch.export.export(Demand(element), (torch.ones(5, 3), torch.tensor([2, 2])))
    torch.export.save(program, tmp_path / "m.pt2")
    executable = Executable(moe_compile(tmp_path / "m.pt2", tmp_path / "m"))
    with pytest.raises(ExecutableError, match=r"the first element is -3 \(aten._assert_async.msg at test_value_checks.py:\d+, node '_assert_async'"):
        executable.run({"x": np.full((5, 3), -3, np.float32), "n": np.array([2, 2])})
