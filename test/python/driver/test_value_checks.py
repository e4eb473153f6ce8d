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
        result = self.demand(x, n)
        return x * 2 if result is None else result


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


def product(x, n):
    torch._check(n[0].item() * n[1].item() < 100)


def large_sum(x, n):
    torch._check(n[0].item() + n[1].item() < 100)


def product_with_a_size(x, n):
    torch._check(n[0].item() * x.shape[0] <= 20)


def negative(x, n):
    torch._check(n[0].item() < 0)


# The size of a part is a symbol of its own, which only the assertion tells.
def a_part(x, n):
    torch._check(x[: n[0].item()].shape[0] % 2 == 0)


def a_part_of_one_size(x, n):
    return x[: n[0].item()] + torch.ones(2, 3)


CASES = [(rows, fill, n) for rows in (4, 8) for fill in (1.0, -1.0, -3.0, 0.0) for n in ((2, 2), (4, 5), (5, 2), (0, 0), (7, 3), (1, 4))]
LARGE = [(2**32, 2**32), (2**62, 2), (2**63 - 1, 1), (-(2**63), -1), (2**62, 4), (-(2**32), 2**32)]
CASES += [(4, 1.0, n) for n in LARGE]
# What Python, whose numbers have no end, takes; the program does not go on with another number.
BEYOND = [(large_sum, (-(2**63), -1)), (product, (-(2**32), 2**32)), (product_with_a_size, (-(2**63), -1))]


@pytest.mark.parametrize("demand", [number, both_bounds, with_a_size, remainder, decimal, negation, sizes, element, one_number, product, large_sum, product_with_a_size, negative, a_part, a_part_of_one_size], ids=lambda f: f.__name__)
def test_as_the_exported_program(tmp_path, demand):
    program = torch.export.export(Demand(demand), (torch.ones(5, 3), torch.tensor([2, 2])), dynamic_shapes=({0: torch.export.Dim.AUTO}, None))
    torch.export.save(program, tmp_path / "m.pt2")
    runner, executable = program.module(), Executable(moe_compile(tmp_path / "m.pt2", tmp_path / "m"))
    taken = 0
    for rows, fill, n in CASES:
        x = torch.full((rows, 3), fill)
        if (demand, n) in BEYOND:
            with pytest.raises(ExecutableError, match="a number that the model computes does not fit 64 bits"):
                executable.run({"x": x.numpy(), "n": np.array(n)})
            continue
        try:
            expected = runner(x, torch.tensor(n)).numpy()
        except (RuntimeError, AssertionError):
            with pytest.raises(ExecutableError) as caught:
                executable.run({"x": x.numpy(), "n": np.array(n)})
            assert caught.value.exit_code == 1, caught.value
            continue
        [result] = executable.run({"x": x.numpy(), "n": np.array(n)}).values()
        assert np.array_equal(result, expected)
        taken += 1
    assert 0 < taken < len(CASES)


def test_what_is_said(tmp_path):
    program = torch.export.export(Demand(element), (torch.ones(5, 3), torch.tensor([2, 2])))
    torch.export.save(program, tmp_path / "m.pt2")
    executable = Executable(moe_compile(tmp_path / "m.pt2", tmp_path / "m"))
    with pytest.raises(ExecutableError, match=r"the first element is -3 \(aten._assert_async.msg at test_value_checks.py:\d+, node '_assert_async'"):
        executable.run({"x": np.full((5, 3), -3, np.float32), "n": np.array([2, 2])})


class Branch(torch.nn.Module):
    def forward(self, x, y):
        return x * 2 if (x.shape[0] + y.shape[0]) % 2 == 0 else x * 3


def test_assertions_in_place_of_guards(tmp_path):
    """torch.export writes conditions on sizes as calls of _assert_scalar, if it is told so."""
    rows = {0: torch.export.Dim.AUTO}
    program = torch.export.export(Branch(), (torch.ones(4, 3), torch.ones(2, 3)), dynamic_shapes=(rows, rows), prefer_deferred_runtime_asserts_over_guards=True)
    torch.export.save(program, tmp_path / "m.pt2")
    executable, runner = Executable(moe_compile(tmp_path / "m.pt2", tmp_path / "m")), program.module()
    taken = 0
    for m, n in ((4, 2), (3, 2), (3, 5), (2, 7), (8, 8)):
        x, y = np.ones((m, 3), np.float32), np.ones((n, 3), np.float32)
        try:
            expected = runner(torch.from_numpy(x), torch.from_numpy(y)).numpy()
        except (RuntimeError, AssertionError):
            with pytest.raises(ExecutableError, match="Runtime assertion failed for expression"):
                executable.run({"x": x, "y": y})
            continue
        assert np.array_equal(executable.run({"x": x, "y": y})["mul"], expected)
        taken += 1
    assert taken == 3
