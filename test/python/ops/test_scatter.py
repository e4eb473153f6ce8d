"""scatter writes the part of the source that the index covers."""

import pytest
import torch
from op_program import Operators, to_numpy

from moe_mlir.executable import ExecutableError

FUNCTIONS = {
    "columns": lambda t, k, x: t.scatter(1, k, x), "rows": lambda t, j, x: t.scatter(0, j, x), "written": lambda t, k, x: (t * 2).scatter_(1, k, x) + 1,
    "number": lambda t, k: t.scatter(1, k, 3.0), "empty": lambda t, e, x: t.scatter(1, e, x), "empty_source": lambda t, e, z: t.scatter(1, e, z),
    "gathered": lambda t, k, x: x.gather(1, k % x.shape[1]), "gathered_part": lambda t, k, x: x.gather(0, k % 4),
}  # fmt: skip


def make(covered, rows, columns):
    """Indices k of t [4, 6] along columns and j along rows, and a source x that may be larger."""
    g = torch.Generator().manual_seed(covered)
    return {"t": torch.randn((4, 6), generator=g), "x": torch.randn((rows, columns), generator=g), "e": torch.zeros((4, 0), dtype=torch.int64),
            "z": torch.zeros((7, 0)), "k": torch.randint(0, 6, (4, covered), generator=g), "j": torch.randint(0, 4, (covered, 6), generator=g)}


@pytest.mark.parametrize("sizes", [(1, 4, 6), (3, 4, 7), (1, 7, 6), (2, 9, 9)])
def test_source_that_is_larger(sizes, tmp_path):
    inputs = make(*sizes)
    Operators(FUNCTIONS, inputs, {}, tmp_path).check(inputs)


def test_sizes_that_change(tmp_path):
    dynamic = {"k": (1,), "j": (0,), "x": (0, 1)}
    functions = {name: function for name, function in FUNCTIONS.items() if "gathered" not in name}
    operators = Operators(functions, make(3, 5, 7), dynamic, tmp_path)
    for sizes in ((3, 4, 6), (2, 4, 6), (1, 4, 6), (0, 9, 8), (4, 6, 9), (2, 4, 8)):
        operators.check(make(*sizes))
    for wrong in ((5, 4, 7), (2, 3, 6), (4, 4, 5)):
        inputs = make(*wrong)
        with pytest.raises(ExecutableError) as caught:
            operators.executable.run({operators.input_names[name]: to_numpy(value) for name, value in inputs.items()})
        assert caught.value.exit_code == 1
