"""The compiled model's side of the benchmark, on a library that only adds up its inputs."""

import shutil
import subprocess
from array import array
from pathlib import Path

import pytest
from moe_bench.compiled_worker import Handler
from moe_bench.errors import BenchError

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[2] / "runtime" / "include"
CC = next(filter(None, map(shutil.which, ("clang-22", "clang", "gcc", "cc"))), None)


def library(folder, bf16):
    target = folder / "model.so"
    command = [CC, "-shared", "-fPIC", f"-DBF16={bf16}", f"-I{INCLUDE}", str(HERE / "fake_session.c"), "-o", str(target)]
    subprocess.run(command, check=True)
    return str(target)


@pytest.mark.parametrize("bf16", [0, 1])
def test_inputs_and_logits(tmp_path, bf16):
    handler = Handler(library(tmp_path, bf16), 2)
    assert handler.describe()["threads"] == 2
    prepared = handler.prepare([[1] * 5, [2] * 5], [[3], [4]], tmp_path / "logits")
    assert prepared == {"own_bytes": (1 << 33) + 7}
    # Position 5 and the only token; bf16 keeps 8 bits of 5003.
    expected = [4992.0, 4992.0, 4992.0, 4992.0] if bf16 else [5003.0, 5004.0, 5004.0, 5005.0]
    assert list(array("f", (tmp_path / "logits").read_bytes())) == expected
    if not bf16:
        handler.prepare([[]], [[1, 2, 3]], tmp_path / "logits")
        assert list(array("f", (tmp_path / "logits").read_bytes())) == [200006.0, 200007.0]
    assert handler.run("compiled", 0.001)["calls"] >= 1


def test_errors_of_the_model(tmp_path):
    handler = Handler(library(tmp_path, 0), 1)
    with pytest.raises(BenchError, match="token 99 is not in the vocabulary") as caught:
        handler.prepare([[]], [[99]], tmp_path / "logits")
    assert caught.value.exit_code == 2
