"""Memory of running processes, sampled from /proc."""

import threading
import time
from pathlib import Path


def descendants(pid):
    """`pid` and the processes below it."""
    found, queue = [], [pid]
    while queue:
        current = queue.pop()
        found.append(current)
        try:
            for task in Path(f"/proc/{current}/task").iterdir():
                queue.extend(map(int, (task / "children").read_text().split()))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def read_fields(path, names):
    """{name: bytes} of the "Name:   123 kB" lines of a /proc file; zeros if the process is gone."""
    values = dict.fromkeys(names, 0)
    try:
        for line in Path(path).read_text().splitlines():
            name, _, rest = line.partition(":")
            if name in values:
                values[name] = 1024 * int(rest.split()[0])
    except (FileNotFoundError, ProcessLookupError):
        pass
    return values


class PeakSampler:
    """Samples a process and its children until they end; `peaks` are the largest sums seen.

    file   "smaps_rollup" (walks the page tables, exact) or "status" (cheap)
    names  fields of that file
    """

    def __init__(self, pid, file, names, interval=0.01):
        self.peaks = dict.fromkeys(names, 0)
        self.samples = 0
        self._pid, self._file, self._names, self._interval = pid, file, names, interval
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._stop.set()
        self._thread.join()

    def _loop(self):
        while not self._stop.is_set():
            begin = time.monotonic()
            sums = dict.fromkeys(self._names, 0)
            for pid in descendants(self._pid):
                for name, value in read_fields(f"/proc/{pid}/{self._file}", self._names).items():
                    sums[name] += value
            for name in self._names:
                self.peaks[name] = max(self.peaks[name], sums[name])
            self.samples += 1
            # Leaves the process most of the time even where one sample takes long.
            self._stop.wait(max(self._interval, 4 * (time.monotonic() - begin)))
