"""What the runtime says of NCCL's functions is what NCCL's headers say, of each version that is there."""

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest
from emitted import ROOT, host_compiler

# Folders with nccl.h: those of MOE_NCCL_INCLUDE, and that of the package nvidia-nccl-cu13.
PLACES = [*os.environ.get("MOE_NCCL_INCLUDE", "").split(":"), sysconfig.get_path("purelib") + "/nvidia/nccl/include"]
FOUND = [place for place in PLACES if place and (Path(place) / "nccl.h").exists()]


@pytest.mark.skipif(not FOUND, reason="NCCL's headers are not installed (package nvidia-nccl-cu13, or folders in MOE_NCCL_INCLUDE)")
def test_functions_are_those_of_the_headers(tmp_path):
    command = [host_compiler(), "-std=c++17", "-fsyntax-only", "-w", f"-I{ROOT}/runtime/lib", f"-I{ROOT}/runtime/include", "-isystem", "/usr/local/cuda/include"]
    for place in FOUND:
        done = subprocess.run([*command, "-isystem", place, ROOT / "runtime" / "test" / "cuda" / "NcclHeader.cpp"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        # Another type of a parameter is an error.
        (tmp_path / "cuda").mkdir(exist_ok=True)
        header = (ROOT / "runtime" / "lib" / "cuda" / "Nccl.h").read_text()
        assert "size_t offset, int rank" in header
        (tmp_path / "cuda" / "Nccl.h").write_text(header.replace("size_t offset, int rank", "int offset, int rank"))
        done = subprocess.run([command[0], f"-I{tmp_path}", *command[1:], "-isystem", place, ROOT / "runtime" / "test" / "cuda" / "NcclHeader.cpp"], capture_output=True, text=True)
        assert done.returncode != 0 and "isSame" in done.stderr
