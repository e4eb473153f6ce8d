"""Compiles programs for a GPU; what they do on a GPU is for benchmarks/, here they run on the CPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test" / "python" / "driver"))

from compiling import compile_model, expect_error, files, pack  # noqa: E402, F401
from nvrtc import find_nvrtc  # noqa: E402

BUILD = Path(os.environ.get("MOE_BUILD_DIR", ROOT / "build"))

needs_cuda = pytest.mark.skipif(
    find_nvrtc() is None or not (BUILD / "lib" / "moe-mlir" / "moert_launcher_cuda.o").exists(),
    reason="NVRTC or the CUDA runtime is not installed (nvidia-cuda-nvrtc and nvidia-cuda-runtime of python/requirements.txt)",
)


def compile_for_gpu(source, output, *flags, **options):
    done = compile_model(source, "-o", output, "--target=cuda:sm_90a", "-q", *flags, **options)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no warning: no kernel spills
    return output


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=300)
