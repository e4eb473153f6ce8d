"""Rounds of the layer benchmark, with sides whose times are known."""

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import pytest
from moe_bench.errors import BenchError
from moe_bench.layers import cli, figure, goals, measuring, report
from moe_bench.layers.measuring import Sides, summarize
from moe_bench.layers.rows import SHAPES, Row

ROW = Row(SHAPES[0], "float32", 64, "uniform")
WORK = {"flops": 6e9, "bytes": 1e6}


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """These sides have no threads that would need time to settle between turns."""
    monkeypatch.setattr(measuring.time, "sleep", lambda seconds: None)


class FakeMachine:
    """6 GFLOP at 1 TFLOP/s: 6 ms; 1 MB at 1 GB/s: 1 ms, times `speeds` if they are given."""

    def __init__(self, log, speeds=()):
        self.log, self.speeds = log, list(speeds)

    def measure_peak(self, dtype, seconds):
        return 1e12

    def read_bandwidth(self, bytes_):
        self.log.append("read")
        return 1e9 * (self.speeds.pop(0) if self.speeds else 1)


class FakeSide:
    """Variants with the times of their turns, the last one repeated; `distance` is what "compare" answers."""

    def __init__(self, log, distance=0.0, busy=0.0, **variants):
        self.log, self.distance, self.variants, self.busy, self.turns = log, distance, variants, busy, {}

    def ask(self, do, **arguments):
        if do == "prepare":
            return {"variants": list(self.variants), **({"huge_pages": 0.25} if "compiled" in self.variants else {})}
        if do == "compare":
            assert Path(arguments["expected"]).name == "compiled.npy"
            return {"distance": self.distance}
        variant = arguments["variant"]
        self.log.append(variant)
        turn = self.turns[variant] = self.turns.get(variant, -1) + 1
        times = self.variants[variant]
        return {"seconds": times[min(turn, len(times) - 1)]}

    def cpu_seconds(self):
        self.turns["cpu"] = self.turns.get("cpu", 0) + self.busy
        return self.turns["cpu"]


def measure(ours=(0.010,), rounds=4, row_seconds=100, distance=0.0, busy=0.0, best=math.inf, speeds=(), **peers):
    log, records = [], []
    workers = {name: FakeSide(log, busy=busy, **{name: times}) for name, times in peers.items()}
    sides = Sides(FakeSide(log, distance, compiled=ours), workers, FakeMachine(log, speeds), records.append, 0.001, rounds, row_seconds)
    return sides.measure(ROW, WORK, best), log, records


def test_ratio_is_to_the_best_peer_and_the_median_of_the_rounds():
    # The first answer of each side is the trial.
    part, _, _ = measure(a=[0.020, 0.010, 0.030, 0.020], b=[0.021])
    s = summarize(ROW, WORK, [part])
    assert (s["peer"], s["rounds"], s["peers"].keys()) == ("a", 4, {"a", "b"})
    assert (s["ratio"], s["low"], s["high"]) == (pytest.approx(2.0), pytest.approx(1.0), pytest.approx(3.0))
    assert s["peers"]["b"]["ratio"] == pytest.approx(2.1)
    assert (s["floor"], s["peers"]["a"]["floor"]) == (pytest.approx(0.6), pytest.approx(0.3))
    assert s["floor_seconds"] == pytest.approx(0.006)


def test_groups_of_peers_are_one_row():
    parts = [measure(ours=[0.010], a=[0.020])[0], measure(ours=[0.012], rounds=3, b=[0.018])[0]]
    s = summarize(ROW, WORK, parts)
    assert (s["peer"], s["rounds"]) == ("b", 7)
    assert (s["ratio"], s["seconds"]) == (pytest.approx(1.5), pytest.approx(0.010))


def test_our_turn_is_between_two_reads_and_the_order_alternates():
    _, log, _ = measure(rounds=3, row_seconds=0.1, a=[0.020], b=[0.020])
    assert log[:3] == ["compiled", "a", "b"]
    first, second = ["read", "compiled", "read", "a", "b", "read"], ["read", "b", "a", "read", "compiled", "read"]
    assert log[3:] == first + second + first


@pytest.mark.parametrize("jump", range(3))
def test_rounds_in_which_the_bandwidth_jumps_do_not_count(jump):
    speeds = [1.0] * 12
    speeds[3 + jump] = 1.2
    part, _, records = measure(a=[0.020, 0.020, 0.050, 0.020, 0.020], speeds=speeds)
    s = summarize(ROW, WORK, [part])
    assert (s["rounds"], s["left_out"], s["high"]) == (3, 1, pytest.approx(2.0))
    assert sum(r["type"] == "round" for r in records) == 4
    # Too few would remain: all count.
    s = summarize(ROW, WORK, [(part[0][:3], part[1])])
    assert (s["rounds"], s["left_out"], s["high"]) == (3, 0, pytest.approx(5.0))


def test_rounds_fit_into_the_time_of_a_row():
    assert len(measure(rounds=9, row_seconds=2.5, a=[0.020])[0][0]) == 6
    assert len(measure(rounds=9, row_seconds=0.1, a=[0.020])[0][0]) == 3


def test_hopeless_peer_is_left_out_but_recorded():
    part, log, records = measure(a=[0.020], b=[0.050])
    assert log.count("b") == 1
    assert records[0]["kept"] == ["compiled", "a"] and records[0]["seconds"]["b"] == 0.050
    assert records[0]["huge_pages"] == 0.25
    s = summarize(ROW, WORK, [part])
    assert s["peers"]["b"] == {"seconds": 0.050}
    assert "5.0*" in report.table([s])


def test_group_without_a_peer_near_the_best_one_has_no_rounds():
    first = measure(ours=[0.010], a=[0.020])[0]
    part, log, records = measure(best=2.0, b=[0.031], c=[0.15])
    assert log == ["compiled", "b", "c"] and records[0]["kept"] == ["compiled"]
    s = summarize(ROW, WORK, [first, part])
    assert (s["peer"], s["rounds"], s["peers"]["b"], s["peers"]["c"]) == ("a", 4, {"seconds": 0.031}, {"seconds": 0.15})
    part, log, _ = measure(best=2.0, b=[0.029], c=[0.15])
    assert log.count("b") == 5 and log.count("c") == 1
    assert summarize(ROW, WORK, [first, part])["peers"]["b"]["ratio"] == pytest.approx(2.9)


def test_without_peers_the_floor_remains():
    s = summarize(ROW, WORK, [measure()[0]])
    assert s["peer"] is None and "ratio" not in s and s["floor"] == pytest.approx(0.6)
    assert "olmoe/float32/T64/uniform: 10 ms, 0.60 of the floor" == report.progress_line(s)
    assert [line for line in goals.missed(ROW, s)] == ["olmoe/float32/T64/uniform: 0.60 of the floor, goal 0.90"]


def test_side_that_computes_in_another_ones_turn_is_noticed():
    assert summarize(ROW, WORK, [measure(rounds=3, a=[0.020])[0]])["disturbed"] == 0
    assert summarize(ROW, WORK, [measure(rounds=3, busy=0.01, a=[0.020])[0]])["disturbed"] == 3


@pytest.mark.parametrize("distance", [0.3, float("nan"), float("inf")])
def test_different_results_end_the_run(distance):
    with pytest.raises(BenchError, match="olmoe/float32/T64/uniform: a differs by .* of a token's length; at most 0.0001 is expected") as caught:
        measure(distance=distance, a=[0.020])
    assert caught.value.exit_code == 3


def summary(**changes):
    base = {"row": ROW.name, "flops": 1e12, "bytes": 1e9, "peak": 1e12, "bandwidth": 1e10, "floor": 0.89, "ratio": 1.2, "peer": "a"}
    return {**base, **changes}


@pytest.mark.parametrize("shape, tokens, bytes_, goal", [
    (0, 4, 1e9, (0.95, 1.0)), (0, 16, 1e9, (0.90, 1.2)), (0, 64, 1e9, (0.90, 1.3)), (0, 64, 8e9, (0.75, 1.15)), (0, 64, 19e9, (0.75, 1.15)),
    (0, 64, 21e9, (0.90, 1.3)), (1, 2048, 1e9, (0.88, 1.15)), (2, 512, 1e9, (0.88, 1.02)),
])  # fmt: skip
def test_goals(shape, tokens, bytes_, goal):
    assert goals.goal(Row(SHAPES[shape], "float32", tokens, "zipf"), summary(bytes=bytes_)) == goal


def test_missed_goals_are_named():
    assert goals.missed(ROW, summary()) == ["olmoe/float32/T64/uniform: 0.89 of the floor, goal 0.90", "olmoe/float32/T64/uniform: 1.20 times a, goal 1.30"]
    assert goals.missed(ROW, summary(floor=0.9, ratio=1.3)) == []


def test_tables_of_result_files(tmp_path, capsys):
    part, _, _ = measure(ggml=[0.020], onednn=[0.050])
    for name, value in (("a", 0.1), ("b", 0.2)):
        record = {**summarize(ROW, WORK, [part]), "floor": value}
        (tmp_path / name).write_text(json.dumps({"type": "round"}) + "\n" + json.dumps(record) + "\n")
    files = [tmp_path / "a", tmp_path / "b"]
    assert [r["floor"] for r in report.read_rows(files)] == [0.2]
    drawing = tmp_path / "figure.svg"
    # Below its goals.
    assert cli.main(["--markdown", "--figure", str(drawing), "--tables", *map(str, files)]) == 3
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == "| olmoe/float32/T64/uniform | 10 ms | 0.20 (0.60..0.60) | 2.00 (2.00..2.00) | ggml | 0.30 | 2.00 | (5.0) |"
    assert lines[3] == "missed: olmoe/float32/T64/uniform: 0.20 of the floor, goal 0.90"


def test_result_file_of_models_is_refused(tmp_path, capsys):
    (tmp_path / "a").write_text(json.dumps({"type": "row", "row": "tiny/float32/prefill-16/b1", "ratio": 2.0}) + "\n")
    assert cli.main(["--tables", str(tmp_path / "a")]) == 1
    assert capsys.readouterr().err.strip().endswith("/a' has rows of models, not of layers")


def test_figure_has_a_line_for_the_floor_and_each_side():
    rows = []
    for tokens in SHAPES[0].tokens:
        row = Row(SHAPES[0], "float32", tokens, "uniform")
        rows.append({**summarize(row, WORK, [measure(ggml=[0.020], onednn=[0.050])[0]]), "row": row.name})
    svg = ElementTree.fromstring(figure.draw(rows))
    lines = svg.findall(".//{*}polyline")
    assert [line.get("stroke") for line in lines] == [figure.COLORS[n] for n in ("floor", "ggml", "onednn", "compiled")]
    across, down = zip(*(map(float, p.split(",")) for p in lines[0].get("points").split()))
    assert list(across) == sorted(set(across)) and len(set(down)) == 1
    # Less time is further down.
    floor, compiled = (float(lines[i].get("points").split()[0].split(",")[1]) for i in (0, 3))
    assert floor > compiled
