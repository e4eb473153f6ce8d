"""What the runtime says of NCCL's functions is what NCCL's headers say, of each version that is there."""

import os
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest
from emitted import BUILD, ROOT, host_compiler

# Folders with nccl.h: those of MOE_NCCL_INCLUDE, and that of the package nvidia-nccl-cu13.
PLACES = [*os.environ.get("MOE_NCCL_INCLUDE", "").split(":"), sysconfig.get_path("purelib") + "/nvidia/nccl/include"]
FOUND = [place for place in PLACES if place and (Path(place) / "nccl.h").exists()]


@pytest.mark.skipif(not FOUND, reason="NCCL's headers are not installed (package nvidia-nccl-cu13, or folders in MOE_NCCL_INCLUDE)")
def test_functions_are_those_of_the_headers(tmp_path):
    includes = re.search(r"^build runtime/lib/CMakeFiles/moert_cuda_objects.*?^  INCLUDES = ([^\n]*)", (BUILD / "build.ninja").read_text(), re.M | re.S)[1]
    command = [host_compiler(), "-std=c++17", "-fsyntax-only", "-w", *includes.split()]
    for place in FOUND:
        done = subprocess.run([*command, "-isystem", place, ROOT / "runtime" / "test" / "cuda" / "NcclHeader.cpp"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        # Another type of a parameter is an error.
        (tmp_path / "cuda").mkdir(exist_ok=True)
        header = (ROOT / "runtime" / "lib" / "cuda" / "Nccl.h").read_text()
        assert "size_t count, int type" in header
        (tmp_path / "cuda" / "Nccl.h").write_text(header.replace("size_t count, int type", "int count, int type"))
        done = subprocess.run([command[0], f"-I{tmp_path}", *command[1:], "-isystem", place, ROOT / "runtime" / "test" / "cuda" / "NcclHeader.cpp"], capture_output=True, text=True)
        assert done.returncode != 0 and "isSame" in done.stderr
