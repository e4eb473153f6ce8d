"""nn.top_k on the emulated GPU, compared with a stable sort: equal elements in order of their index, NaN is the largest number."""

import ml_dtypes
import numpy as np
import pytest
from cuda_program import needs_cuda
from emulated_program import build, call

from moe_mlir.testing.full import sample

pytestmark = needs_cuda
ROWS, LENGTH, K = 5, 300, 40
NUMBERS = [0.0, -0.0, 1.5, -1.5, 3e38, 1e-42, -1e-42, np.inf, -np.inf, np.nan]


def inputs(element):
    random = np.random.default_rng(0)
    if element.startswith("i"):
        dtype = np.dtype(np.int64 if element == "i64" else np.int32)
        x = random.integers(-5, 5, (ROWS, LENGTH)).astype(dtype)
        x[:, ::7] = np.iinfo(dtype).min
        x[:, 3::7] = np.iinfo(dtype).max
        return x
    x = random.normal(size=(ROWS, LENGTH))
    x[1:3] = np.array(NUMBERS)[random.integers(0, len(NUMBERS), (2, LENGTH))]
    x[3] = -2
    return x.astype(np.float32) if element == "f32" else x.astype(ml_dtypes.bfloat16).astype(np.float32)


def in_order(x, ascending):
    """The indices of each row by value, then by index."""
    if x.dtype == np.float32:  # NaN becomes the largest number, infinities finite ones
        x = np.nan_to_num(x.astype(np.float64), nan=np.inf, posinf=2.0**200, neginf=-(2.0**200))
    return np.argsort(x if ascending else -x.astype(object), axis=-1, kind="stable")


@pytest.mark.parametrize("element", sample(["f32", "bf16", "i64", "i32"], 1, 2))
def test_equals_a_stable_sort(element, tmp_path):
    whole, part, places = f"tensor<?x{LENGTH}x{element}>", f"tensor<?x{K}x{element}>", f"tensor<?x{K}xi64>"
    results, ops = [], []
    for word in ("", "ascending", "unordered"):
        name = word or "descending"
        ops.append(f"%{name}_v, %{name}_i = nn.top_k %x {word} : {whole} -> {part}, {places}")
        results += [(f"{name}_v", part), (f"{name}_i", places)]
    names, types = ", ".join(f"%{name}" for name, _ in results), ", ".join(t for _, t in results)
    named = ", ".join(f'{t} {{moe.name = "{name}"}}' for name, t in results)
    text = "\n      ".join(ops)
    program = build(f"""
    func.func @main(%x: {whole} {{moe.name = "x"}}) -> ({named}) {{
      {text}
      return {names} : {types}
    }}""", tmp_path)  # fmt: skip
    x = inputs(element)
    down, up = (in_order(x, ascending)[:, :K] for ascending in (False, True))
    expected = {"descending": down, "ascending": up, "unordered": np.sort(down)}
    for seed in (1, 2, 3):  # whichever warp is first
        call(program, tmp_path, {"x": x}, seed)
        for name, indices in expected.items():
            np.testing.assert_array_equal(np.load(tmp_path / "out" / f"{name}_i.npy"), indices, name)
            values = np.load(tmp_path / "out" / f"{name}_v.npy")
            np.testing.assert_array_equal(values, np.take_along_axis(x, indices, -1), name)


def test_rows_of_any_length(tmp_path):
    """Rows of a length that is known at run time, some with fewer elements than asked for: zeros follow."""
    program = build("""
    func.func @main(%x: tensor<?x?xf32> {moe.name = "x"}) -> (tensor<?x6xi64> {moe.name = "y"}) {
      %v, %i = nn.top_k %x : tensor<?x?xf32> -> tensor<?x6xf32>, tensor<?x6xi64>
      return %i : tensor<?x6xi64>
    }""", tmp_path)  # fmt: skip
    for length in (1, 4, 6, 33):
        x = np.random.default_rng(length).normal(size=(3, length)).astype(np.float32)
        call(program, tmp_path, {"x": x})
        expected = np.zeros((3, 6), np.int64)
        expected[:, :length] = np.argsort(-x, axis=-1, kind="stable")[:, :6]
        np.testing.assert_array_equal(np.load(tmp_path / "out" / "y.npy"), expected)
