"""The benchmark of several ranks: rows, summaries, goals, the bound, and each part once on small sizes."""

import json
import os
import shutil
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from moe_bench.errors import BenchError
from moe_bench.ranks import bound, cli, exchange, exchange_program, job, programs, report, rows, windows
from moe_bench.rows import Row

from moe_mlir.testing.full import whole

ROOT = Path(__file__).resolve().parents[3]
COMPILER = Path(os.environ.get("MOE_BUILD_DIR", ROOT / "build")) / "bin" / "moe-compile"
CORES = sorted(os.sched_getaffinity(0))
two_cores = pytest.mark.skipif(len(CORES) < 2, reason="each rank needs a core")


@pytest.mark.parametrize("pair, routing, row_bytes, counts, goal", [
    (1024, "uniform", 1024, [1, 1], 1.5), (1024, "skewed", 1024, [2, 0], 1.5), (4096, "uniform", 4096, [1, 1], 1.5),
    (1 << 20, "uniform", 4096, [256, 256], 1.5), (1 << 20, "skewed", 4096, [448, 64], 1.5), (4 << 20, "skewed", 4096, [1792, 256], 1.0),
])
def test_rows_of_an_exchange(pair, routing, row_bytes, counts, goal):
    row = rows.ExchangeRow(pair, routing)
    assert (row.row_bytes, row.counts(), row.goal) == (row_bytes, counts, goal)
    ranks = row.destinations(np.random.default_rng(0))
    assert ranks.dtype == np.int32 and np.bincount(ranks, minlength=2).tolist() == counts


def test_names_of_rows():
    names = [r.name for r in (*rows.exchange_rows(), *rows.layer_rows(), *rows.decode_rows())]
    assert names[0] == "exchange/1K/uniform" and "exchange/64M/skewed" in names and names[-4:] == [
        "olmoe/bfloat16/T2048/uniform", "0.9b/bfloat16/decode-512/b1/ep=2", "0.9b/bfloat16/decode-512/b1/etp=2", "0.9b/bfloat16/decode-512/b1/tp=2,etp=2"]
    assert len(set(names)) == len(names)
    assert [r.name for r in rows.selected(rows.exchange_rows(), ["/4K", "*64M/u*"])] == ["exchange/4K/uniform", "exchange/4K/skewed", "exchange/64M/uniform"]


def window_samples(put, ping=200):
    modes = {"memcpy": 1000, "put": put, "put, read": 4000}
    copies = [{"mode": m, "round": r, "bytes": b, "median_ns": n * (r + 1)} for r in range(3) for b in (4096, 65536) for m, n in modes.items()]
    return copies + [{"mode": "ping-pong", "round": r, "bytes": 8, "median_ns": ping + r} for r in range(3)]


def test_windows_are_held_against_memcpy_of_the_same_round():
    latency, small, large = windows.summarize(window_samples(put=1250))
    assert latency["seconds"] == pytest.approx(201e-9)
    # The machine was three times slower in the last round: for both.
    assert (large["row"], large["ratio"], large["low"], large["high"], large["read_ratio"]) == ("windows/64K", 0.8, 0.8, 0.8, 0.25)
    assert windows.missed([latency, small, large]) == []
    assert windows.table([latency, small, large]).splitlines()[-1].split()[:4] == ["windows/64K", "32.8", "26.2", "0.80"]


def test_windows_that_miss_their_goals():
    assert windows.missed(windows.summarize(window_samples(put=1300, ping=1000))) == [
        "windows/latency: 1.00 us, goal below 1 us", "windows/64K: 0.77 of memcpy, goal 0.8"
    ]  # fmt: skip


def exchange_samples(row, ours, mpi, gloo):
    def sample(index, side, seconds, **more):
        return {"row": row.name, "round": index, "side": side, "seconds": [seconds] * 3, "reading_seconds": [1e-3] * 3, **more}

    return [s for i in range(3) for s in (
        sample(i, "compiled", 2 * ours, exchange_seconds=[ours] * 3), sample(i, "openmpi", mpi), sample(i, "openmpi, counts known", mpi / 2), sample(i, "gloo", gloo)
    )]  # fmt: skip


def test_exchanges_are_held_against_the_better_peer():
    small, large = rows.ExchangeRow(1 << 20, "uniform"), rows.ExchangeRow(4 << 20, "uniform")
    # A millisecond of reading is behind each time.
    samples = exchange_samples(small, 1e-3, 1.8e-3, 9e-3) + exchange_samples(large, 1e-3, 3e-3, 1.2e-3)
    found = [exchange.summarize(row, samples) for row in (small, large)]
    assert [(s["peer"], round(s["ratio"], 3), round(s["call_ratio"], 3)) for s in found] == [("openmpi", 1.4, 0.933), ("gloo", 1.1, 0.733)]
    assert [round(s["unread_ratio"], 3) for s in found] == [1.8, 1.2]
    assert exchange.missed(found) == ["exchange/1M/uniform: 1.40 times openmpi, goal 1.5"]
    assert exchange.table(found).splitlines()[1].split()[:7] == ["exchange/1M/uniform", "2", "ms", "1", "ms", "3", "ms"]


def test_the_exchange_in_a_trace():
    def launch(rank, name, begin, took):
        return {"cat": "launch", "pid": rank + 1, "name": name, "ts": begin, "dur": took}

    calls = [launch(rank, name, at + shift, 1) for at in (10, 50) for rank in (0, 1)
             for shift, name in enumerate(("owners_2", "next_exchange", "send_rows", "announce_rows", "await_rows", "copy"))]  # fmt: skip
    trace = {"traceEvents": [{"name": "process_name", "ph": "M", "pid": 1}, {"cat": "call", "name": "call 0", "pid": 1, "ts": 0, "dur": 9}, *calls]}
    assert exchange_program.durations(trace) == {rank: pytest.approx([4e-6, 4e-6]) for rank in (0, 1)}


@pytest.mark.parametrize("rounds,first", [(15, [0, 3, 6, 9, 12, 15]), (7, [0, 1, 2, 4, 5, 7]), (2, [0, 1, 2]), (1, [0, 1])])
def test_rounds_are_divided_among_jobs(rounds, first):
    assert exchange.first_rounds(rounds, 5) == first


def test_rounds_of_several_jobs_are_counted_on(tmp_path, monkeypatch):
    jobs = []
    monkeypatch.setattr(exchange.shutil, "which", lambda name: name)
    monkeypatch.setattr(exchange, "build", lambda *a, **k: "native")
    monkeypatch.setattr(exchange, "_job", lambda mpirun, asked: jobs.append(asked) or [{"round": r} for r in range(asked["rounds"])])
    samples = exchange.measure([rows.ExchangeRow(1024, "uniform", "hosts")], {}, tmp_path, CORES, 7, 1)
    assert [s["round"] for s in samples] == list(range(7)) and [job["rounds"] for job in jobs] == [1, 1, 2, 1, 2]
    jobs.clear()
    exchange.measure([rows.ExchangeRow(1024, "uniform")], {}, tmp_path, CORES, 7, 1)
    assert [job["rounds"] for job in jobs] == [7]


@whole
@two_cores
@pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs mpirun")
def test_all_sides_exchange_the_same_rows(tmp_path):
    wanted = [rows.ExchangeRow(1024, "uniform"), rows.ExchangeRow(1024, "skewed")]
    made = exchange.libraries(exchange_program.ExchangeArtifacts(tmp_path, COMPILER, lambda line: None), wanted)
    samples = exchange.measure(wanted, made, tmp_path, CORES, rounds=2, turn_seconds=1e-4)
    found = [exchange.summarize(row, samples) for row in wanted]
    assert all(0 < s["seconds"] < s["call_seconds"] and set(s["peers"]) == {"openmpi", "gloo"} for s in found)
    assert [s["side"] for s in samples[:8]] == [*(order := ["compiled", "openmpi", "openmpi, counts known", "gloo"]), *order[::-1]]


@whole
@two_cores
def test_windows_are_measured(tmp_path):
    samples = windows.measure(windows.program(tmp_path), CORES, rounds=1, seconds=1e-4, sizes=(4096, 65536))
    assert [(s["mode"], s["bytes"]) for s in samples] == [("ping-pong", 8), *((m, b) for b in (4096, 65536) for m in ("memcpy", "put", "put, read"))]
    assert all(0 < s["least_ns"] <= s["median_ns"] <= s["p90_ns"] <= s["most_ns"] for s in samples)


def test_a_failing_program_of_windows(tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho no memory >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(BenchError, match="no memory"):
        windows.measure(program, CORES, 1, 1)


def test_bound_without_experts_is_that_of_reading_twice():
    assert bound.bound(100, 10, [], 2, bandwidth=10, core_bandwidth=10) == 0.5
    # A core alone is slower than its share.
    assert bound.bound(100, 10, [], 2, bandwidth=20, core_bandwidth=5) == 0.25


def test_bound_waits_for_the_rank_with_most_experts():
    even, uneven = [[1, 0, 3, 0]], [[1, 1, 0, 0]]
    assert bound.bound(0, 10, even, 2, bandwidth=20, core_bandwidth=10) == 1
    assert bound.bound(0, 10, uneven, 2, bandwidth=20, core_bandwidth=10) == 0.5
    assert bound.bound(20, 10, even, 2, bandwidth=10, core_bandwidth=10) == pytest.approx(4 / 6)
    # Slices are as long on every rank.
    assert bound.bound(0, 10, uneven, 2, bandwidth=20, core_bandwidth=10, axis="etp") == 1
    # With tp so is all else.
    assert bound.bound(20, 10, uneven, 2, bandwidth=20, core_bandwidth=10, axis="tp") == 1
    assert bound.bound(20, 10, uneven, 2, bandwidth=20, core_bandwidth=5, axis="tp") == 0.5


def test_bytes_of_a_checkpoint(tmp_path):
    sizes = {"model.embed_tokens.weight": 1000, "layers.0.self_attn.q_proj.weight": 40, "layers.0.mlp.experts.0.up_proj.weight": 500, "lm_head.weight": 60}
    header, at = {"__metadata__": {}}, 0
    for name, size in sizes.items():
        header[name], at = {"data_offsets": [at, at + size]}, at + size
    text = json.dumps(header).encode()
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text)
    config = {"num_key_value_heads": 2, "head_dim": 4, "num_hidden_layers": 3, "hidden_size": 8, "moe_intermediate_size": 5}
    (tmp_path / "config.json").write_text(json.dumps(config))
    row = Row("0.9b", "bfloat16", "decode", 9, 1)
    assert bound.dense_bytes(tmp_path, row) == 100 + 16 + 2 * 3 * 2 * 4 * 10 * 2
    assert bound.expert_bytes(tmp_path, row) == 3 * 8 * 5 * 2


def test_one_process_and_ranks():
    samples = [{"times": {"one": [1.0, 9.0, 1.1], "ranks": [1.25]}, "other_busy": {"one": 0.0, "ranks": busy}} for busy in (0.0, 0.5)]
    s = programs.summarize("layer", samples)
    assert (s["ratio"], s["seconds"], s["disturbed"]) == (pytest.approx(0.88), {"one": 1.1, "ranks": 1.25}, 1)
    assert report.missed([s]) == ["layer: 0.88 times the speed of one process, goal 0.91"]
    assert report.missed([{**s, "bound": 0.9}]) == [] and report.missed([{**s, "bound": 1.0}]) == ["layer: 0.88 times the speed of one process, goal 0.90"]


class FakeJob:
    """Of one rank; its result is off by `error`."""

    def __init__(self, error):
        self.error, self.workers, self.asked = error, [self], []

    def ask(self, do, **arguments):
        self.asked.append(do)
        return {"distance": self.error} if do == "compare" else [{"expert_rows": [[1]]}]

    def run(self, calls):
        self.asked.append(calls)
        return [0.01] * calls

    def cpu_seconds(self):
        return 0.0


def test_turns_alternate_and_repeat(monkeypatch):
    jobs = {}
    monkeypatch.setattr(programs, "Job", lambda side, *rest: jobs.setdefault(side, contextless(FakeJob(0.0))))
    records = []
    with programs.Pair({"one": "a", "ranks": "b"}, [0, 1], records.append, 0.05, lambda: {"bandwidth": 1.0}) as pair:
        summary, expert_rows = pair.measure("row", ([], "y", 1), 2, 0.1)
    assert expert_rows == [[1]] and summary["ratio"] == 1.0 and [list(r["times"]) for r in records] == [["one", "ranks"], ["ranks", "one"]]
    assert jobs["ranks"].asked == ["prepare", 2, 5, 5] and all(r["bandwidth"] == 1.0 for r in records)


def test_another_result_ends_the_run(monkeypatch):
    monkeypatch.setattr(programs, "Job", lambda *rest: contextless(FakeJob(0.2)))
    with programs.Pair({"one": "a", "ranks": "b"}, [0, 1], None, 0.05) as pair, pytest.raises(BenchError, match="differs from that of one process by 0.2"):
        pair.measure("row", ([], "y", 1), 1, 0.1)


def contextless(fake):
    """With what `with` needs."""
    FakeJob.__enter__, FakeJob.__exit__ = (lambda self: self), (lambda self, *exception: None)
    return fake


def test_a_job_asks_all_ranks_at_once(tmp_path, monkeypatch):
    # Each rank answers only when both were asked: they meet in a folder.
    source = tmp_path / "rank.py"
    source.write_text(f"""
import os, time
from pathlib import Path
from moe_bench.protocol import serve

class Handler:
    def describe(self):
        return {{}}
    def meet(self, name):
        Path({str(tmp_path)!r}, name + os.environ["MOE_RANK"]).touch()
        while len(list(Path({str(tmp_path)!r}).glob(name + "*"))) < 2:
            time.sleep(0.01)
    def open(self, library, threads):
        self.meet("open")
        return {{}}
    def run(self, calls):
        self.meet("run")
        return {{"times": [float(os.environ["MOE_RANK"]), 0.5]}}

serve(Handler)
""")
    monkeypatch.setattr(job, "Worker", lambda name, command, cores, environment: job_worker(name, [sys.executable, source], cores, environment))
    with job.Job("job", "library", CORES[:1] * 2, is_ranks=True) as made:
        assert made.run(2) == [1.0, 0.5]


def job_worker(*arguments):
    from moe_bench.worker import Worker

    return Worker(*arguments, timeout=20)


@pytest.mark.parametrize("words, message", [
    (["--parts", "speed"], "error: --parts: 'speed' is not known"),
    (["--rows", "nothing"], "error: no row matches"),
    (["--rounds", "0"], "error: --rounds must be at least 1"),
    (["--name", "a/b"], "error: --name: 'a/b' is part of a file name"),
])
@two_cores
def test_wrong_input(words, message, capsys):
    assert cli.main(words) == 1
    assert message in capsys.readouterr().err


@two_cores
def test_list(capsys):
    assert cli.main(["--list", "--rows", "windows,1K/,T64/"]) == 0
    assert capsys.readouterr().out.split() == ["windows", *(f"{part}/1K/{routing}" for part in ("exchange", "hosts") for routing in ("uniform", "skewed")), "olmoe/bfloat16/T64/uniform"]
