"""Options and fixtures: the emulated GPU and the compiler of the build."""

from pathlib import Path

import pytest
from emulated import Emulator

KERNELS = Path(__file__).parent / "kernels"


def pytest_addoption(parser):
    parser.addoption("--library", required=True, help="libmoe_emulation.so")
    parser.addoption("--compiler", required=True, help="C++ compiler for kernel text")


@pytest.fixture(scope="session")
def emulator(request):
    return Emulator(request.config.getoption("--library"), request.config.getoption("--compiler"))


@pytest.fixture(scope="session")
def kernels(emulator, tmp_path_factory):
    """The kernels of a file, compiled once."""
    compiled = {}

    def get(file):
        if file not in compiled:
            compiled[file] = emulator.compile((KERNELS / f"{file}.cu").read_text(), tmp_path_factory.mktemp(file))
        return compiled[file]

    return get
