"""Compile time and memory of moe-compile."""

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

from .artifacts import compile_command, run
from .errors import BenchError
from .memory import PeakSampler

# Seconds without the copy of the weights, and bytes of private memory above the tiny model's.
TIME_LIMITS = {"tiny": 5.0, "1b": 60.0, "0.9b": 60.0}
MEMORY_LIMIT = 200 << 20
REPEATS = {"tiny": 5, "1b": 1, "0.9b": 1}

# Machine code of an earlier compilation must not count.
NO_CACHE = {"MOE_CACHE_DIR": ""}

# A phase of moe-compile's progress, "[7/9]   12.34 s pack weights"; the name of the one that copies the weights.
PHASE = re.compile(r"^\[\d+/\d+\] +(?P<seconds>\d+\.\d+) s (?P<name>.+)$", re.MULTILINE)
COPY = "weights"


def phases(text):
    """[(name, seconds)] of the progress lines in moe-compile's output."""
    return [(m["name"], float(m["seconds"])) for m in PHASE.finditer(text)]


def copy_seconds(listed):
    """The time of the phases that copy weights; raises BenchError if there are none, since the rest could not be told apart."""
    copies = [seconds for name, seconds in listed if COPY in name]
    if not copies:
        names = ", ".join(name for name, _ in listed) or "none"
        raise BenchError(f"moe-compile reported no phase that copies the weights (phases: {names})", 70)
    return sum(copies)


def measure(compiler, exported, model, dtype):
    """Compiles twice or more: for time without a sampler, for memory with one.

    seconds  median wall time; weights: the part of it that copies the weights; private: largest sum of Private_Dirty over the process and its children
    """
    with tempfile.TemporaryDirectory(dir=Path(exported).parent) as folder:
        command = compile_command(compiler, exported, Path(folder) / "model", "exe")
        times = []
        for _ in range(REPEATS[model]):
            begin = time.perf_counter()
            listed = phases(run(command, NO_CACHE).stderr)
            total = time.perf_counter() - begin
            times.append((total, copy_seconds(listed)))
        seconds, weights = sorted(times, key=lambda t: t[0] - t[1])[len(times) // 2]
        _write_back(exported)
        private = _private_memory(command)
    return {
        "type": "compile",
        "model": model,
        "dtype": dtype,
        "seconds": seconds,
        "weights_seconds": weights,
        "samples": times,
        "phases": listed,
        "private_bytes": private,
    }


def _write_back(path):
    """Waits until a file is on the disk: what is not yet there counts as dirty memory of a process that maps it."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def _private_memory(command):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **NO_CACHE})
    with PeakSampler(process.pid, "smaps_rollup", ("Private_Dirty",)) as sampler:
        code = process.wait()
    if code:
        raise BenchError(f"'{' '.join(command)}' failed with exit code {code}", 70)
    return sampler.peaks["Private_Dirty"]


def failures(results):
    """Lines that say which limits of section "Compile" in docs/Performance.md were missed."""
    lines = []
    tiny = {r["dtype"]: r["private_bytes"] for r in results if r["model"] == "tiny"}
    for r in results:
        own = r["seconds"] - r["weights_seconds"]
        what = f"{r['model']} {r['dtype']}"
        if own > TIME_LIMITS[r["model"]]:
            lines.append(f"compile {what}: {own:.1f} s without the weights, at most {TIME_LIMITS[r['model']]:.0f} s is the goal")
        if r["model"] != "tiny" and r["dtype"] in tiny and r["private_bytes"] > tiny[r["dtype"]] + MEMORY_LIMIT:
            more = (r["private_bytes"] - tiny[r["dtype"]]) >> 20
            lines.append(f"compile {what}: {more} MiB of private memory more than the tiny model, at most {MEMORY_LIMIT >> 20} is the goal")
    return lines
