"""Numbers at the ends of 64 bits in a text: programs equal those of numbers that mean the same."""

import numpy as np
import pytest

from moe_mlir import Executable

from compiling import compile_model

KEYS = "tensor<?x2x32x16xf32>"
ROWS = "tensor<?x2x4x16xf32>"
DIMS = 'moe.dims = ["b", "", "", ""]'
# Two layers: the second one asks for the constants of its kernel once more.
TEXT = f"""module attributes {{{{moe.level = "graph"}}}} {{{{
  func.func @main(%q: {ROWS} {{{{moe.name = "q", {DIMS}}}}}, %k: {KEYS} {{{{moe.name = "k", {DIMS}}}}})
      -> ({ROWS} {{{{moe.name = "o", {DIMS}}}}}, {ROWS} {{{{moe.name = "p", {DIMS}}}}}) {{{{
    %w = arith.constant dense<1.5> : tensor<16xf32>
    %n = nn.rms_norm %q, %w eps(1.0e-5) : {ROWS}, tensor<16xf32>
    %o = nn.attention %n, %k, %k scale(0.25) {{0}}window({{1}}) : {ROWS}, {KEYS}, {KEYS} -> {ROWS}
    %p = nn.attention %o, %k, %k scale(0.25) {{0}}window({{1}}) : {ROWS}, {KEYS}, {KEYS} -> {ROWS}
    return %o, %p : {ROWS}, {ROWS}
  }}}}
}}}}
"""


def run(folder, causal, window, inputs):
    source = folder / f"{window}.mlir"
    source.write_text(TEXT.format(causal, window))
    done = compile_model(source, "--weights=none", "-q", "-o", folder / str(window))
    assert done.returncode == 0, done.stderr
    return Executable(folder / str(window)).run(inputs)


@pytest.mark.parametrize("causal", ["", "causal "])
def test_windows(causal, tmp_path):
    random = np.random.default_rng(0)
    inputs = {"q": random.standard_normal((3, 2, 4, 16), np.float32), "k": random.standard_normal((3, 2, 32, 16), np.float32)}
    expected = run(tmp_path, causal, 1000, inputs)
    assert np.abs(expected["p"]).min() > 0
    # A table that mistakes the number for its own mark finds what lies in memory: not each time something that shows.
    for window in (2**63 - 1, 2**63 - 1, 2**63 - 1, 2**63 - 2):
        outputs = run(tmp_path, causal, window, inputs)
        for name, value in expected.items():
            assert np.array_equal(outputs[name], value), (window, name)
