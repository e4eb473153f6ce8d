"""A program whose ranks are joined by a link of a given rate and latency: its bits stay, and the link carries what the trace says."""

import json
import time

import numpy as np
import pytest

from layer import Drawn, inputs_of, write
from moe_mlir.testing.paced import compile_paced, link
from moe_mlir.testing.ranks import assert_same_bits, compile_for, outputs_of

LAYER = Drawn(8, 2, 16, 16, True, "bf16", 33, "random")
RANKS = 2


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The layer, and the same with paced exchanges."""
    folder = tmp_path_factory.mktemp("paced")
    flags = write(LAYER, folder)
    return compile_for(folder / "layer.mlir", folder / "plain", RANKS, *flags), compile_paced(folder / "layer.mlir", folder / "paced", f"ep={RANKS}", *flags)


@pytest.mark.parametrize("carry", [False, True])
def test_bits_and_bytes(programs, tmp_path, monkeypatch, carry):
    plain, paced = programs
    calls = [inputs_of(LAYER, RANKS, seed) for seed in range(3)]
    expected = outputs_of(plain, RANKS, calls, tmp_path / "plain", "--trace", tmp_path / "plain.json")
    for name, value in link(1e8, 20000, carry, tmp_path / "report").items():
        monkeypatch.setenv(name, value)
    for threads in (1, 2):
        assert_same_bits(outputs_of(paced, RANKS, calls, tmp_path / f"paced{threads}", threads=threads), expected)
    reported = np.loadtxt(tmp_path / "report", dtype=int).reshape(2, RANKS, 2)
    # Of each rank in each call: flags of rows and of sums, and all bytes but those of the announcement, which no box holds.
    events = json.loads((tmp_path / "plain.json").read_text())["traceEvents"]
    sent = [sum(sum(e["args"]["bytes"]) for e in events if e.get("cat") == "traffic" and e["pid"] == pid) for pid in range(1, RANKS + 1)]
    for boxes, sizes in (report.T for report in reported):
        assert set(boxes) == {2 * len(calls)}
        assert sorted(sizes) == sorted(total - 8 * len(calls) for total in sent)


def test_a_slow_link_is_waited_for(programs, tmp_path, monkeypatch):
    """A run takes at least two trips, on a machine of any speed."""
    _, paced = programs
    for name, value in link(1e9, 100_000_000).items():
        monkeypatch.setenv(name, value)
    begin = time.monotonic()
    outputs_of(paced, RANKS, [inputs_of(LAYER, RANKS, 0)], tmp_path / "run")
    assert time.monotonic() - begin >= 0.2
