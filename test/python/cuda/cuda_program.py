"""Compiles programs for a GPU; what they do on a GPU is for benchmarks/, here they run on the CPU."""

import os
import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from moe_mlir import reference

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test" / "python" / "driver"))

from compiling import compile_model, expect_error, files, pack  # noqa: E402, F401
from emitted import Shape  # noqa: E402
from nvrtc import find_nvrtc  # noqa: E402

SHAPE = Shape(96, 80, 8, 2)
BUILD = Path(os.environ.get("MOE_BUILD_DIR", ROOT / "build"))

needs_cuda = pytest.mark.skipif(
    find_nvrtc() is None or not (BUILD / "lib" / "moe-mlir" / "moert_launcher_cuda.o").exists(),
    reason="NVRTC or the CUDA runtime is not installed (nvidia-cuda-nvrtc, nvidia-cuda-runtime and nvidia-cuda-crt of python/requirements.txt)",
)


def compile_for_gpu(source, output, *flags, **options):
    done = compile_model(source, "-o", output, "--target=cuda:sm_90a", "-q", *flags, **options)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no warning: no kernel spills
    return output


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)


def layer_text(element="bf16"):
    """The layer of the emulation's tests, with its weights as parameters."""
    text = SHAPE.text().replace("bf16", element).replace("func.func @main", 'module attributes {moe.level = "graph"} {\nfunc.func @main', 1) + "}\n"
    for name in ("router", "w_in", "w_out"):
        (type_,) = re.findall(rf"%{name}: (tensor<[^>]*>) {{[^}}]*}}", text)
        text = re.sub(rf",\s*%{name}: tensor<[^>]*> {{[^}}]*}}", "", text)
        text = text.replace("  %logits =", f'  %{name} = moe.parameter ["{name}"] : {type_}\n  %logits =')
    return text


def layer_weights(dtype=ml_dtypes.bfloat16):
    """Small integers, so that the sums of products are exact."""
    random = np.random.default_rng(1)
    weights = {
        "router": random.integers(-3, 4, (SHAPE.E, SHAPE.H)),
        "w_in": random.integers(-2, 3, (SHAPE.E, 2 * SHAPE.I, SHAPE.H)),
        "w_out": random.integers(-2, 3, (SHAPE.E, SHAPE.H, SHAPE.I)),
    }
    return {name: weight.astype(dtype) for name, weight in weights.items()}


def check_layer(x, weights, y, tolerance=2**-6):
    """y is what NumPy computes; the experts' hidden values and the result are rounded to the weights' type."""
    router, w_in, w_out = (weights[name].astype(np.float64) for name in ("router", "w_in", "w_out"))
    logits = (x.astype(np.float64) @ router.T).astype(weights["router"].dtype).astype(np.float64)
    experts = reference.Experts(w_in, w_out, None, None, gated=True)
    expected = reference.moe_layer(x, logits, experts, SHAPE.k, renormalization="sum")
    assert y.shape == expected.shape
    if len(x):
        np.testing.assert_allclose(y, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())
