"""`x.to(dtype)` between all types, compiled from a .pt2, beside PyTorch: bit for bit, with its roundings."""

import ml_dtypes
import numpy as np
import torch

from moe_mlir import Executable
from moe_mlir.testing.compiling import moe_compile
from op_program import to_numpy

BF16 = np.dtype(ml_dtypes.bfloat16)  # comes back as float32
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
INTEGERS = [torch.bool, torch.int8, torch.int16, torch.int32, torch.int64]
TYPES = FLOATS + INTEGERS


class Casts(torch.nn.Module):
    def forward(self, columns):
        return [x.to(dtype) for x in columns for dtype in TYPES if x.dtype != dtype and not (x.is_floating_point() and dtype in INTEGERS[1:])]


def columns():
    """Doubles on ties of both 16-bit floats, and so close to them that PyTorch, by way of f32, takes them for ties; what no f32 or f16 holds."""
    ties = [1 + (digit + 0.5) * 2.0**-bits + beside for digit in (0, 1) for bits in (10, 7) for beside in (0, 2.0**-40, -(2.0**-40), 2.0**-20)]
    wide = torch.tensor([*ties, 65504, 65519.99, 65520, 1e5, 3.39e38, 1e39, 2.0**-25, 2.0**-25 * (1 + 2.0**-40), 1e-300, 0.0, float("inf"), 3.0], dtype=torch.float64)
    wide = torch.cat([wide, -wide])
    integers = torch.randint(-(2**62), 2**62, (len(wide),), generator=torch.Generator().manual_seed(0)) >> torch.arange(len(wide))
    return [*(wide.to(dtype) for dtype in FLOATS), *((integers % 2 == 0) if dtype == torch.bool else integers.to(dtype) for dtype in INTEGERS)]


def test_casts_of_all_types(tmp_path):
    inputs = columns()
    program = torch.export.export(Casts(), (inputs,))
    torch.export.save(program, tmp_path / "casts.pt2")
    executable = Executable(moe_compile(tmp_path / "casts.pt2", tmp_path / "casts"))
    signature = program.graph_signature
    results = executable.run(dict(zip(signature.user_inputs, map(to_numpy, inputs), strict=True)))
    wanted = Casts()(inputs)
    assert len(wanted) == 4 * 4 - 4 + 5 * 4 + 4 + 5 * 5 - 5
    wrong = []
    for name, want in zip(signature.user_outputs, wanted, strict=True):
        got, want = results[name], to_numpy(want)
        want = want.astype(np.float32) if want.dtype == BF16 else want
        if got.dtype != want.dtype or got.tobytes() != want.tobytes():
            wrong.append((name, got[:4], want[:4]))
    assert not wrong, wrong
