"""Indices outside of what they index are errors of the caller, wherever they come from; nothing is read there."""

import pytest
import torch
from op_program import Operators, to_numpy

from moe_mlir.executable import ExecutableError

F = torch.nn.functional


def narrowed(tensor, start):
    """Two rows from `start` on. The assertions are for the exporter; the program looks for itself."""
    torch._check(start >= 0)
    torch._check(start + 2 <= tensor.shape[0])
    return tensor.narrow(0, start, 2)


TABLE = torch.arange(72.0).view(9, 8)
# name -> (function of t [9, 8], k and j [n] integers; an index that is right, one that is not, what the error says).
# `j` is zero: what is computed with it is not the argument any more.
CASES = {
    "embedding": (lambda t, k: F.embedding(k, t), 8, 9, "input '{k}': element 1 is 9, outside 0..8"),
    "embedding_negative": (lambda t, k: F.embedding(k, t), 0, -1, "input '{k}': element 1 is -1, outside 0..8"),
    "embedding_computed": (lambda t, k, j: F.embedding(k - j, t), 8, 9, "an index is outside dimension 0, which has size 9"),
    "embedding_int": (lambda t, k: F.embedding(k, t.long()), 8, 9, "input '{k}': element 1 is 9, outside 0..8"),
    "index": (lambda t, k: t[k], -9, -10, "input '{k}': element 1 is -10, outside -9..8"),
    "index_computed": (lambda t, k, j: t[k + j], -9, 9, "an index is outside dimension 0, which has size 9 (aten.index.Tensor at "),
    "index_second": (lambda t, k, j: t[:, k + j], 7, 8, "an index is outside dimension 1, which has size 8"),
    "index_dynamic": (lambda t, k: k[k], -3, 3, "input '{k}': element 1 is 3, an index outside of "),
    "index_twice": (lambda t, k, j: t[k % 9, k + j], 7, 8, "an index is outside dimension 1, which has size 8"),
    "gather": (lambda t, k: t.gather(0, k[:, None]), 8, -1, "input '{k}': element 1 is -1, outside 0..8"),
    "gather_computed": (lambda t, k, j: t.gather(1, (k - j)[:, None]), 0, -1, "an index is outside dimension 1, which has size 8"),
    "index_select": (lambda t, k, j: t.index_select(1, k + j), 7, 8, "an index is outside dimension 1, which has size 8"),
    "index_put": (lambda t, k: t.index_put((k,), k[:, None].expand(-1, 8).float()), -8, -10, "input '{k}': element 1 is -10, outside -9..8"),
    "index_copy": (lambda t, k, j: t.index_copy(0, k + j, k[:, None].expand(-1, 8).float()), 8, -1, "an index is outside dimension 0, which has size 9"),
    "one_hot": (lambda t, k: F.one_hot(k, 9), 8, 9, "input '{k}': element 1 is 9, outside 0..8"),
    "one_hot_negative": (lambda t, k: F.one_hot(k, 9), 0, -1, "input '{k}': element 1 is -1, outside 0..8"),
    "one_hot_computed": (lambda t, k, j: F.one_hot(k - j, 9), 8, 9, "an index is outside dimension 1, which has size 9"),
    "narrow": (lambda t, k: narrowed(t, k[1].item()), 7, 8, "Runtime assertion failed for expression u0 <= 7 on node "),
    "narrow_dynamic": (lambda t, k: narrowed(k, k[1].item()), 1, 2, "Runtime assertion failed for expression u0 + 2 <= s"),
    "scatter": (lambda t, k, j: t[:3].scatter(1, (k + j)[:, None], 1.0), 7, 8, "an index is outside dimension 1, which has size 8"),
}


def inputs_of(function, index):
    made = {"t": TABLE, "k": torch.tensor([2, index, 0]), "j": torch.zeros(3, dtype=torch.int64)}
    return {name: made[name] for name in function.__code__.co_varnames[: function.__code__.co_argcount]}


def run(operators, inputs):
    return operators.executable.run({operators.input_names[name]: to_numpy(value) for name, value in inputs.items()})


def error_of(operators, inputs):
    with pytest.raises(ExecutableError) as caught:
        run(operators, inputs)
    assert caught.value.exit_code == 1
    return caught.value.stderr


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """All cases, each in a program of its own: an error ends the call."""
    return {name: Operators({name: case[0]}, inputs_of(case[0], case[1]), {} if name == "scatter" else {"k": (0,), "j": (0,)},
                            tmp_path_factory.mktemp(name)) for name, case in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_case(compiled, name):
    function, right, wrong, message = CASES[name]
    operators = compiled[name]
    operators.check(inputs_of(function, right))
    with pytest.raises((IndexError, RuntimeError)):
        function(**inputs_of(function, wrong))
    error = error_of(operators, inputs_of(function, wrong))
    assert message.format(**operators.input_names) in error
    for far in (2**31, -(2**40)):
        error_of(operators, inputs_of(function, far))


def test_select_of_a_dimension_that_is_too_short(tmp_path):
    operators = Operators({"select": lambda x: x[:, 3] * 2}, {"x": torch.randn(2, 6, 4)}, {"x": (0, 1)}, tmp_path)
    operators.check({"x": torch.randn(3, 4, 4)})
    # Tracing has noted it of the input; what the program itself says of a size that it computes is in test_size_checks.py.
    assert "is 3 x 3 x 4 x f32, the program expects" in error_of(operators, {"x": torch.randn(3, 3, 4)})
