"""The commands of docs/Overlap.md and docs/Simulation.md run as they stand."""

import sys
from pathlib import Path
from xml.dom import minidom

import pytest

from moe_mlir.testing.compiling import export_model, moe_compile
from moe_mlir.testing.models import tiny_model

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test" / "python" / "driver"))

from readme import run_blocks  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    """With the model that the pages compile: of bytes, and wide enough for slices."""
    model = tiny_model("mixtral", vocab_size=256, hidden_size=512, num_hidden_layers=1)
    export_model(model, tmp_path / "model.pt2", max_cache_len=64, vocabulary="bytes")
    (tmp_path / "data").symlink_to(ROOT / "data")
    return tmp_path


def test_overlap(folder):
    """An edited schedule runs, and is simulated on as many ranks as it is for."""
    printed, chosen = run_blocks(ROOT / "docs" / "Overlap.md", folder)
    assert "simulated: layer on 2 x H800, 8192 tokens per rank" in printed
    assert "schedule:  overlap, chunk = 64, order = source, steps = [1, 1], slices = 8\n" in printed
    minidom.parse(str(folder / "t.svg"))
    assert "schedule:  overlap" in chosen


def test_simulation(folder):
    (folder / "ir").mkdir()
    moe_compile(folder / "model.pt2", folder / "ir" / "2_scheduled.mlir", "--parallel=ep=8", "--to=scheduled")
    [printed] = run_blocks(ROOT / "docs" / "Simulation.md", folder)
    assert "simulated: layer on 8 x H800, 2048 tokens per rank" in printed
    assert "simulated: mixtral-8x7b on 8 x H800" in printed
    assert "median deviation" in printed
