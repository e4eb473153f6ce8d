"""The benchmark's rounds, with two sides whose times are known."""

import json
import os
import sys
from pathlib import Path

import pytest
from moe_bench.errors import BenchError
from moe_bench.pairing import Pair
from moe_bench.rows import Row
from moe_bench.worker import Worker

FAKE = Path(__file__).with_name("fake_worker.py")
ROW = Row("tiny", "float32", "prefill", 16, 4)


class FakeMachine:
    """6 GFLOP at 1 TFLOP/s: 6 ms; 1 MB at 1 GB/s: 1 ms."""

    def peak(self, dtype):
        return 1e12

    def read_bandwidth(self, bytes_):
        return 1e9


@pytest.fixture
def side(tmp_path):
    """Function that starts a fake side; all of them end with the test."""
    workers = []

    def start(name, **settings):
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps({"logits": [1.0, -2.0, 0.5], "log": str(tmp_path / "log"), **settings}))
        workers.append(Worker(name, [sys.executable, str(FAKE), str(file)], os.sched_getaffinity(0), timeout=30))
        return workers[-1]

    yield start
    for worker in workers:
        worker.close()


def measure(side, rounds=7, turn=0.01, compiled={}, peer={}, other=None):
    records = []
    others = [side("other", **{"each": True, **other})] if other else []
    ours = side("compiled", **{"variants": {"compiled": [0.010]}, **compiled})
    theirs = side("peer", **{"variants": {"eager": [0.020], "grouped_mm": [0.021]}, **peer})
    return Pair(ours, theirs, FakeMachine(), records.append, turn, others).measure(ROW, rounds), records


def test_ratio_is_the_median_of_the_rounds(side):
    # The first answer of the peer is the trial.
    eager = [0.020, 0.010, 0.030, 0.020, 0.020, 0.020, 0.020, 0.020]
    summary, records = measure(side, peer={"variants": {"eager": eager, "grouped_mm": [0.024]}})
    assert summary["ratio"] == pytest.approx(2.0)
    assert (summary["low"], summary["high"]) == (pytest.approx(1.0), pytest.approx(3.0))
    assert (summary["peer"], summary["rounds"]) == ("eager", 7)
    assert summary["floor"] == pytest.approx(0.6)
    assert summary["peer_floor"] == pytest.approx(0.3)
    assert summary["tokens_per_second"] == pytest.approx(64 / 0.010)
    rounds = [r for r in records if r["type"] == "round"]
    assert [r["samples"]["eager"]["seconds"] for r in rounds] == eager[1:]


def test_rounds_end_when_they_are_enough(side):
    records = []
    ours, theirs = side("compiled", variants={"compiled": [0.010]}), side("peer", variants={"eager": [0.020]})
    summary = Pair(ours, theirs, FakeMachine(), records.append, 0.01).measure(ROW, 7, lambda summary: summary["rounds"] == 3)
    assert summary["rounds"] == 3 and len([r for r in records if r["type"] == "round"]) == 3
    assert list(summary["spent"]) == ["peer", "compiled", "rounds"] and summary["spent"]["rounds"] > 3 * 2 * 0.01
    assert summary["unavailable"] == {}


def test_best_variant_is_chosen_by_row(side):
    summary, _ = measure(side, peer={"variants": {"eager": [0.020], "grouped_mm": [0.019]}})
    assert summary["peer"] == "grouped_mm"
    assert summary["ratio"] == pytest.approx(1.9)


def test_hopeless_variant_is_left_out(side, tmp_path):
    summary, records = measure(side, peer={"variants": {"eager": [0.020], "grouped_mm": [0.050]}})
    assert summary["peer"] == "eager"
    assert records[0]["kept"] == ["eager"] and records[0]["seconds"] == {"eager": 0.020, "grouped_mm": 0.050}
    assert (tmp_path / "log").read_text().count("grouped_mm") == 1


def test_further_peers_take_turns_too(side, tmp_path):
    other = {"variants": {"llama.cpp": [0.015], "llama.cpp-flash": [0.016]}, "logits": [1.0, -2.0, 0.502]}
    summary, records = measure(side, rounds=2, other=other)
    assert (summary["peer"], summary["ratio"]) == ("llama.cpp", pytest.approx(1.5))
    assert records[0]["kept"] == ["llama.cpp", "llama.cpp-flash"] and records[0]["seconds"]["eager"] == 0.020
    assert records[0]["others_difference"] == {v: pytest.approx(0.001, rel=1e-3) for v in other["variants"]}
    turns = [line.split()[0] for line in (tmp_path / "log").read_text().splitlines()]
    assert turns[4:] == ["compiled", "llama.cpp", "llama.cpp-flash", "llama.cpp-flash", "llama.cpp", "compiled"]


def test_wrong_logits_of_a_further_peer_end_the_run(side):
    with pytest.raises(BenchError) as caught:
        measure(side, other={"variants": {"llama.cpp": [0.015]}, "logits": [1.0, -2.0, 0.6]})
    row = "tiny/float32/prefill-16/b4"
    assert str(caught.value) == f"{row}: llama.cpp: logits differ from the compiled model's by 0.05 of the largest; at most 0.001 is expected"
    assert caught.value.exit_code == 3


def test_turns_alternate_and_never_overlap(side, tmp_path):
    measure(side, rounds=2, turn=0.05)
    turns = [line.split() for line in (tmp_path / "log").read_text().splitlines()][2:]
    assert [t[0] for t in turns] == ["compiled", "eager", "grouped_mm", "grouped_mm", "eager", "compiled"]
    for earlier, later in zip(turns, turns[1:]):
        assert float(earlier[2]) <= float(later[1])


def test_idle_sides_disturb_nothing(side):
    summary, _ = measure(side, rounds=3, turn=0.2)
    assert summary["disturbed"] == 0


def test_spinning_side_is_noticed(side):
    summary, records = measure(side, rounds=2, turn=0.2, compiled={"spin": True})
    assert summary["disturbed"] == 2
    assert records[-1]["samples"]["eager"]["other_busy"] > 0.1
    assert records[-1]["samples"]["compiled"]["other_busy"] < 0.02


@pytest.mark.parametrize("logits, message", [
    ([1.0, -2.0], "tiny/float32/prefill-16/b4: 2 logits, PyTorch has 3"),
    ([1.0, -2.0, 0.6], "tiny/float32/prefill-16/b4: logits differ from PyTorch's by 0.05 of the largest; at most 0.001 is expected"),
    ([1.0, float("nan"), 0.5], "tiny/float32/prefill-16/b4: logits are not finite"),
])
def test_wrong_logits_end_the_run(side, logits, message):
    with pytest.raises(BenchError) as caught:
        measure(side, compiled={"logits": logits})
    assert str(caught.value) == message
    assert caught.value.exit_code == 3


def test_small_differences_are_reported(side):
    summary, _ = measure(side, rounds=1, compiled={"logits": [1.0, -2.0, 0.502]})
    assert summary["logits_difference"] == pytest.approx(0.001, rel=1e-3)


@pytest.mark.parametrize("how, message, code", [
    ("error", "peer: no such expert", 2),
    ("exit", "peer: the process ended (exit code 9) before it answered 'run'", 70),
])
def test_failing_side_ends_the_run(side, how, message, code):
    with pytest.raises(BenchError) as caught:
        measure(side, peer={"fail": how})
    assert (str(caught.value), caught.value.exit_code) == (message, code)


def test_silent_side_ends_the_run():
    with pytest.raises(BenchError, match="no answer to its start within 0.2 s"):
        Worker("peer", ["sleep", "0.5"], os.sched_getaffinity(0), timeout=0.2)
