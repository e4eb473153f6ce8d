"""Recurrent ops on the emulated GPU: the row programs of the CPU, whose units are warps there."""

import ml_dtypes
import numpy as np
import pytest
from cuda_program import needs_cuda
from emulated_program import build, call

from moe_mlir import reference as ref
from moe_mlir.testing.full import sample

pytestmark = needs_cuda
BF16 = np.dtype(ml_dtypes.bfloat16)


@pytest.mark.parametrize("decay,delta", sample([("heads", True), ("channels", True), ("elements", False), ("channels", False), ("heads", False), ("elements", True)], 1))
def test_scan(decay, delta, tmp_path):
    m, n, k, v = 2, 4, 6, 70
    last = {"heads": [], "channels": [k], "elements": [v]}[decay]
    shapes = {"q": [m, k], "k": [m, k], "v": [n, v], "d": [n, *last]}
    if delta:
        shapes["b"] = [n]
    types = {name: "x".join(["?x?", *map(str, shape)]) for name, shape in shapes.items()}
    if decay == "elements":
        types["r"] = f"{n}x{k}x{v}"
    types["h"] = f"?x{n}x{k}x{v}"
    text = ", ".join(f'%{name}: tensor<{t}xf32> {{moe.name = "{name}"}}' for name, t in types.items())
    clauses = " ".join(f"{word}(%{name} : tensor<{types[name]}xf32>)" for word, name in (("decay", "d"), ("rates", "r"), ("beta", "b"), ("state", "h"))
                       if name in types)  # fmt: skip
    of_keys, of_values, of_state = (f"tensor<{types[name]}xf32>" for name in "qvh")
    program = build(f"""
    func.func @main({text}) -> ({of_values} {{moe.name = "y"}}, {of_state} {{moe.name = "n"}}) {{
      %y, %n = nn.scan %q, %k, %v {clauses} : {of_keys}, {of_keys}, {of_values} -> {of_values}
      return %y, %n : {of_values}, {of_state}
    }}""", tmp_path)  # fmt: skip
    rng = np.random.default_rng(0)
    inputs = {name: rng.normal(size=(2, 5, *shape)).astype(np.float32) for name, shape in shapes.items()}
    inputs["d"], inputs["k"] = -np.abs(inputs["d"]), inputs["k"] / 3
    if decay == "elements":
        inputs["r"] = rng.random((n, k, v), np.float32)
    inputs["h"] = rng.normal(size=(2, n, k, v)).astype(np.float32)
    y, after = ref.scan(inputs["q"], inputs["k"], inputs["v"], inputs["d"], inputs.get("r"), inputs.get("b"), inputs["h"])
    for seed in (1, 2):  # whichever warp is first
        call(program, tmp_path, inputs, seed)
        np.testing.assert_allclose(np.load(tmp_path / "out" / "y.npy"), y, atol=1e-5 * np.abs(y).max())
        np.testing.assert_allclose(np.load(tmp_path / "out" / "n.npy"), after, atol=1e-5 * np.abs(after).max())


def test_causal_conv(tmp_path):
    of_x, of_w, of_b = "tensor<?x6x?xbf16>", "tensor<6x4xbf16>", "tensor<6xbf16>"
    program = build(f"""
    func.func @main(%x: {of_x} {{moe.name = "x"}}, %w: {of_w} {{moe.name = "w"}}, %b: {of_b} {{moe.name = "b"}}) -> ({of_x} {{moe.name = "y"}}) {{
      %y = nn.causal_conv %x, %w bias(%b : {of_b}) silu : {of_x}, {of_w} -> {of_x}
      return %y : {of_x}
    }}""", tmp_path)  # fmt: skip
    rng = np.random.default_rng(1)
    x, w, b = (rng.normal(size=size).astype(BF16) for size in ((2, 6, 45), (6, 4), (6,)))
    call(program, tmp_path, {"x": x.astype(np.float32), "w": w.astype(np.float32), "b": b.astype(np.float32)})
    y = np.load(tmp_path / "out" / "y.npy").astype(np.float64)
    expected = ref.causal_conv(x, w, b, "silu")
    assert np.abs(y - expected).max() <= 2**-7 * np.abs(expected).max()
