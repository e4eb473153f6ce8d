"""Lowers graph-level text all the way and runs it on NumPy arrays."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kernels"))

from compiled import BF16, BIN, Program, Stopped, host_has, pack  # noqa: E402,F401

CPUS = ["native"] + (["x86-64-v3"] if host_has("avx2") else [])
MLIR_TYPES = {np.dtype(np.float32): "f32", BF16: "bf16", np.dtype(np.float16): "f16", np.dtype(np.int64): "i64", np.dtype(np.int32): "i32",
              np.dtype(np.bool_): "i1"}


def tensor(shape, dtype):
    """Text of a tensor type; None is a dynamic size."""
    sizes = "".join(f"{'?' if size is None else size}x" for size in shape)
    return f"tensor<{sizes}{dtype if isinstance(dtype, str) else MLIR_TYPES[np.dtype(dtype)]}>"


def graph(text, cpu="native", form="tiles"):
    """Compile graph-level text with one function @main. In the form "rows" each nn.attention is made a query at a time, as on a GPU, in place of products of tiles."""
    if form == "rows":
        text, count = re.subn(r"(scale\([^)]*\)(?: causal)?(?: window\(\d+\))?)", r"\1 {kernel.by_rows}", text)
        assert count == text.count("nn.attention")
    done = subprocess.run([BIN / "moe-opt", "-", "--kernel-set-target=target=cpu:" + cpu, "--graph-to-kernel"],
                          input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    program = Program(done.stdout, cpu)
    program.kernel_text = done.stdout
    return program


def launches(program):
    """Names of the kernels that a program launches, in order."""
    return re.findall(r"kernel\.launch @(\w+)", program.kernel_text)


def random(shape, dtype=np.float32, seed=0, scale=1.0):
    return (np.random.default_rng([seed, *shape]).standard_normal(shape) * scale).astype(dtype)


def assert_close(actual, expected, dtype=np.float32):
    """Within the rounding of the type, relative to the largest value."""
    bound = {BF16: 2.0**-7, np.dtype(np.float16): 2.0**-10}.get(np.dtype(dtype), 1e-5)
    actual, expected = np.asarray(actual, np.float64), np.asarray(expected, np.float64)
    assert actual.shape == expected.shape
    if expected.size:
        difference, largest = np.abs(actual - expected).max(), np.abs(expected).max()
        assert difference <= bound * max(largest, 1e-30), f"difference {difference:.3g}, largest {largest:.3g}"
