"""Where the time of a run went."""

import contextlib
import time


class Spent:
    """Seconds of the parts of each thing that is measured."""

    def __init__(self):
        self._seconds = {}

    def add(self, thing, part, seconds):
        parts = self._seconds.setdefault(thing, {})
        parts[part] = parts.get(part, 0) + seconds

    @contextlib.contextmanager
    def measured(self, thing, part):
        """Adds the time of what runs inside."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.add(thing, part, time.perf_counter() - begin)

    def add_steps(self, steps):
        """Those of `Artifacts.spent`, whose names are "thing: part"."""
        for step, seconds in steps.items():
            self.add(*step.split(": "), seconds)

    def table(self):
        """Lines of things and parts that took a tenth of a second or more, with their sums."""
        parts = list(dict.fromkeys(part for seconds in self._seconds.values() for part, s in seconds.items() if s >= 0.1))
        widths = [max(len(part), 6) + 2 for part in parts]
        width = max(map(len, [*self._seconds, "time spent, s"]))
        lines = [f"{'time spent, s':<{width}}" + "".join(f"{part:>{w}}" for part, w in zip([*parts, "all"], [*widths, 8]))]
        everything = {part: sum(seconds.get(part, 0) for seconds in self._seconds.values()) for part in parts}
        for thing, seconds in [*self._seconds.items(), ("all", everything)]:
            values = [seconds.get(part, 0) for part in parts]
            lines.append(f"{thing:<{width}}" + "".join(f"{v:>{w}.1f}" if v else " " * w for v, w in zip([*values, sum(values)], [*widths, 8])))
        return "\n".join(lines)
