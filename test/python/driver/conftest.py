"""A compiled model for the tests of `Executable`."""

import pytest

from moe_mlir import Executable
from moe_mlir.testing.compiling import compile_model
from moe_mlir.testing.paths import TINY_MOE


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return compile_model(TINY_MOE, tmp_path_factory.mktemp("tiny"), dtype="float32").path


@pytest.fixture
def model(path):
    with Executable(path, threads=2) as model:
        yield model
