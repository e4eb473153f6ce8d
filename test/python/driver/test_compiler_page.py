"""The hand-written module of docs/Compiler.md, compiled and run by the page's own commands."""

import re
import subprocess

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import save_file

from moe_mlir import reference

from compiling import TOOL
from readme import ROOT, blocks

PAGE = ROOT / "docs" / "Compiler.md"
(LAYER,) = re.findall(r"^```mlir\n(module .*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
COMMANDS = [line for block in blocks(PAGE) for line in block.splitlines() if "layer" in line and "model.pt2" not in line]


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(1)
    shapes = {key: [int(size) for size in sizes.split("x")] for key, sizes in re.findall(r'moe\.parameter \["(.*?)"\] : tensor<([0-9x]+)xbf16>', LAYER)}
    weights = {key: random.normal(0, shape[-1] ** -0.5, shape).astype(ml_dtypes.bfloat16) for key, shape in shapes.items()}
    save_file(weights, tmp_path / "w.safetensors")
    x = random.normal(0, 1, (5, 64)).astype(ml_dtypes.bfloat16).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "layer.mlir").write_text(LAYER)
    router, w_in, w_out = (weights[key].astype(np.float64) for key in ("router", "experts.gate_up", "experts.down"))
    logits = (x.astype(np.float64) @ router.T).astype(ml_dtypes.bfloat16).astype(np.float64)
    np.save(tmp_path / "expected.npy", reference.moe_layer(x, logits, reference.Experts(w_in, w_out, gated=True), 2, renormalization="sum"))
    return tmp_path


def run(folder, line):
    done = subprocess.run(["sh", "-c", line.replace("moe-compile ", f"'{TOOL}' -q ", 1)], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def check(folder):
    expected = np.load(folder / "expected.npy")
    np.testing.assert_allclose(np.load(folder / "out" / "y.npy").astype(np.float64), expected, rtol=2**-6, atol=2**-6 * np.abs(expected).max())


def test_commands():
    """What is run here is what the page has."""
    assert [line.split()[0] for line in COMMANDS] == ["moe-compile", "./layer", "moe-compile"]


def test_layer(folder):
    compile_line, run_line, _ = COMMANDS
    run(folder, compile_line)
    run(folder, run_line)
    check(folder)


def test_layer_for_a_gpu(folder):
    """The program for the CPU in it, where there is no GPU."""
    _, run_line, compile_line = COMMANDS
    probe = subprocess.run([TOOL, "layer.mlir", "--target=cuda:sm_90a", "--weights=none", "-o", "probe", "-q"], cwd=folder, capture_output=True, text=True)
    if probe.returncode == 1 and ("NVRTC" in probe.stderr or "without the CUDA runtime" in probe.stderr):
        pytest.skip("no NVRTC or no CUDA runtime here")
    run(folder, compile_line)
    assert all((folder / name).is_file() for name in ("layer", "layer.weights", "layer.cpu.weights"))
    run(folder, run_line.replace("./layer", "./layer --device cpu"))
    check(folder)
