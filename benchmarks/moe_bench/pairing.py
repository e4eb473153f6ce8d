"""One row, measured in rounds: each side in turn, the order alternating, while the others sleep."""

import math
import os
import statistics
import tempfile
import time
from array import array
from pathlib import Path

from .errors import BenchError

# A variant of a peer this much slower than the best one in the trial is left out of the rounds.
HOPELESS = 1.25

# Share of a turn that the waiting sides may compute before the round counts as disturbed.
IDLE_SHARE = 0.02

# float32 logits differ by rounding, which a router near a tie can amplify; a wrong program differs by far more.
LIMITS = {"float32": 1e-3, "bfloat16": 0.5}

# Threads that spin after their last work have gone to sleep by then.
SETTLE_SECONDS = 0.03


class Pair:
    """Measures rows on two workers or more.

    compiled, peer   workers, see worker.py; the peer is PyTorch, which counts the work of a call and whose logits ours are held against
    others           further peers, whose logits are held against ours
    machine          see machine.py
    record           called with one dictionary per raw sample
    turn_seconds     length of a turn
    """

    def __init__(self, compiled, peer, machine, record, turn_seconds, others=()):
        self.compiled, self.peer, self.others, self.machine = compiled, peer, others, machine
        self._owners = {v: worker for worker in (peer, *others) for v in worker.info["variants"]}
        self.record = record
        self.turn_seconds = turn_seconds

    def measure(self, row, rounds, enough=lambda summary: False):
        """Runs the rounds of a row, fewer if `enough` says so of the summary so far; returns its summary, see `summarize`."""
        spent = {}
        work, difference, theirs = self._prepare(row, spent)
        begin = time.perf_counter()
        owners = {v: worker for v, worker in self._owners.items() if v not in work.get("unavailable", ())}
        trial = {v: self._turn(worker, v)["seconds"] for v, worker in owners.items()}
        best = min(trial.values())
        variants = [v for v in trial if trial[v] <= HOPELESS * best]
        self.record({"type": "trial", "row": row.name, "seconds": trial, "kept": variants, "logits_difference": difference, "others_difference": theirs, **work})
        samples, summary = [], {}
        while len(samples) < rounds and not (samples and enough(summary)):
            samples.append(self._round(row, len(samples), variants, work))
            summary = summarize(row, samples, work, self.machine.peak(row.dtype), difference)
        spent["rounds"] = time.perf_counter() - begin
        return {**summary, "unavailable": work.get("unavailable", {}), "spent": spent}

    def _prepare(self, row, spent):
        """Puts all sides in place for a row; returns (the call's work, largest difference of the logits, that of each variant of the others).

        spent  gets the seconds of each side
        """
        context, tokens = row.tokens(self.peer.info["vocabulary"])
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / name for name in ("peer", "compiled")]

            def prepare(worker, file):
                begin = time.perf_counter()
                answer = worker.ask("prepare", context=context, tokens=tokens, logits=str(file))
                spent[worker.name] = time.perf_counter() - begin
                return answer

            work = prepare(self.peer, files[0])
            prepare(self.compiled, files[1])
            expected, actual = (_floats(file) for file in files)
            ours = difference(row, actual, expected)
            theirs = {}
            for other in self.others:
                prepare(other, Path(folder) / "other")
                for variant in other.info["variants"]:
                    theirs[variant] = difference(row, _floats(Path(folder) / f"other.{variant}"), actual, f"{variant}: ", "the compiled model")
        return work, ours, theirs

    def _turn(self, worker, variant):
        others = [w for w in (self.compiled, self.peer, *self.others) if w is not worker]
        time.sleep(SETTLE_SECONDS)
        before, begin = sum(w.cpu_seconds() for w in others), time.perf_counter()
        sample = worker.ask("run", variant=variant, seconds=self.turn_seconds)
        elapsed = time.perf_counter() - begin
        sample["other_busy"] = round((sum(w.cpu_seconds() for w in others) - before) / elapsed, 4)
        return sample

    def _round(self, row, index, variants, work):
        """One round: the machine's read bandwidth, then every side. Returns variant -> sample, and "bandwidth"."""
        time.sleep(SETTLE_SECONDS)
        turns = [(self.compiled, self.compiled.info["variants"][0]), *((self._owners[v], v) for v in variants)]
        if index % 2:
            turns.reverse()
        bandwidth = self.machine.read_bandwidth(work["bytes"])
        samples = {}
        for worker, variant in turns:
            samples["compiled" if worker is self.compiled else variant] = self._turn(worker, variant)
        load = os.getloadavg()[0]
        self.record({"type": "round", "row": row.name, "round": index, "bandwidth": bandwidth, "load": load, "samples": samples})
        return {"bandwidth": bandwidth, **samples}


def _floats(file):
    return array("f", file.read_bytes())


def difference(row, actual, expected, who="", reference="PyTorch"):
    """Largest difference of two sides' logits over the largest logit; raises BenchError (3), which names them, if they are not the same model's."""
    if len(actual) != len(expected):
        raise BenchError(f"{row.name}: {who}{len(actual)} logits, {reference} has {len(expected)}", 3)
    if not all(map(math.isfinite, actual)):
        raise BenchError(f"{row.name}: {who}logits are not finite", 3)
    largest = max(map(abs, expected))
    result = max(abs(a - e) for a, e in zip(actual, expected)) / largest
    if not result <= LIMITS[row.dtype]:
        raise BenchError(f"{row.name}: {who}logits differ from {reference}'s by {result:.2g} of the largest; at most {LIMITS[row.dtype]} is expected", 3)
    return result


def summarize(row, samples, work, peak, logits_difference):
    """Medians over the rounds.

    ratio      the best peer's time over ours: that of the variant with the least median time; above 1 the compiled model is faster
    low, high  least and largest ratio of a round
    floor      share of the least possible time, max(flops / peak, bytes / the round's bandwidth), in ours
    """
    variants = [v for v in samples[0] if v not in ("bandwidth", "compiled")]
    medians = {v: statistics.median(s[v]["seconds"] for s in samples) for v in variants}
    best = min(medians, key=medians.get)
    ratios = [s[best]["seconds"] / s["compiled"]["seconds"] for s in samples]
    floors = [max(work["flops"] / peak, work["bytes"] / s["bandwidth"]) for s in samples]
    seconds = statistics.median(s["compiled"]["seconds"] for s in samples)
    return {
        "type": "row",
        "row": row.name,
        "rounds": len(samples),
        "seconds": seconds,
        "tokens_per_second": row.batch * row.new_tokens / seconds,
        "peer": best,
        "peer_seconds": medians[best],
        "ratio": statistics.median(ratios),
        "low": min(ratios),
        "high": max(ratios),
        "floor": statistics.median(f / s["compiled"]["seconds"] for f, s in zip(floors, samples)),
        "peer_floor": statistics.median(f / s[best]["seconds"] for f, s in zip(floors, samples)),
        "bandwidth": statistics.median(s["bandwidth"] for s in samples),
        "logits_difference": logits_difference,
        "disturbed": sum(any(s[v]["other_busy"] > IDLE_SHARE for v in ("compiled", *variants)) for s in samples),
    }
