"""Tests of the Python package and of compiled models."""

import os
import sys
from pathlib import Path

# The models are tiny: more threads only make the tests slow on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")

ROOT = Path(__file__).resolve().parents[2]
# Compiled CUDA kernels are kept with the build, not in the user's home.
os.environ.setdefault("MOE_CACHE_DIR", str(Path(os.environ.get("MOE_BUILD_DIR", ROOT / "build")) / "kernel-cache"))
sys.path.insert(0, str(ROOT / "python"))
