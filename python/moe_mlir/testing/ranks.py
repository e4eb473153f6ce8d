"""Programs of several ranks in tests: compiled for a number of them, and run on one host."""

import os
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .compiling import moe_compile

DEADLINE = 20  # seconds that a rank waits for another one


def compile_for(source, folder, ranks, *flags, tokens=None, groups=None):
    """Compiles `source` for `ranks` ranks of experts, or for what a text says ("dp=2,etp=2"), into `folder`; returns the program's path."""
    parts = [ranks if isinstance(ranks, str) else f"ep={ranks}", *([f"tokens={tokens}"] if tokens else []), *([f"groups={groups}"] if groups else [])]
    folder.mkdir(parents=True, exist_ok=True)
    return moe_compile(source, folder / "model", f"--parallel={','.join(parts)}", *flags)


def run(program, ranks, *words, threads=1, environment=None, timeout=300):
    """Runs the program as a job of `ranks` processes; returns what the launcher's process gives."""
    command = [program, "--threads", str(threads), *map(str, words)]
    if ranks > 1:
        command[1:1] = ["--ranks", str(ranks), "--deadline", str(DEADLINE)]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, env={**os.environ, **(environment or {})})


def outputs_of(program, ranks, calls, folder, *words, threads=1):
    """Outputs of all calls, a dict of arrays each. calls: [dict of arrays]; None resets the states."""
    folder.mkdir(parents=True, exist_ok=True)
    lines, places = [], []
    for index, inputs in enumerate(calls):
        if inputs is None:
            lines.append("reset")
            continue
        place = folder / str(index)
        place.mkdir()
        places.append(place / "out")
        for name, array in inputs.items():
            np.save(place / f"in-{name}.npy", array)
        files = (f"--input {name}=@{place}/in-{name}.npy" for name in inputs)
        lines.append(" ".join([*files, "--output-dir", str(places[-1])]))
    (folder / "calls").write_text("\n".join(lines) + "\n")
    done = run(program, ranks, "--calls", folder / "calls", *words, threads=threads)
    assert done.returncode == 0, done.stderr
    return [{file.stem: np.load(file) for file in sorted(place.iterdir())} for place in places]


def assert_same_bits(actual, expected):
    """Both: lists of dicts of arrays."""
    assert len(actual) == len(expected)
    for index, (a, e) in enumerate(zip(actual, expected, strict=True)):
        assert a.keys() == e.keys()
        for name, array in e.items():
            assert a[name].shape == array.shape and a[name].dtype == array.dtype, f"call {index}, '{name}'"
            different = (a[name].view(np.uint8) != array.view(np.uint8)).sum() if array.size else 0
            assert not different, f"call {index}, '{name}': {different} bytes differ"


def part_of(count, rank, ranks):
    """The elements that `rank` has of `count` divided ones, a slice."""
    return slice(rank * count // ranks, (rank + 1) * count // ranks)


def children_of(process):
    """Numbers of the processes that a process has started, in that order."""
    text = "".join(Path(f"/proc/{process}/task/{task}/children").read_text() for task in os.listdir(f"/proc/{process}/task"))
    return [int(word) for word in text.split()]


def kept_by(program):
    """Processes that run this file, which alone could still listen at a port of its job; names of shared memory that ranks or UCX have made."""

    def runs(process):
        try:
            return os.readlink(f"/proc/{process}/exe") == os.path.realpath(program)
        except OSError:
            return False

    return [each for each in os.listdir("/proc") if each.isdigit() and runs(each)], {name for name in os.listdir("/dev/shm") if "moe" in name or "ucx" in name}


def check_nothing_is_kept(program, files):
    """Behind a job, whose launcher may have been killed: soon nobody runs the program, and shared memory has no more than `files`, from before."""
    limit = time.monotonic() + 5
    while True:
        processes, now = kept_by(program)
        if not processes and now <= files:
            return
        assert time.monotonic() < limit, (processes, now - files)
        time.sleep(0.01)


@dataclass(frozen=True)
class Entry:
    """An array in an archive of weights: its place in the file in bytes."""

    sizes: tuple
    offset: int
    size: int


def entries_of(archive):
    """{key: Entry} of an archive of weights; its format is in moert/archive.h."""
    data = Path(archive).read_bytes()
    table, _, _, count = struct.unpack_from("<4Q", data, 56)
    entries, names = {}, table + 112 * count
    for place in range(table, names, 112):
        key_offset, key_size, _, rank, _ = struct.unpack_from("<QIiiI", data, place)
        sizes = struct.unpack_from(f"<{rank}q", data, place + 24)
        offset, size, _ = struct.unpack_from("<3Q", data, place + 88)
        entries[data[names + key_offset :][:key_size].decode()] = Entry(sizes, offset, size)
    return entries
