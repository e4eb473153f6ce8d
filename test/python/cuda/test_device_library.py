"""The device library, compiled for sm_90a: the kernels that run emulated in runtime/test/emulation are good GPU code too."""

import re
from pathlib import Path

import pytest
from nvrtc import Nvrtc, find_nvrtc, usages

KERNELS = Path(__file__).resolve().parents[3] / "runtime" / "test" / "emulation" / "kernels"

# Registers per kernel: launch bounds of 384 threads leave 168, which setmaxnreg redistributes.
REGISTERS = {
    "gemm": {"gemm": 168},
    "gather": {"gatherByStores": 168, "gatherByCopies": 168},
    "staged": {"staged32": 96, "staged64": 96, "staged128": 96, "staged64F16": 96},
    "rows": {"softmax": 64, "countExperts": 64},
    "ranks": {"exchangeRows": 96},
    "overlap": {"overlapLayers": 96},
    "every_primitive": {"everyPrimitive": 255, "everyShape": 255},
}


@pytest.fixture(scope="module")
def compiled():
    folder = find_nvrtc()
    if folder is None:
        pytest.skip("NVRTC is not installed (package nvidia-cuda-nvrtc of python/requirements.txt)")
    compiler, done = Nvrtc(folder), {}

    def get(file):
        if file not in done:
            done[file] = compiler.compile((KERNELS / f"{file}.cu").read_text(), f"{file}.cu")
        return done[file]

    return get


def test_every_kernel_file_is_compiled():
    assert {path.stem for path in KERNELS.glob("*.cu")} == set(REGISTERS)


@pytest.mark.parametrize("file", REGISTERS)
def test_compiles_without_spills_or_serialisation(compiled, file):
    """C75xx are ptxas's words on wgmma and setmaxnreg: ignored, serialised, waits injected."""
    cubin, log = compiled(file)
    assert cubin is not None, log
    assert "warning" not in log and not re.search(r"\(?C75\d\d", log), log
    found = usages(log)
    assert set(found) == set(REGISTERS[file])
    for kernel, usage in found.items():
        assert usage.spills == 0, kernel
        assert usage.registers <= REGISTERS[file][kernel], kernel
        # sin and cos of large numbers need local memory; no other function does.
        assert usage.stack == 0 or kernel == "everyPrimitive", kernel


def test_injected_waits_would_be_seen(compiled):
    """Reading accumulators without the wait that names them makes ptxas add one, and say so."""
    compiled("gemm")
    text = (KERNELS / "gemm.cu").read_text().replace("    wgmmaWait<0>(d);\n", "")
    _, log = Nvrtc(find_nvrtc()).compile(text)
    assert re.search(r"C75\d\d", log), log
