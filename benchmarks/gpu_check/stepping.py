"""What the steps have in common: parts, the device and sizes, and results that are on the disk as soon as they are known.

    def parts(bundle, sizes):            # without a device; in the order of their value
        for model in sizes.measured:
            yield Part(model, seconds=10)

    def run(step, part):                 # in a child process, which ends with what hangs or breaks in it
        step.write("row", model=part.name, median=step.time(call)["median"])

    if __name__ == "__main__":
        main("example", parts, run)
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from . import sizes as all_sizes
from .device import REAL, seam_of


@dataclass(frozen=True)
class Part:
    """What is lost at most by a hang, a crash or a fault of the device: its own lines."""

    name: str  # in the lines that it writes, as "part"
    arguments: dict = field(default_factory=dict)
    seconds: float = 15  # it is ended after so long
    group: str = ""  # parts that follow each other with the same group share a process, unless one of them ends it
    least: float = 1  # seconds that the step must have left for it to begin


class Step:
    """Writes one JSON object per line; `left` says how many seconds the step still has."""

    def __init__(self, name, options):
        self.options, self.bundle, self.name, self.part = options, options.bundle, name, None
        self.seam, self.settings = seam_of(options.seam)
        self.sizes = all_sizes.few(self.seam.SIZES) if options.few else self.seam.SIZES
        self.start, self.kept, self.gpu, self.failed = time.perf_counter(), {}, None, 0
        self.file = options.out.open("a")
        self.file.truncate(0)

    @property
    def left(self):
        return self.options.seconds - (time.perf_counter() - self.start)

    def open_gpu(self):
        """Of this process; `gpu` from then on."""
        self.gpu = self.seam.open_device(self.bundle, self.settings)

    def write(self, kind, **values):
        """A line; `passed=False` among the values fails the step, and the step goes on."""
        part = {"part": self.part.name} if self.part else {}
        self.failed += values.get("passed") is False
        line = json.dumps({"type": kind, "seconds": round(time.perf_counter() - self.start, 3), **part, **values})
        self.file.write(line + "\n")
        self.file.flush()

    def attempt(self, what, function, *arguments):
        """Runs something; what it raises becomes a line, and the next thing runs."""
        try:
            return function(*arguments)
        except Exception as error:  # noqa: BLE001: whatever it is, the other parts are worth having
            self.write("error", what=what, message=f"{type(error).__name__}: {error}"[:2000], passed=False)
            return None

    def once(self, key, make):
        """`make()` of the first call with this key in this process; the parts of a group share it."""
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    def time(self, call):
        """{"median", "samples", "calls"} of a call that can be captured, in seconds."""
        return self.gpu.time(call, self.sizes.least_seconds)


def read_lines(file):
    """What a step wrote; lines that were cut off are left out."""
    lines = []
    for line in file.read_text(errors="replace").splitlines() if file.is_file() else []:
        try:
            lines.append(json.loads(line))
        except ValueError:
            continue
    return lines


def read_options(name):
    parser = argparse.ArgumentParser(prog=name)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="file for the lines; others of the run lie beside it")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seam", default=REAL, help="MODULE or MODULE:SETTINGS (device/__init__.py)")
    parser.add_argument("--few", action="store_true", help="only the smallest case, for a checker that slows everything down")
    return parser.parse_args()


def main(name, parts, run, device=True):
    """The process of a step. `device`: whether `run` wants `step.gpu`. Exit code 0: all passed; 3: something did not."""
    from .children import supervise

    step = Step(name, read_options(name))
    supervise(step, list(parts(step.bundle, step.sizes)), run, device)
    failed = sum(line.get("passed") is False for line in read_lines(step.options.out))
    step.write("end", failed=failed)
    sys.exit(3 if failed else 0)
