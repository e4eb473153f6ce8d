"""Exchanges of rows between ranks: the compiled program's beside those of Open MPI and gloo."""

import itertools
import json
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from ..errors import BenchError
from ..nativecode import build
from ..report import time_text
from ..worker import interpreter, python_path
from . import rows
from .windows import free_port

SOURCE = Path(__file__).resolve().parents[1] / "native" / "ranks" / "exchange.cpp"
OURS, PEERS, ASIDE = "compiled", ("openmpi", "gloo"), "openmpi, counts known"
TIMEOUT = 900
# Exchanges between hosts are measured in so many jobs, whose connections are new: TCP's control of congestion estimates the rate of each, of ours and of the
# peer's, and times of one connection have a mode of their own.
JOBS_APART = 5
# Both sides of rows between hosts; on one machine they would share memory.
UCX = {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "lo"}


def libraries(artifacts, wanted):
    """{"<row bytes>-<returns>": path} of the programs that these rows need."""
    return {f"{size}-{r}": str(artifacts.library(size, r)) for size in sorted({row.row_bytes for row in wanted}) for r in ("all", "first")}


def measure(wanted, made, folder, cores, rounds, turn_seconds):
    """Raw samples of all rows: {"row", "round", "side", "seconds": [...], "reading_seconds": [...]}, of our side also
    "exchange_seconds", without what comes before it."""
    mpirun = shutil.which("mpirun")
    if mpirun is None:
        raise BenchError("there is no mpirun; scripts/bootstrap installs openmpi-bin")
    native = build(folder, [SOURCE], what="time exchanges")
    apart = any(r.part == "hosts" for r in wanted)
    asked = {"rows": [(r.pair_bytes, r.routing, r.part) for r in wanted], "turn_seconds": turn_seconds, "cores": cores, "libraries": made, "native": str(native), "apart": apart}
    samples = []
    for first, last in itertools.pairwise(first_rounds(rounds, JOBS_APART if apart else 1)):
        samples += ({**s, "round": first + s["round"]} for s in _job(mpirun, {**asked, "rounds": last - first}))
    return samples


def first_rounds(rounds, jobs):
    """The round that each job begins with, and their number: as equal as they can be, none without a round."""
    jobs = min(jobs, rounds)
    return [rounds * job // jobs for job in range(jobs + 1)]


def _job(mpirun, asked):
    with tempfile.TemporaryDirectory() as temporary:
        plan, samples = Path(temporary) / "plan.json", Path(temporary) / "samples"
        plan.write_text(json.dumps({**asked, "port": free_port(), "samples": str(samples)}))
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        ucx = ["--mca", "pml", "ucx", "--mca", "opal_common_ucx_tls", "any", "--mca", "opal_common_ucx_devices", "any", *(word for name, value in UCX.items() for word in ("-x", f"{name}={value}"))] if asked["apart"] else []
        command = [mpirun, *root, *ucx, "--oversubscribe", "--bind-to", "none", "-n", str(rows.RANKS), interpreter(), "-m", "moe_bench.ranks.exchange_worker", str(plan)]
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": python_path()}, capture_output=True, text=True, timeout=TIMEOUT)
        if done.returncode:
            raise BenchError(f"the exchanges failed with exit code {done.returncode}:\n{done.stderr.strip()[-2000:]}", 3 if done.returncode == 3 else 70)
        return [json.loads(line) for line in samples.read_text().splitlines()]


def summarize(row, samples):
    """Medians over the rounds, each the median of its calls.

    ratio     the better peer's time over that of our exchange, both with the reading of what came
    call      the same over our whole call, which finds out where the rows go, too
    unread    the first without the reading
    """
    own = sorted((s for s in samples if s["row"] == row.name), key=lambda s: s["round"])

    def turns(side, key="seconds", with_reading=True):
        chosen = [s for s in own if s["side"] == side]
        return [statistics.median(s[key]) + with_reading * statistics.median(s["reading_seconds"]) for s in chosen]

    def ratios(ours):
        return [p / o for p, o in zip(peers[best], ours)]

    peers = {peer: turns(peer) for peer in PEERS}
    best = min(PEERS if row.part == "exchange" else PEERS[:1], key=lambda peer: statistics.median(peers[peer]))  # gloo has no UCX
    exchange, call = turns(OURS, "exchange_seconds"), turns(OURS)
    unread, unread_peer = turns(OURS, "exchange_seconds", False), turns(best, "seconds", False)
    return {
        "type": "row", "row": row.name, "rounds": len(exchange), "seconds": statistics.median(exchange), "call_seconds": statistics.median(call),
        "unread_seconds": statistics.median(unread), "peer": best, "peers": {peer: statistics.median(times) for peer, times in peers.items()},
        "known_seconds": statistics.median(turns(ASIDE)), "ratio": statistics.median(ratios(exchange)), "low": min(ratios(exchange)),
        "high": max(ratios(exchange)), "call_ratio": statistics.median(ratios(call)),
        "unread_ratio": statistics.median(p / o for p, o in zip(unread_peer, unread)), "goal": row.goal,
    }  # fmt: skip


def missed(summaries):
    """Lines of what misses its goal."""
    return [f"{s['row']}: {s['ratio']:.2f} times {s['peer']}, goal {s['goal']:g}" for s in summaries if s["ratio"] < s["goal"]]


def table(summaries):
    head = f"{'row':<24} {'exchange':>9} {'(unread)':>9} {'(call)':>9} {'openmpi':>9} {'(known)':>9} {'gloo':>9} {'ratio':>6} {'(rounds)':>13} {'goal':>5} {'(unread)':>8} {'(call)':>6}"
    lines = [head]
    for s in summaries:
        times = (s["seconds"], s["unread_seconds"], s["call_seconds"], s["peers"]["openmpi"], s["known_seconds"], s["peers"]["gloo"])
        ratio = f"{s['ratio']:6.2f} {s['low']:5.2f}..{s['high']:<6.2f} {s['goal']:5.2f} {s['unread_ratio']:8.2f} {s['call_ratio']:6.2f}"
        lines.append(f"{s['row']:<24} " + " ".join(f"{time_text(t):>9}" for t in times) + f" {ratio}")
    return "\n".join(lines)
