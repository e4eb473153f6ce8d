"""Each pass alone, on text of every level: whoever works on the compiler runs them in any order. None crashes or goes on for ever.

The texts are those of the lit tests; a text that the pass cannot handle is an error or stays as it is. Passes in
the order of the pipelines are for fuzz_passes.
"""

import functools
import re
import subprocess
import zlib

import pytest

from moe_mlir.testing.full import FULL
from moe_mlir.testing.paths import ROOT

PASSES = sorted(name for file in (ROOT / "include").rglob("*.td") for name in re.findall(r'^def \w+ *: *Pass<"([^"]+)"', file.read_text(), re.M))
FOLDERS = ["Conversion", "Dialect", "Pipelines", "Schedule", "Tools/moe-compile"]
PART = 1 if FULL else 24


@functools.cache
def texts():
    """The parts of all files, without their comments, which expect errors of other passes."""
    files = sorted(file for folder in FOLDERS for file in (ROOT / "test" / folder).rglob("*.mlir"))
    parts = [part for file in files for part in re.split(r"^// -----.*$", file.read_text(), flags=re.M)]
    return [re.sub(r"^ *//.*$", "", part, flags=re.M) for part in parts]


def run(name, parts):
    text = "\n// -----\n".join(parts)
    return subprocess.run(["moe-opt", "-", "--split-input-file", "--allow-unregistered-dialect", "--mlir-disable-threading", f"--{name}"],
                          input=text, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=300)


def test_there_are_passes():
    assert len(PASSES) > 50 and len(texts()) > 1000


@pytest.mark.parametrize("name", PASSES)
def test_alone(name):
    parts = [part for number, part in enumerate(texts()) if zlib.crc32(f"{name} {number}".encode()) % PART == 0]
    done = run(name, parts)
    if done.returncode not in (0, 1):
        wrong = [part for part in parts if run(name, [part]).returncode not in (0, 1)]
        pytest.fail(f"{name} ends by {done.returncode} on\n" + "\n// -----\n".join(wrong[:3]))
