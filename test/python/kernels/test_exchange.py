"""A hand-written program of level kernel whose ranks exchange rows by windows (test/Target/Object/ranks.mlir), run by as many
processes."""

import json
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[2] / "Target" / "Object" / "ranks.mlir"
TOOL = shutil.which("moe-compile")


def write_safetensors(path, name, array):
    header = json.dumps({name: {"dtype": "F32", "shape": array.shape, "data_offsets": [0, array.nbytes]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + array.tobytes())


def text_for(ranks):
    text = SOURCE.read_text()
    for old in ("shape = 2", "ranks = 2", "in (2)", "window<2xi", "memref<2xi", "constant 2 : index"):
        assert old in text
        text = text.replace(old, old.replace("2", str(ranks), 1))
    return text


class Program:
    """`ranks` ranks, each of which adds the rows of the next one to its own, times a weight of its own."""

    def __init__(self, folder, ranks):
        self.folder, self.ranks = folder, ranks
        self.weights = np.random.default_rng(ranks).standard_normal((2 * ranks, 8)).astype(np.float32)
        write_safetensors(folder / "w.safetensors", "w", self.weights)
        source = folder / "exchange.mlir"
        source.write_text(text_for(ranks))
        self.path = folder / "exchange"
        subprocess.run([TOOL, source, "--weights", folder / "w.safetensors", "-o", self.path, "-q"], check=True)

    def expected(self, x):
        parts = [x[len(x) * r // self.ranks : len(x) * (r + 1) // self.ranks] for r in range(self.ranks)]
        results = []
        for rank, own in enumerate(parts):
            y, other = own * self.weights[2 * rank], parts[(rank + 1) % self.ranks]
            rows = min(len(own), len(other))
            y[:rows] += other[:rows]
            results.append(y)
        return np.concatenate(results)

    def run(self, *arguments):
        return subprocess.run([self.path, "--ranks", str(self.ranks), *map(str, arguments)], capture_output=True,
                              text=True, timeout=120)


@pytest.fixture(scope="module", params=[2, 4])
def program(request, tmp_path_factory):
    return Program(tmp_path_factory.mktemp("exchange"), request.param)


def rows(count):
    return np.random.default_rng(count).standard_normal((count, 8)).astype(np.float32)


@pytest.mark.parametrize("threads", [1, 3])
def test_one_call(program, threads, tmp_path):
    """More rows than ranks, as many, and fewer: some ranks have none then."""
    for count in (1, program.ranks, 37, 500):
        np.save(tmp_path / "x.npy", rows(count))
        run = program.run("--threads", threads, "--input", f"x=@{tmp_path}/x.npy", "--output-dir", tmp_path / "out")
        assert run.returncode == 0, run.stderr
        assert np.array_equal(np.load(tmp_path / "out" / "y.npy"), program.expected(rows(count)))


def test_many_calls(program, tmp_path):
    """Windows change their sizes from call to call, and move; flags keep their place. No call takes old rows for new ones."""
    counts = [5, 300, 2, 17, 300, 1, 64, 3, 500, 7, 8, 250] * 4
    lines = []
    for i, count in enumerate(counts):
        np.save(tmp_path / f"x{i}.npy", rows(count) * (i + 1))
        lines.append(f"--input x=@{tmp_path}/x{i}.npy --output-dir {tmp_path}/out{i}\n")
    (tmp_path / "calls.txt").write_text("".join(lines))
    run = program.run("--calls", tmp_path / "calls.txt")
    assert run.returncode == 0, run.stderr
    for i, count in enumerate(counts):
        assert np.array_equal(np.load(tmp_path / f"out{i}" / "y.npy"), program.expected(rows(count) * (i + 1))), i


def test_a_flag_that_does_not_come(tmp_path):
    """A rank that waits for more than was signalled ends the call with the phase and the peer. Only a wrong program does so:
    here the epoch that is awaited is edited at level runtime, where nobody checks it any more."""
    broken = tmp_path / "broken.mlir"
    subprocess.run([TOOL, SOURCE, "--to=runtime", "-o", broken, "-q"], check=True)
    text = broken.read_text()
    call = next(line for line in text.splitlines() if "llvm.call @moert_await" in line)
    epoch = call.split("(", 1)[1].split(")", 1)[0].split(", ")[2]
    later = f"    %later = llvm.add {epoch}, {epoch} : i32\n" + call.replace(f", {epoch},", ", %later,")
    broken.write_text(text.replace(call, later))
    write_safetensors(tmp_path / "w.safetensors", "w", np.ones((4, 8), np.float32))
    subprocess.run([TOOL, broken, "--weights", tmp_path / "w.safetensors", "-o", tmp_path / "broken", "-q"], check=True)
    np.save(tmp_path / "x.npy", rows(6))
    run = subprocess.run([tmp_path / "broken", "--ranks", "2", "--deadline", "1", "--input", f"x=@{tmp_path}/x.npy",
                          "--output-dir", tmp_path / "out"], capture_output=True, text=True, timeout=120)
    assert run.returncode != 0
    assert "rows to the other rank" in run.stderr, run.stderr
