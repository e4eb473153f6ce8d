"""What the steps have in common: arguments, and results that are on the disk as soon as they are known."""

import argparse
import json
import sys
import time
from pathlib import Path


class Step:
    """Writes one JSON object per line; `left` says how many seconds the step still has."""

    def __init__(self, name):
        parser = argparse.ArgumentParser(prog=name)
        parser.add_argument("--bundle", type=Path, required=True)
        parser.add_argument("--out", type=Path, required=True)
        parser.add_argument("--seconds", type=float, default=60)
        parser.add_argument("--few", action="store_true", help="only the smallest case, for a checker that slows everything down")
        self.options = parser.parse_args()
        self.bundle, self.name = self.options.bundle, name
        self.start, self.failed = time.perf_counter(), 0
        self.file = self.options.out.open("w")

    @property
    def left(self):
        return self.options.seconds - (time.perf_counter() - self.start)

    def write(self, kind, **values):
        """A line; `passed=False` among the values fails the step, and the step goes on."""
        if values.get("passed") is False:
            self.failed += 1
        line = json.dumps({"type": kind, "seconds": round(time.perf_counter() - self.start, 3), **values})
        self.file.write(line + "\n")
        self.file.flush()

    def attempt(self, what, function, *arguments):
        """Runs a part; what it raises becomes a line, and the next part runs."""
        try:
            return function(*arguments)
        except Exception as error:  # noqa: BLE001: whatever it is, the other parts are worth having
            self.write("error", what=what, message=f"{type(error).__name__}: {error}"[:2000], passed=False)
            return None

    def end(self):
        self.write("end", failed=self.failed)
        self.file.close()
        sys.exit(3 if self.failed else 0)
