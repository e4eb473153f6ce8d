"""The programs that a profile needs."""

import os
import shutil
from pathlib import Path

from ..errors import BenchError


def find_perf():
    """Path of perf; raises BenchError (2) if there is none."""
    found = shutil.which("perf")
    if not found:
        raise BenchError("perf is needed to sample a process and was not found; Debian's package is linux-perf", 2)
    return found


def find_llvm(name):
    """Path of a program of LLVM 22: beside MLIR_DIR (<prefix>/lib/cmake/mlir), else with the version in its name; raises BenchError (2) if there is none."""
    folder = Path(os.environ.get("MLIR_DIR") or "/usr/lib/llvm-22/lib/cmake/mlir").parents[2] / "bin"
    found = shutil.which(name, path=folder) or shutil.which(f"{name}-22")
    if not found:
        raise BenchError(f"{name} of LLVM 22 was not found; scripts/bootstrap installs it, MLIR_DIR=<prefix>/lib/cmake/mlir names another LLVM", 2)
    return found
