"""A checkpoint, and the command line on it."""

import pytest
import torch

from moe_mlir.cli import main
from moe_mlir.testing.models import tiny_model


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "little"
    tiny_model("mixtral", dtype=torch.bfloat16, num_hidden_layers=1, vocab_size=256).save_pretrained(folder)
    return folder


@pytest.fixture
def copied(checkpoint, tmp_path):
    """A copy of the checkpoint that a test may damage."""
    out = tmp_path / "copy"
    out.mkdir()
    for file in checkpoint.iterdir():
        (out / file.name).write_bytes(file.read_bytes())
    return out


@pytest.fixture
def fails(capsys):
    """Function: arguments of the command line -> (exit code, the one line that it writes)."""

    def run(*arguments):
        code = main([*map(str, arguments), "-q"])
        error = capsys.readouterr().err
        assert error.startswith("error: ") and error.count("\n") == 1 and len(error) < 800, error
        return code, error.removeprefix("error: ").rstrip("\n")

    return run


@pytest.fixture
def output(tmp_path):
    """`-o FILE`; nothing may be left there."""
    (tmp_path / "out").mkdir()
    yield "-o", tmp_path / "out" / "m.pt2"
    assert list((tmp_path / "out").iterdir()) == []
