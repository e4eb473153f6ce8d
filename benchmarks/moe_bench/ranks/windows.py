"""Rows sent by the runtime's windows, beside memcpy (native/ranks/windows.cpp)."""

import json
import os
import socket
import statistics
import subprocess
from pathlib import Path

from ..artifacts import REPOSITORY
from ..errors import BenchError
from ..nativecode import build
from . import rows

SOURCE = Path(__file__).resolve().parents[1] / "native" / "ranks" / "windows.cpp"
RUNTIME = REPOSITORY / "runtime"
COMM = ("Bootstrap", "Boxes", "Group", "Hosts", "Link", "LinkThread", "Mapping", "NoUcx", "Peers", "Ranks", "Socket", "Windows", "WindowsApart")
PARTS = (*(f"comm/{part}" for part in COMM), "core/Status", "core/WaitLog")
TIMEOUT = 600


def program(folder):
    """The program, made of the runtime's sources."""
    sources = [SOURCE, *(RUNTIME / "lib" / f"{part}.cpp" for part in PARTS)]
    return build(folder, sources, f"-I{RUNTIME / 'lib'}", f"-I{RUNTIME / 'include'}", what="measure windows", suffix="")


def job_environment(rank, port):
    """Variables of a rank of a job of this host."""
    return {"MOE_RANK": str(rank), "MOE_RANKS": str(rows.RANKS), "MOE_ROOT": f"127.0.0.1:{port}", "MOE_TOKEN": f"bench-{os.getpid()}-{port}"}


def free_port():
    """A port that nobody listens on now."""
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


def measure(path, cores, rounds, seconds, sizes=rows.WINDOW_BYTES):
    """Raw samples: dictionaries of the program's lines. Each rank has a core of its own."""
    port, started = free_port(), []
    try:
        for rank, core in enumerate(cores[: rows.RANKS]):
            words = [str(path), str(rounds), str(seconds), *map(str, sizes)]
            bind = lambda core=core: os.sched_setaffinity(0, [core])  # noqa: E731
            environment = {**os.environ, **job_environment(rank, port)}
            started.append(subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=bind))
        answers = [process.communicate(timeout=TIMEOUT) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    for process, (_, errors) in zip(started, answers):
        if process.returncode:
            raise BenchError(f"the measurement of windows failed: {errors.strip()[-500:]}", 70)
    return [json.loads(line) for line in answers[0][0].splitlines()]


def summarize(samples):
    """One summary per size, and that of the latency: medians over the rounds.

    ratio  memcpy's time over that of the copy, both of one round: the share of memcpy's bandwidth
    read   the same where the receiver reads what came
    """
    by = {(s["mode"], s["round"], s["bytes"]): s["median_ns"] * 1e-9 for s in samples}
    pings = [seconds for (mode, _, _), seconds in by.items() if mode == "ping-pong"]
    found = [{"type": "row", "row": "windows/latency", "seconds": statistics.median(pings), "low": min(pings), "high": max(pings), "rounds": len(pings)}]
    rounds = sorted({s["round"] for s in samples})
    for size in sorted({b for mode, _, b in by if mode == "memcpy"}):
        copies, puts, read = ([by[mode, r, size] for r in rounds] for mode in ("memcpy", "put", "put, read"))
        ratios = [c / p for c, p in zip(copies, puts)]
        found.append({
            "type": "row", "row": f"windows/{rows.size_text(size)}", "bytes": size, "rounds": len(rounds), "seconds": statistics.median(puts),
            "memcpy_seconds": statistics.median(copies), "read_seconds": statistics.median(read), "ratio": statistics.median(ratios),
            "low": min(ratios), "high": max(ratios), "read_ratio": statistics.median(c / p for c, p in zip(copies, read)),
        })  # fmt: skip
    return found


def missed(summaries):
    """Lines of what misses its goal."""
    lines = []
    for s in summaries:
        if s["row"] == "windows/latency":
            if s["seconds"] >= rows.LATENCY:
                lines.append(f"{s['row']}: {s['seconds'] * 1e6:.2f} us, goal below {rows.LATENCY * 1e6:g} us")
        elif s["bytes"] >= rows.COPIED_FROM and s["ratio"] < rows.OF_MEMCPY:
            lines.append(f"{s['row']}: {s['ratio']:.2f} of memcpy, goal {rows.OF_MEMCPY}")
    return lines


def table(summaries):
    """The latency, and a line per size: bandwidths in GB/s."""
    lines = []
    for s in summaries:
        if "bytes" not in s:
            lines += [f"8 bytes and a flag: {s['seconds'] * 1e6:.3f} us ({s['low'] * 1e6:.3f}..{s['high'] * 1e6:.3f}), goal below {rows.LATENCY * 1e6:g} us"]
            lines += [f"{'windows':<14} {'memcpy GB/s':>12} {'put GB/s':>9} {'ratio':>6} {'(rounds)':>12} {'goal':>5} {'if read GB/s':>13}"]
            continue
        rates = [s["bytes"] / s[key] / 1e9 for key in ("memcpy_seconds", "seconds", "read_seconds")]
        goal = f"{rows.OF_MEMCPY:5.2f}" if s["bytes"] >= rows.COPIED_FROM else "     "
        lines.append(f"{s['row']:<14} {rates[0]:12.1f} {rates[1]:9.1f} {s['ratio']:6.2f} {s['low']:5.2f}..{s['high']:<5.2f} {goal} {rates[2]:13.1f}")
    return "\n".join(lines)
