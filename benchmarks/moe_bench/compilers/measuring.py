"""Rounds of two sides, old and new: each in turn, the order alternating. Of what the programs take, and of what compiling them takes."""

import filecmp
import itertools
import math
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from ..compiling import NO_CACHE
from ..errors import BenchError
from ..pairing import IDLE_SHARE, SETTLE_SECONDS
from .programs import VARIANT

SIDES = ("old", "new")

# Rounds of a row that was below the goal, measured again at the end; of compiling, which takes seconds.
REPEATED, COMPILED_AGAIN = 21, 9

# Pairs of processes that share the rounds of such a row.
STARTS = 7


def order(index):
    """The sides of a round in their order."""
    return SIDES if index % 2 == 0 else SIDES[::-1]


class Pair:
    """Two workers of one program.

    program  see programs.py
    workers  {"old", "new"}
    record   called with one dictionary per raw sample
    """

    def __init__(self, program, workers, record, turn_seconds):
        self._program, self._workers, self._record, self._turn_seconds = program, workers, record, turn_seconds

    def rounds(self, row, numbers):
        """(samples of the rounds of these numbers, whether the results of both sides are the same bits)."""
        same = self._prepare(row)
        for side in SIDES:  # untimed: what the caches and the pages hold is now that of running
            self._turn(side)
        return [self._round(row, number) for number in numbers], same

    def _prepare(self, row):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for side, worker in self._workers.items():
                (Path(folder) / side).mkdir()
                files.append(self._program.prepare(worker, row, Path(folder) / side))
            return filecmp.cmp(*files, shallow=False)

    def _round(self, row, index):
        samples = {side: self._turn(side) for side in order(index)}
        self._record({"type": "round", "row": row.name, "round": index, "load": os.getloadavg()[0], "samples": samples})
        return samples

    def _turn(self, side):
        (other,) = (worker for name, worker in self._workers.items() if name != side)
        time.sleep(SETTLE_SECONDS)
        before, begin = other.cpu_seconds(), time.perf_counter()
        sample = self._workers[side].ask("run", variant=VARIANT, seconds=self._turn_seconds)
        sample["other_busy"] = round((other.cpu_seconds() - before) / (time.perf_counter() - begin), 4)
        return sample


def parts(rounds, starts):
    """The numbers of rounds, divided among the starts as evenly as they can be."""
    bounds = [rounds * i // starts for i in range(starts + 1)]
    return [range(*part) for part in itertools.pairwise(bounds) if len(range(*part))]


def summary(name, samples, same):
    """`summarize` of a row's rounds; "same" is whether the results are the same bits, "disturbed" counts the rounds in which the other side used its cores."""
    disturbed = sum(any(s["other_busy"] > IDLE_SHARE for s in sample.values()) for sample in samples)
    return {**summarize(name, [{side: s[side]["seconds"] for side in SIDES} for s in samples]), "same": same, "disturbed": disturbed}


def compile_rounds(program, rounds, record, cores, folder):
    """Summary of the compilers' CPU seconds (user and system, with those of the linker); "wall": of the seconds on the clock."""
    samples = []
    for index in range(-1, rounds):  # the first, which reads the inputs into memory, does not count
        taken = {side: compile_once(program.command(side, Path(folder) / "program.so"), cores, folder) for side in order(index)}
        if index >= 0:
            samples.append(taken)
            record({"type": "compile-round", "row": program.name, "round": index, "load": os.getloadavg()[0], "samples": taken})
    cpu, wall = (summarize(program.name, [{side: s[side][what] for side in SIDES} for s in samples]) for what in ("cpu", "wall"))
    return {**cpu, "type": "compile-row", "wall": {key: wall[key] for key in ("ratio", "low", "high", "seconds")}}


def compile_once(command, cores, folder):
    """{"cpu", "wall"} seconds of a command that writes into `folder`, which is empty afterwards."""
    with open(Path(folder) / "errors", "w+") as errors:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env={**os.environ, **NO_CACHE},
                                   preexec_fn=lambda: os.sched_setaffinity(0, cores))
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            raise BenchError(f"'{' '.join(map(str, command))}' failed with exit code {process.returncode}:\n{errors.read().strip()[-2000:]}", 70)
    for file in Path(folder).iterdir():
        file.unlink()
    return {"cpu": usage.ru_utime + usage.ru_stime, "wall": wall}


def summarize(name, samples):
    """Medians over the rounds, whose samples are {"old", "new"} in seconds.

    ratio      the old one's time over the new one's: above 1 the new one is faster
    low, high  least and largest ratio of a round
    """
    ratios = [s["old"] / s["new"] for s in samples]
    return {
        "type": "row", "row": name, "rounds": len(samples), "ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios),
        "seconds": {side: statistics.median(s[side] for s in samples) for side in SIDES},
    }  # fmt: skip


def measure_all(programs, measure, rounds, goal, say, again=REPEATED):
    """Summaries of all rows, where one below the goal is that of `again` rounds at the end, or of as many as at first.

    measure  called with a program, those of its rows that are wanted, the number of rounds and that of the processes' starts; gives their summaries
    """
    found = {s["row"]: s for program in programs for s in measure(program, program.rows, rounds, 1)}
    slow = {name for name, s in found.items() if s["ratio"] < goal}
    if slow:
        say(f"{len(slow)} of {len(found)} are below {goal:.3g}: again, in {max(rounds, again)} rounds")
    for program in programs:
        wanted = [row for row in program.rows if row.name in slow]
        if wanted:
            found.update((s["row"], {**s, "first_ratio": found[s["row"]]["ratio"]}) for s in measure(program, wanted, max(rounds, again), STARTS))
    return list(found.values())


def geometric_mean(summaries):
    """Of the rows' ratios."""
    return math.exp(statistics.fmean(math.log(s["ratio"]) for s in summaries))
