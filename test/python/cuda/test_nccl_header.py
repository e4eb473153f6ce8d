"""What the runtime says of NCCL's functions is what NCCL's headers say, of each version that is there: two, once scripts/nccl-headers has run."""

import os
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest
from emitted import BUILD, ROOT, host_compiler

from moe_mlir.testing.full import FULL

VERSIONS = re.search(r"^for version in (.*); do$", (ROOT / "scripts" / "nccl-headers").read_text(), re.M)[1].split()
PINNED = [BUILD / "nccl-headers" / version for version in VERSIONS]
# Others with nccl.h: those of MOE_NCCL_INCLUDE, and that of the package nvidia-nccl-cu13.
OTHERS = [Path(place) for place in [*os.environ.get("MOE_NCCL_INCLUDE", "").split(":"), sysconfig.get_path("purelib") + "/nvidia/nccl/include"] if place]
FOUND = [place for place in OTHERS if (place / "nccl.h").exists()]


def check(place, folder):
    includes = re.search(r"^build runtime/lib/CMakeFiles/moert_cuda_objects.*?^  INCLUDES = ([^\n]*)", (BUILD / "build.ninja").read_text(), re.M | re.S)[1]
    command = [host_compiler(), "-std=c++17", "-fsyntax-only", "-w", *includes.split()]
    done = subprocess.run([*command, "-isystem", place, ROOT / "runtime" / "test" / "cuda" / "NcclHeader.cpp"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    # Another type of a parameter is an error.
    (folder / "cuda").mkdir()
    header = (ROOT / "runtime" / "lib" / "cuda" / "Nccl.h").read_text()
    assert "size_t count, int type" in header
    (folder / "cuda" / "Nccl.h").write_text(header.replace("size_t count, int type", "int count, int type"))
    done = subprocess.run([command[0], f"-I{folder}", *command[1:], "-isystem", place, ROOT / "runtime" / "test" / "cuda" / "NcclHeader.cpp"], capture_output=True, text=True)
    assert done.returncode != 0 and "isSame" in done.stderr


@pytest.mark.skipif(not FULL and not PINNED[0].parent.exists(), reason="NCCL's headers are not there: scripts/nccl-headers downloads those of two versions")
@pytest.mark.parametrize("place", PINNED, ids=lambda place: place.name)
def test_functions_are_those_of_the_headers(place, tmp_path):
    assert (place / "nccl.h").exists(), f"NCCL {place.name} is not there: run scripts/nccl-headers"
    text = (place / "nccl.h").read_text()
    said = [re.search(rf"^#define NCCL_{part}\s+(\d+)", text, re.M)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    assert ".".join(said) == place.name
    check(place, tmp_path)


@pytest.mark.skipif(not FOUND, reason="no other headers of NCCL (package nvidia-nccl-cu13, or folders in MOE_NCCL_INCLUDE)")
@pytest.mark.parametrize("place", FOUND, ids=str)
def test_other_headers(place, tmp_path):
    check(place, tmp_path)


def test_two_versions_are_wanted():
    """One before windows that a host can ask for, one with them (kNcclWindows)."""
    old, new = (tuple(map(int, version.split("."))) for version in VERSIONS)
    assert (2, 18, 1) <= old < (2, 29, 2) <= new
