"""One row, measured in rounds: read loop, every side in turn, peak loop; all other sides sleep during a turn."""

import math
import os
import statistics
import tempfile
import time
from pathlib import Path

from ..errors import BenchError
from ..pairing import IDLE_SHARE, SETTLE_SECONDS

OURS = "compiled"

# A peer this much slower than the best one in the trial, or than the best one of the groups before, is left out of the rounds; its trial stays in the
# result file.
HOPELESS = 1.5
LEAST_ROUNDS = 3
PEAK_SECONDS = 0.05

# The bandwidth of a shared machine jumps by up to two. A round in which its read loops differ by more than this factor compares sides that did not
# have the same machine: it stays in the result file, and counts only if fewer than LEAST_ROUNDS others remain.
STEADY = 1.15

# Largest distance of a token's result from ours, over its length. A token with one wrong expert is off by a third.
LIMITS = {"float32": 1e-4, "bfloat16": 3e-2}


class Sides:
    """The compiled layer and some peers, measured together.

    compiled, peers  workers; `peers` by name
    machine          see machine.py
    record           called with one dictionary per raw sample
    turn_seconds     length of a turn
    row_seconds      what the rounds of a row may take: there are as many as fit, from LEAST_ROUNDS to `rounds`
    """

    def __init__(self, compiled, peers, machine, record, turn_seconds, rounds, row_seconds):
        self.compiled, self.peers, self.machine, self.record = compiled, peers, machine, record
        self.turn_seconds, self.rounds, self.row_seconds = turn_seconds, rounds, row_seconds

    def measure(self, row, work, best=math.inf):
        """The rounds of a row: a list of {"bandwidth", "peak", "samples": {variant: sample}}, and {variant: seconds} of the trial.

        best  the least ratio of a peer to us in the groups before; if none here comes near, there are no rounds
        """
        owners, errors, pages = self._prepare(row)
        trial = {v: self._turn(owners[v], v)["seconds"] for v in owners}
        least = min((s for v, s in trial.items() if v != OURS), default=0)
        limit = HOPELESS * min(least, best * trial[OURS])
        kept = [v for v in owners if v == OURS or trial[v] <= limit]
        self.record({"type": "trial", "row": row.name, "seconds": trial, "kept": kept, "errors": errors, "huge_pages": pages, **work})
        if len(kept) == 1 and best < math.inf:
            return [], trial
        estimate = 0.3 + sum(SETTLE_SECONDS + max(self.turn_seconds, 1.5 * trial[v]) for v in kept)
        count = max(LEAST_ROUNDS, min(self.rounds, int(self.row_seconds / estimate)))
        return [self._round(row, index, kept, owners, work) for index in range(count)], trial

    def _prepare(self, row):
        """({variant: worker}, {variant: error}, share of our archive in huge pages); different results end the run."""
        owners, errors, pages = {}, {}, None
        with tempfile.TemporaryDirectory() as folder:
            for worker in (self.compiled, *self.peers.values()):
                answer = worker.ask("prepare", case=row.case, outputs=folder)
                pages = answer.get("huge_pages", pages)
                owners.update(dict.fromkeys(answer["variants"], worker))
            ours = Path(folder) / f"{OURS}.npy"
            for variant in owners:
                if variant == OURS:
                    continue
                error = self.compiled.ask("compare", actual=str(Path(folder) / f"{variant}.npy"), expected=str(ours))["distance"]
                if not error <= LIMITS[row.dtype]:
                    raise BenchError(f"{row.name}: {variant} differs by {error:.2g} of a token's length; at most {LIMITS[row.dtype]} is expected", 3)
                errors[variant] = error
        return owners, errors, pages

    def _turn(self, worker, variant):
        others = [w for w in (self.compiled, *self.peers.values()) if w is not worker]
        time.sleep(SETTLE_SECONDS)
        before, begin = sum(w.cpu_seconds() for w in others), time.perf_counter()
        sample = worker.ask("run", variant=variant, seconds=self.turn_seconds)
        elapsed = time.perf_counter() - begin
        sample["other_busy"] = round((sum(w.cpu_seconds() for w in others) - before) / elapsed, 4)
        return sample

    def _round(self, row, index, kept, owners, work):
        """Read loop before and after our own turn, then the peers and the read loop again; every second round backwards. Then the peak loop."""
        reads, apart, samples = [], [], {}

        def read(results=reads):
            time.sleep(SETTLE_SECONDS)
            results.append(self.machine.read_bandwidth(work["bytes"] * row.shape.inputs(row.tokens)))

        def turn(variant):
            samples[variant] = self._turn(owners[variant], variant)

        steps = [read, lambda: turn(OURS), read, *(lambda v=v: turn(v) for v in kept if v != OURS), lambda: read(apart)]
        for step in reversed(steps) if index % 2 else steps:
            step()
        time.sleep(SETTLE_SECONDS)  # the last peer's threads may still look for work
        peak = self.machine.measure_peak(row.dtype, PEAK_SECONDS)
        load = os.getloadavg()[0]
        record = {"bandwidth": statistics.mean(reads), "reads": reads, "read_apart": apart[0], "peak": peak, "load": load, "samples": samples}
        self.record({"type": "round", "row": row.name, "round": index, **record})
        return record


def floor_seconds(work, sample):
    """The least time of a call in this round."""
    return max(work["flops"] / sample["peak"], work["bytes"] / sample["bandwidth"])


def is_steady(sample):
    reads = [*sample["reads"], sample["read_apart"]]
    return max(reads) <= STEADY * min(reads)


def steady(rounds):
    """The rounds that count."""
    kept = [r for r in rounds if is_steady(r)]
    return kept if len(kept) >= LEAST_ROUNDS else rounds


def summarize(row, work, groups):
    """Medians over the rounds of every group of peers, those without a jump of the bandwidth if there are enough.

    groups     (rounds, trial) of Sides.measure, one for each group
    left_out   rounds that do not count
    ratio      the best peer's time over ours: the least median ratio of all peers; above 1 the compiled layer is faster
    low, high  least and largest ratio of a round with this peer
    floor      share of the least possible time in ours, the median over all rounds
    peers      {variant: {"ratio", "low", "high", "floor", "seconds"}}; of a peer that was left out after its trial only "seconds"
    """
    measured_rounds = sum(len(samples) for samples, _ in groups)
    groups = [(steady(samples), trial) for samples, trial in groups]
    rounds = [r for samples, _ in groups for r in samples]
    peers = {v: {"seconds": s} for _, trial in groups for v, s in trial.items() if v != OURS}
    for samples, _ in groups:
        for variant in samples[0]["samples"] if samples else ():
            if variant == OURS:
                continue
            theirs = [s["samples"][variant]["seconds"] for s in samples]
            ratios = [t / s["samples"][OURS]["seconds"] for t, s in zip(theirs, samples)]
            floors = [floor_seconds(work, s) / t for t, s in zip(theirs, samples)]
            peers[variant] = {
                "seconds": statistics.median(theirs), "ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios),
                "floor": statistics.median(floors),
            }  # fmt: skip
    measured = {v: p for v, p in peers.items() if "ratio" in p}
    best = min(measured, key=lambda v: measured[v]["ratio"], default=None)
    times = [r["samples"][OURS]["seconds"] for r in rounds]
    shares = [floor_seconds(work, r) / t for r, t in zip(rounds, times)]
    return {
        "type": "row", "row": row.name, "rounds": len(rounds), "left_out": measured_rounds - len(rounds),
        "seconds": statistics.median(times), "least": min(times), **work,
        "floor": statistics.median(shares), "floor_low": min(shares), "floor_high": max(shares),
        "floor_seconds": statistics.median(floor_seconds(work, r) for r in rounds),
        "bandwidth": statistics.median(r["bandwidth"] for r in rounds), "peak": statistics.median(r["peak"] for r in rounds),
        "peer": best, **({k: measured[best][k] for k in ("ratio", "low", "high")} if best else {}), "peers": peers,
        "disturbed": sum(any(s["other_busy"] > IDLE_SHARE for s in r["samples"].values()) for r in rounds),
    }  # fmt: skip
