"""A layer and a model's decode step as two ranks with one thread each, beside one process with two threads: in turns."""

import contextlib
import json
import statistics
import tempfile
import time
from pathlib import Path

from ..artifacts import Artifacts, archive_of, compile_command, run, stamp_of
from ..errors import BenchError
from ..layers.artifacts import LayerArtifacts, layer_command
from ..pagecache import settle
from ..pairing import IDLE_SHARE, SETTLE_SECONDS
from . import rows
from .job import Job

SIDES = ("one", "ranks")
# Sums of other orders, of numbers in bf16; a wrong program differs by about 1.
LIMITS = {"layer": 0.03, "decode": 0.1}


class RankLayers(LayerArtifacts):
    """The layer for several ranks, beside that for one process."""

    def for_ranks(self, shape, dtype):
        data, text = self.data(shape), self.source(shape, dtype)
        target = text.with_name(f"layer-ep{rows.RANKS}.so")
        command = [*layer_command(self.compiler, text, target, data), f"--parallel=ep={rows.RANKS},tokens=split"]
        source = stamp_of(data).read_text() + text.read_text() + self.compiler_digest()
        self.make(target, source, f"{shape.name} {dtype}: compile for {rows.RANKS} ranks", lambda: run(command))
        return target


class RankModels(Artifacts):
    """The model for several ranks, beside that for one process."""

    def for_ranks(self, model, dtype, axis, parallel):
        exported = self.exported(model, dtype)
        target = self.folder / model / dtype / f"lib-{axis}{rows.RANKS}" / "model.so"
        command = [*compile_command(self.compiler, exported, target, "lib"), f"--parallel={parallel},tokens=replicated", "-q"]
        source = stamp_of(exported).read_text() + self.compiler_digest()
        self.make(target, source, f"{model} {dtype}: compile for {rows.RANKS} ranks", lambda: run(command))
        return target


def settle_archives(libraries):
    """Brings the archives of {"one", "ranks"} into pages as large as can be had; returns their shares. They differ in the program's name alone, but are two files."""
    return {side: settle(archive_of(library)) for side, library in libraries.items()}


def layer_call(row, data):
    """(calls, output, rows of the output) of a row of a layer."""
    files = {name: str(data / row.case / f"{name}.npy") for name in ("x", "ids", "weights")}
    return [[(name, file, name == "x") for name, file in files.items()]], "y", row.tokens


def decode_call(row, checkpoint):
    """The same of a decode step, with the calls that fill its cache."""
    vocabulary = json.loads((checkpoint / "config.json").read_text())["vocab_size"]
    calls = []
    for position, tokens in zip((0, row.position), row.tokens(vocabulary)):
        values = {"input_ids": tokens, "position": [position] * row.batch, "logits_to_keep": [len(tokens[0]) - 1]}
        calls.append([(name, value, False) for name, value in values.items()])
    return calls, "logits", row.batch


class Pair:
    """Both sides of a program. `before_round` is called in each and gives what is recorded beside the turns."""

    def __init__(self, libraries, cores, record, turn_seconds, before_round=dict):
        self._record, self._turn_seconds, self._before_round = record, turn_seconds, before_round
        self._stack = contextlib.ExitStack()
        with contextlib.ExitStack() as failed:
            failed.callback(self._stack.close)
            self._jobs = {side: self._stack.enter_context(Job(side, libraries[side], cores, side == "ranks")) for side in SIDES}
            failed.pop_all()

    def measure(self, name, call, rounds, limit):
        """(summary of a row, rows of each expert of each layer in its call)."""
        answers, distance = self._prepare(name, call, limit)
        count = {side: max(1, int(self._turn_seconds / min(job.run(2)))) for side, job in self._jobs.items()}
        samples = [self._round(name, index, count) for index in range(rounds)]
        return {**summarize(name, samples), "distance": distance}, answers["one"][0]["expert_rows"]

    def _prepare(self, name, call, limit):
        calls, output, count = call
        with tempfile.TemporaryDirectory() as folder:
            files = {side: str(Path(folder) / f"{side}.npy") for side in SIDES}
            answers = {side: job.ask("prepare", calls=calls, output=output, result=files[side]) for side, job in self._jobs.items()}
            distance = self._jobs["one"].workers[0].ask("compare", actual=files["ranks"], expected=files["one"], rows=count)["distance"]
        if not distance <= limit:
            raise BenchError(f"{name}: the result of {rows.RANKS} ranks differs from that of one process by {distance:.2g}; at most {limit} is expected", 3)
        return answers, distance

    def _round(self, name, index, count):
        sample = {"type": "round", "row": name, "round": index, **self._before_round(), "times": {}, "other_busy": {}}
        for side in SIDES if index % 2 == 0 else SIDES[::-1]:
            time.sleep(SETTLE_SECONDS)
            others = [job for other, job in self._jobs.items() if other != side]
            before, begin = sum(job.cpu_seconds() for job in others), time.perf_counter()
            sample["times"][side] = self._jobs[side].run(count[side])
            busy = sum(job.cpu_seconds() for job in others) - before
            sample["other_busy"][side] = round(busy / (time.perf_counter() - begin), 4)
        self._record(sample)
        return sample

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._stack.close()


def summarize(name, samples):
    """Medians over the rounds, each the median of its calls.

    ratio  the time of one process over that of the ranks: above 1 the ranks are faster
    """
    times = [{side: statistics.median(s["times"][side]) for side in SIDES} for s in samples]
    ratios = [t["one"] / t["ranks"] for t in times]
    return {
        "type": "row", "row": name, "rounds": len(samples), "ratio": statistics.median(ratios), "low": min(ratios), "high": max(ratios),
        "seconds": {side: statistics.median(t[side] for t in times) for side in SIDES},
        "disturbed": sum(any(busy > IDLE_SHARE for busy in s["other_busy"].values()) for s in samples),
    }  # fmt: skip
