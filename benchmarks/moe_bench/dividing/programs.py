"""A model divided in every way, all programs open at once, measured in turns."""

import contextlib
import json
import re
import statistics
import tempfile
import time
from pathlib import Path

from ..artifacts import PACKAGE_ROOT, Artifacts, compile_command, digest, run, stamp_of
from ..errors import BenchError
from ..pagecache import settle
from ..pairing import SETTLE_SECONDS
from ..ranks.job import Job
from . import rows

LIMIT = 0.1  # between two ways, of logits in bf16; a wrong program differs by about 1
REMARK = re.compile(r"remark: \[Analysis\] Parallel: (\S+): ([0-9.]+) (us|ms)[,;]")


class DividedModels(Artifacts):
    """Models of checkpoints.py for two ranks."""

    def checkpoint(self, model):
        target = self.folder / model / "checkpoint"
        source = digest(Path(__file__).with_name("checkpoints.py"), PACKAGE_ROOT / "moe_bench" / "checkpoints.py")
        self.make(target, source, f"{model}: checkpoint", lambda: self.python("moe_bench.dividing.checkpoints", model, target))
        return target

    def alternatives(self, row, machine):
        """{text of --parallel: estimated seconds}, the chosen one first."""
        with tempfile.TemporaryDirectory() as folder:
            command = [self.compiler, self.exported(row.model, rows.DTYPE), "-o", f"{folder}/spmd.mlir", "--to=spmd", "-v", f"--parallel=auto,batch={row.batch}"]
            text = run([*map(str, command), f"--cluster={rows.RANKS}x{machine}", f"--schedule-tokens={row.batch * row.tokens}"]).stderr
        found = {name: float(number) * (1e-6 if unit == "us" else 1e-3) for name, number, unit in REMARK.findall(text)}
        chosen = re.search(r"note: --parallel=([^:]+): ", text)
        if not chosen or chosen[1] != next(iter(found), None):
            raise BenchError(f"{row.name}: moe-compile does not say what it chose first: {text[:500]}", 70)
        return found

    def divided(self, model, parallel):
        """The program of one way."""
        exported = self.exported(model, rows.DTYPE)
        target = self.folder / model / rows.DTYPE / re.sub(r"\W+", "-", parallel) / "model.so"
        command = [*compile_command(self.compiler, exported, target, "lib"), f"--parallel={parallel}", "-q"]
        source = stamp_of(exported).read_text() + self.compiler_digest()
        self.make(target, source, f"{model}: compile {parallel}", lambda: run(command))
        return target

    def vocabulary(self, model):
        return json.loads((self.checkpoint(model) / "config.json").read_text())["vocab_size"]


class Ways:
    """All ways to divide a model, each with its two processes."""

    def __init__(self, libraries, cores, record, turn_seconds):
        self._record, self._turn_seconds = record, turn_seconds
        self._stack = contextlib.ExitStack()
        with contextlib.ExitStack() as failed:
            failed.callback(self._stack.close)
            for library in libraries.values():
                settle(library.with_name(library.name + ".weights"))
            self._jobs = {name: self._stack.enter_context(Job(name, library, cores, True)) for name, library in libraries.items()}
            failed.pop_all()

    def measure(self, row, calls, rounds):
        """{way: median seconds of a call in each round}."""
        self._prepare(row, calls)
        count = {name: max(1, int(self._turn_seconds / min(job.run(2)))) for name, job in self._jobs.items()}
        times = {name: [] for name in self._jobs}
        for index in range(rounds):
            names = list(self._jobs)
            names = names[index % len(names) :] + names[: index % len(names)]  # so that none always follows the same one
            sample = {}
            for name in names if index % 2 == 0 else names[::-1]:
                time.sleep(SETTLE_SECONDS)
                sample[name] = self._jobs[name].run(count[name])
                times[name].append(statistics.median(sample[name]))
            self._record({"type": "round", "row": row.name, "round": index, "times": sample})
        return times

    def _prepare(self, row, calls):
        with tempfile.TemporaryDirectory() as folder:
            files = {name: str(Path(folder) / f"{number}.npy") for number, name in enumerate(self._jobs)}
            for name, job in self._jobs.items():
                job.ask("prepare", calls=calls, output="logits", result=files[name])
            first, *others = self._jobs
            for other in others:
                distance = self._jobs[first].workers[0].ask("compare", actual=files[other], expected=files[first], rows=row.batch)["distance"]
                if not distance <= LIMIT:
                    raise BenchError(f"{row.name}: {other} differs from {first} by {distance:.2g}; at most {LIMIT} is expected", 3)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._stack.close()


def compare(ways, row, calls, estimates, rounds):
    """The summary of a row. One that misses the goal is measured again, in more rounds: processes that are held up look like a bad choice."""
    summary = summarize(row, estimates, ways.measure(row, calls, rounds))
    if summary["over_best"] <= rows.OF_BEST or rounds >= rows.ROUNDS_AGAIN:
        return summary
    again = summarize(row, estimates, ways.measure(row, calls, rows.ROUNDS_AGAIN))
    return {**again, "at_first": summary["over_best"]}


def summarize(row, estimates, times):
    """`over_best`: median over the rounds of the chosen way's time over that of the way that is best by its median time."""
    seconds = {name: statistics.median(values) for name, values in times.items()}
    chosen, best = next(iter(estimates)), min(seconds, key=seconds.get)
    ratios = [a / b for a, b in zip(times[chosen], times[best])]
    return {
        "type": "row", "row": row.name, "rounds": len(ratios), "chosen": chosen, "best": best, "over_best": statistics.median(ratios),
        "low": min(ratios), "high": max(ratios), "seconds": seconds, "estimates": estimates,
    }  # fmt: skip
