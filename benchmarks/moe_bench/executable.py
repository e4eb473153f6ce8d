"""Start-up time and memory of a compiled executable, as a user runs it."""

import statistics
import subprocess
import time

from .errors import BenchError
from .memory import PeakSampler
from .pagecache import evict

STARTS, COLD_STARTS = 7, 3
PIECE = 1 << 21
PROMPT, NEW_TOKENS = 128, 32
FIELDS = ("VmHWM", "RssAnon", "RssFile")


def measure(path, model, dtype):
    """Time from start to end for one token after one, and memory of a longer text.

    cold         the same with no page of the program and its weights in memory, against reading their files once
    resident     largest resident memory, with the weights' pages that are mapped from the archive
    anonymous    the part that is not a file's
    """
    files = [file for file in (path, path.with_name(path.name + ".weights")) if file.exists()]
    starts = [_first_token(path) for _ in range(STARTS)]
    cold, reads = [], []
    for _ in range(COLD_STARTS):
        for file in files:
            evict(file)
        reads.append(_read(files))
        for file in files:
            evict(file)
        cold.append(_first_token(path))
    process = _start(path, " ".join(str(1 + i % 200) for i in range(PROMPT)), NEW_TOKENS)
    with PeakSampler(process.pid, "status", FIELDS, interval=0.002) as sampler:
        _finish(process, path)
    return {
        "type": "executable",
        "model": model,
        "dtype": dtype,
        "start_seconds": statistics.median(starts),
        "samples": starts,
        "cold_seconds": statistics.median(cold),
        "cold_samples": cold,
        "read_seconds": statistics.median(reads),
        "read_samples": reads,
        "bytes": sum(file.stat().st_size for file in files),
        "resident": sampler.peaks["VmHWM"],
        "anonymous": sampler.peaks["RssAnon"],
        "mapped": sampler.peaks["RssFile"],
    }


def _first_token(path):
    begin = time.perf_counter()
    _finish(_start(path, "1", 1), path)
    return time.perf_counter() - begin


def _read(files):
    piece = bytearray(PIECE)
    begin = time.perf_counter()
    for file in files:
        with open(file, "rb", buffering=0) as handle:
            while handle.readinto(piece):
                pass
    return time.perf_counter() - begin


def _start(path, ids, new_tokens):
    command = [str(path), "--ids", "--generate", ids, "--max-new-tokens", str(new_tokens)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _finish(process, path):
    message = process.stderr.read().decode(errors="replace").strip()
    if process.wait():
        raise BenchError(f"'{path}' failed with exit code {process.returncode}: {message[-500:]}", 70)
