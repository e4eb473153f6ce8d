"""A rank that falls silent in any member and phase of a group: the others end by their deadline with a line that says which flag of whom they waited
for, in which kernel and phase; their processes can open the next job."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from edited import compile_text
from faults import new_job
from layer import Drawn, inputs_of, write
from overlap import Schedule, overlapped
from stopping import Rank, stopping

from moe_mlir.testing.compiling import compiler
from moe_mlir.testing.ranks import compile_for, outputs_of

LAYER = Drawn(8, 2, 256, 64, True, "f32", 33, "random")
SLICES, CHUNK = 2, 4
MEMBERS = ("send_chunks", "experts_up", "experts_down", "return_sums")
# Of rank 1: where it stops, and what rank 0 waits for then. A member's block 1 is its phase 1; sums of a slice return behind the product of the next one.
SILENT = {("send_chunks", 0): ("experts_up", 1), ("experts_up", 0): ("await_sums", 0), ("experts_up", 1): ("await_sums", 0), ("experts_down", 0): ("await_sums", 0),
          ("experts_down", 1): ("await_sums", 0), ("return_sums", 0): ("await_sums", 0), ("return_sums", 1): ("await_sums", 1)}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """{ranks: text at level runtime}, and words that run the layer twice."""
    folder = tmp_path_factory.mktemp("silent")
    flags, texts = [*write(LAYER, folder), "--target-cpu=x86-64-v3"], {}
    for ranks, steps in ((2, (1, 1)), (4, (1, 3))):
        texts[ranks] = stopping(overlapped(folder / "layer.mlir", f"ep={ranks}", Schedule(steps, CHUNK, SLICES), *flags), MEMBERS, folder)
    words = []
    for name, array in inputs_of(LAYER, 2, 1).items():
        np.save(folder / f"{name}.npy", array)
        words += ["--input", f"{name}=@{folder}/{name}.npy"]
    return texts, words, folder


@pytest.fixture(scope="module")
def programs(made, tmp_path_factory):
    found = {}
    for ranks, text in made[0].items():
        done, found[ranks] = compile_text(text, "runtime", tmp_path_factory.mktemp("program"))
        assert done.returncode == 0, done.stderr
    return found


def survivors(program, words, ranks, victim, stop, deadline="1"):
    """What the other ranks say, [rank]; of the first rank that says it itself."""
    job = new_job()
    started = [Rank(program, rank, ranks, job, [*words, "--deadline", deadline], stop if rank == victim else None) for rank in range(ranks)]
    try:
        ended = [rank.end() for number, rank in enumerate(started) if number != victim]
    finally:
        for rank in started:
            rank.kill()
    assert all(code == 1 and said.count("\n") == 1 for code, said in ended), ended
    return [said for _, said in ended]


@pytest.mark.parametrize("place", SILENT, ids=lambda place: f"{place[0]}-{place[1]}")
def test_a_silent_rank(place, made, programs):
    [said] = survivors(programs[2], made[1], 2, 1, (*place, signal.SIGSTOP))
    kernel, number = SILENT[place]
    leg = "rows to experts" if kernel == "experts_up" else "sums to tokens"
    found = re.search(rf'rank 0 waited 1 s for rank 1 in "up: {leg}" \({kernel}\w*(?:, phase (\d))?, flag (\d+): chunk (\d+) of (?:slice (\d+) of )?its (rows|sums)\)$', said.strip())
    assert found, said
    chunks = -(-17 // CHUNK)  # of the 17 rows of a rank
    if kernel == "experts_up":  # a chunk of the rank behind this one
        assert int(found[1]) == number and chunks <= int(found[2]) < 2 * chunks
        assert found.groups()[2:] == (str(int(found[2]) - chunks), None, "rows")
    else:  # the first one of the slice, which the message names by its number among the slices of all ranks
        assert int(found[2]) == (SLICES + number) * chunks
        assert found.groups()[2:] == ("0", str(number), "sums")


def test_chunks_of_all_ranks_in_parts(made, tmp_path):
    """Flags of rows stand part by part then."""
    flags = [*write(LAYER, tmp_path), "--target-cpu=x86-64-v3"]
    text = overlapped(tmp_path / "layer.mlir", "ep=2", Schedule((1, 3), CHUNK, order="part"), *flags)
    done, program = compile_text(stopping(text, MEMBERS, tmp_path), "runtime", tmp_path)
    assert done.returncode == 0, done.stderr
    [said] = survivors(program, made[1], 2, 1, ("send_chunks", 0, signal.SIGSTOP))
    found = re.search(r"\(experts_up\w*, phase \d, flag (\d+): chunk (\d+) of its rows\)$", said.strip())
    assert found and int(found[1]) == 2 * int(found[2]) + 1, said


@pytest.mark.parametrize("place", [("send_chunks", 0), ("return_sums", 1)], ids=str)
def test_a_rank_that_ends(place, made, programs):
    [said] = survivors(programs[2], made[1], 2, 1, (*place, signal.SIGKILL), deadline="20")
    assert re.search(r'rank 1 ended while rank 0 (waited for it|was) in "up: (rows to experts|sums to tokens)"', said), said


def test_four_ranks(made, programs):
    """Each one waits for the silent one, for one that waits for it, or hears of it."""
    for said in survivors(programs[4], made[1], 4, 2, ("experts_down", 1, signal.SIGSTOP)):
        assert re.search(r'rank [013] waited 1 s for rank \d in "up: sums to tokens" \(await_sums, flag \d+: chunk \d+ of slice \d of its sums\)', said), said
        # Nobody else is blamed. A rank that is stopped in a wait cannot be told from those that wait for it: then nobody is.
        assert "held up by" not in said or "held up by rank 2" in said, said


def test_the_next_job(made, tmp_path):
    """Of the same processes: one whose job is over opens another session, which gives what it should."""
    texts, words, folder = made
    (tmp_path / "edited.mlir").write_text(texts[2])
    subprocess.run([compiler(), tmp_path / "edited.mlir", "--from=runtime", "-q", "--emit=lib", "-o", tmp_path / "libmodel.so"], check=True)
    paths = [folder / f"{name}.npy" for name in ("x", "ids", "weights")]

    def start(rank, out, **environment):
        command = [sys.executable, Path(__file__).with_name("session_rank.py"), tmp_path / "libmodel.so", str(rank), tmp_path / out, *paths]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
        assert process.stdout.readline() == "ready\n"
        return process

    def begin(*ranks):
        port, token = new_job()
        for rank in ranks:
            rank.stdin.write(f"{port} {token}\n")
            rank.stdin.flush()

    silent, stays, fresh = start(1, "none", STOP_experts_down=str(100 * signal.SIGSTOP)), start(0, "stays"), start(1, "fresh")
    try:
        begin(silent, stays)
        assert re.match(r'rank 0 waited 1 s for rank 1 in "up: sums to tokens" \(await_sums, flag \d+: chunk \d+ of slice \d of its sums\)$', stays.stdout.readline().strip())
        begin(stays, fresh)
        assert (stays.communicate(timeout=60)[0], fresh.communicate(timeout=60)[0]) == ("fine\n", "fine\n")
    finally:
        for process in (silent, stays, fresh):
            process.kill()
            process.wait()
    expected = outputs_of(compile_for(folder / "layer.mlir", tmp_path / "one", 1, "--from=graph", "--weights=none"), 1, [inputs_of(LAYER, 2, 1)], tmp_path / "calls",
                          "--random-weights", 1)  # fmt: skip
    for name in ("stays", "fresh"):
        assert np.array_equal(np.load(tmp_path / f"{name}.npy"), expected[0]["y"].reshape(-1))
