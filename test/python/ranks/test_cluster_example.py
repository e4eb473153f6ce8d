"""The commands of examples/cluster do what it says, where namespaces are permitted."""

import subprocess
import sys
from pathlib import Path

import pytest
from hosts import why_no_namespaces

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test" / "python" / "driver"))

from readme import run_blocks  # noqa: E402


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    if why := why_no_namespaces():
        pytest.skip(why)
    try:
        return run_blocks(ROOT / "examples" / "cluster" / "README.md", tmp_path_factory.mktemp("cluster"))
    finally:
        for node in ("node1", "node2"):
            subprocess.run(["ip", "netns", "delete", node], capture_output=True)


def test_text_is_written(tour):
    assert len(tour[2]) > 60


def test_both_hosts_say_whom_they_waited_for(tour):
    assert tour[3].count("error: rank ") >= 2 and " s for rank " in tour[3]
