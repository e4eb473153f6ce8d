"""The commands of examples/expert-parallel do what it says."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test" / "python" / "driver"))

from readme import run_blocks  # noqa: E402

PAGE = ROOT / "examples" / "expert-parallel" / "README.md"


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    return run_blocks(PAGE, tmp_path_factory.mktemp("ranks"))


def test_text_is_written(tour):
    assert len(tour[1]) > 60


def test_the_ranks_program_reads_as_described(tour):
    for part in ("shard.grid @ep", "#moe.shard<dim = 0, grid = @ep, ranks = 2>", "to @ep", "via(direct)", "at @ep", "sum(<tree"):
        assert part in tour[2]


def test_every_layer_adds_up_over_ranks(tour):
    assert int(tour[3].split()[0]) > 1
