"""Tests of the Python package and of compiled models."""

import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

# The models are tiny: more threads only make the tests slow on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Tracing a model makes many objects that live until it is exported: looking for garbage every 700 objects takes 7 % of the time, and half of that as rarely as here.
gc.set_threshold(100_000, 20, 20)

ROOT = Path(__file__).resolve().parents[2]
# Compiled CUDA kernels are kept with the build, not in the user's home.
os.environ.setdefault("MOE_CACHE_DIR", str(Path(os.environ.get("MOE_BUILD_DIR", ROOT / "build")) / "kernel-cache"))
sys.path.insert(0, str(ROOT / "python"))

# A shell lets what it starts in the background ignore signals, as nohup does, and processes inherit that: tests send them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)

# Where tests share results, see moe_mlir.testing.shared: a folder of scripts/test for all suites, else one of this run. The processes
# of pytest-xdist inherit it.
if "MOE_TEST_RESULTS" not in os.environ:
    os.environ["MOE_TEST_RESULTS"] = tempfile.mkdtemp(prefix="moe-results-")
    atexit.register(shutil.rmtree, os.environ["MOE_TEST_RESULTS"], ignore_errors=True)
