"""The commands of examples/overlap do what it says."""

import re
import sys
from pathlib import Path
from xml.dom import minidom

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test" / "python" / "driver"))

from readme import run_blocks  # noqa: E402

PAGE = ROOT / "examples" / "overlap" / "README.md"


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    """Its blocks ran, in which results are compared: their folder and what they printed."""
    folder = tmp_path_factory.mktemp("overlap")
    return folder, run_blocks(PAGE, folder)


def test_every_layer_has_a_schedule(tour):
    folder, printed = tour
    assert printed[0].split() == ["schedule(<plain>)"] * 4
    assert (folder / "overlap.mlir").read_text().count("steps = [1, 1]") == 4


def test_the_timeline_shows_the_edit(tour):
    """The first product: its own rows, and then those of the other rank with what was left over of its own; or all in one step."""
    assert re.findall(r"experts_up_\w+, phase (\d): rows of ranks (\[[\d, ]*\])", tour[1][3]) == [("0", "[0]"), ("1", "[0, 1]"), ("0", "[0, 1]")]
    for member in ("experts_down", "return_sums"):
        assert re.findall(rf"{member}_\w+, phase (\d)", tour[1][3]) == ["0", "1"] * 2


def test_the_prediction_and_the_picture(tour):
    folder, printed = tour
    lines = printed[4].splitlines()
    assert lines[0].startswith("simulated: layer on 2 x H200") and "steps = [1, 1], " in lines[1]
    assert "simulated: qwen3-30b on 8 x H200" in printed[4]
    minidom.parse(str(folder / "overlap.svg"))
