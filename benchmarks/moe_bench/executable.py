"""Start-up time and memory of a compiled executable, as a user runs it."""

import statistics
import subprocess
import time

from .errors import BenchError
from .memory import PeakSampler

STARTS = 7
PROMPT, NEW_TOKENS = 128, 32
FIELDS = ("VmHWM", "RssAnon", "RssFile")


def measure(path, model, dtype):
    """Time from start to end for one token after one (weights in the page cache), and memory of a longer text.

    resident     largest resident memory, with the weights' pages that are mapped from the archive
    anonymous    the part that is not a file's
    """
    starts = []
    for _ in range(STARTS):
        begin = time.perf_counter()
        _finish(_start(path, "1", 1), path)
        starts.append(time.perf_counter() - begin)
    process = _start(path, " ".join(str(1 + i % 200) for i in range(PROMPT)), NEW_TOKENS)
    with PeakSampler(process.pid, "status", FIELDS, interval=0.002) as sampler:
        _finish(process, path)
    return {
        "type": "executable",
        "model": model,
        "dtype": dtype,
        "start_seconds": statistics.median(starts),
        "samples": starts,
        "resident": sampler.peaks["VmHWM"],
        "anonymous": sampler.peaks["RssAnon"],
        "mapped": sampler.peaks["RssFile"],
    }


def _start(path, ids, new_tokens):
    command = [str(path), "--ids", "--generate", ids, "--max-new-tokens", str(new_tokens)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def _finish(process, path):
    message = process.stderr.read().decode(errors="replace").strip()
    if process.wait():
        raise BenchError(f"'{path}' failed with exit code {process.returncode}: {message[-500:]}", 70)
