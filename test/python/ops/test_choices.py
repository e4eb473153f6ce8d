"""Choices among elements whose number is a size: with too few of them PyTorch ends with an error, and so does the program."""

import numpy as np
import pytest
import torch

from moe_mlir import Executable, ExecutableError
from moe_mlir.testing.compiling import moe_compile

CHOICES = {
    "topk": lambda x: (x * 2).topk(2, 0),
    "topk_of_columns": lambda x: x.t().topk(2, -1),
    "topk_of_long_rows": lambda x: x.flatten().topk(5),
    "topk_of_a_size": lambda x: x.t().topk(x.shape[0] - 1, -1),
    "amax": lambda x: x.amax(0),
    "amax_of_a_part": lambda x: x[1:].amax(0),
    "max": lambda x: x.max(0),
    "largest": lambda x: x.max(),
    "argmax": lambda x: x.argmax(0),
    "infinity_norm": lambda x: torch.linalg.vector_norm(x, float("inf"), 0),
    "amax_of_rows": lambda x: x.amax(1),
}


class Module(torch.nn.Module):
    def __init__(self, choice):
        super().__init__()
        self.choice = choice

    def forward(self, x):
        chosen = self.choice(x)
        return tuple(chosen) if isinstance(chosen, tuple) else chosen  # named tuples are not for files


@pytest.mark.parametrize("name", CHOICES)
def test_sizes(tmp_path, name):
    module = Module(CHOICES[name])
    program = torch.export.export(module, (torch.randn(11, 4),), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    torch.export.save(program, tmp_path / "m.pt2")
    outcomes = []
    with Executable(moe_compile(tmp_path / "m.pt2", tmp_path / "m")) as executable:
        for rows in (11, 5, 4, 3, 2, 1, 0):
            x = torch.randn(rows, 4, generator=torch.Generator().manual_seed(rows))
            try:
                results = module(x)
            except (IndexError, RuntimeError):
                with pytest.raises(ExecutableError) as caught:
                    executable.run({"x": x.numpy()})
                assert caught.value.exit_code == 1
                outcomes.append(False)
                continue
            expected = results if isinstance(results, tuple) else (results,)
            for got, wanted in zip(executable.run({"x": x.numpy()}).values(), expected, strict=True):
                assert np.array_equal(got, wanted.numpy()), rows
            outcomes.append(True)
    assert outcomes[0] and (name == "amax_of_rows" or not outcomes[-1])


def test_elements_have_the_dtype_of_a_sum(tmp_path):
    class Sum(torch.nn.Module):
        def forward(self, x):
            return x.sum(0, dtype=torch.bfloat16).float()

    x = torch.tensor([1.001, -1, 1e-4])
    torch.export.save(torch.export.export(Sum(), (x,)), tmp_path / "m.pt2")
    with Executable(moe_compile(tmp_path / "m.pt2", tmp_path / "m")) as executable:
        [got] = executable.run({"x": x.numpy()}).values()
    assert got == Sum()(x).numpy()


@pytest.mark.parametrize("rows", [1, 3, 5, 20, 33])
@pytest.mark.parametrize("type", ["i8", "i16"])
def test_numbers_that_do_not_fit_an_index(tmp_path, rows, type):
    """Machine code may make anything of them; the check of an index and the read have to see the same."""
    (tmp_path / "m.mlir").write_text(f"""module attributes {{moe.level = "graph", moe.name = "m"}} {{
  func.func @main(%i: tensor<?xf32> {{moe.name = "i", moe.dims = ["k"]}}, %t: tensor<?xf32> {{moe.name = "t", moe.dims = ["n"]}})
      -> (tensor<?xf32> {{moe.name = "y", moe.dims = ["k"]}}) {{
    %c0 = arith.constant 0 : index
    %d = tensor.dim %i, %c0 : tensor<?xf32>
    %e = tensor.empty(%d) : tensor<?xf32>
    %y = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}}
        ins(%i : tensor<?xf32>) outs(%e : tensor<?xf32>) {{
    ^bb0(%a: f32, %o: f32):
      %n = arith.fptosi %a : f32 to {type}
      %at = arith.index_cast %n : {type} to index
      %v = tensor.extract %t[%at] : tensor<?xf32>
      linalg.yield %v : f32
    }} -> tensor<?xf32>
    return %y : tensor<?xf32>
  }}
}}
""")
    table = np.arange(50, dtype=np.float32) + 1
    with Executable(moe_compile(tmp_path / "m.mlir", tmp_path / "m", "--weights=none")) as executable:
        for number in (49, 1e30, np.nan, 16777216, 65536 * 256, -1e30, 3):
            try:
                got = executable.run({"i": np.full(rows, number, np.float32), "t": table})["y"]
            except ExecutableError as error:
                assert "an index is outside of the tensor" in str(error)
                assert number not in (49, 3)
            else:
                assert np.isin(got, table).all(), number
                assert number not in (49, 3) or (got == number + 1).all()
