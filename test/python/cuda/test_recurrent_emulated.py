"""Recurrent ops on the emulated GPU: the row programs of the CPU, whose units are warps there."""

import numpy as np
import pytest
from cuda_program import needs_cuda
from emulated_program import build, call
from recurrent_programs import conv_program, scan_program

from moe_mlir import reference as ref
from moe_mlir.testing.full import sample

pytestmark = needs_cuda


@pytest.mark.parametrize("decay,delta", sample([("heads", True), ("channels", True), ("elements", False), ("channels", False), ("heads", False), ("elements", True)], 1))
def test_scan(decay, delta, tmp_path):
    graph, inputs = scan_program(decay, delta, np.random.default_rng(0))
    program = build(graph, tmp_path)
    y, after = ref.scan(inputs["q"], inputs["k"], inputs["v"], inputs["d"], inputs.get("r"), inputs.get("b"), inputs["h"])
    for seed in (1, 2):  # whichever warp is first
        call(program, tmp_path, inputs, seed)
        np.testing.assert_allclose(np.load(tmp_path / "out" / "y.npy"), y, atol=1e-5 * np.abs(y).max())
        np.testing.assert_allclose(np.load(tmp_path / "out" / "n.npy"), after, atol=1e-5 * np.abs(after).max())


def test_causal_conv(tmp_path):
    graph, inputs = conv_program(np.random.default_rng(1))
    call(build(graph, tmp_path), tmp_path, inputs)
    y = np.load(tmp_path / "out" / "y.npy").astype(np.float64)
    expected = ref.causal_conv(inputs["x"], inputs["w"], inputs["b"], "silu")
    assert np.abs(y - expected).max() <= 2**-7 * np.abs(expected).max()
