"""Where the threads of a process are, some thousand times per second: perf's clock, which needs no performance counters.

The sampled instruction is the oldest one that has not finished: in a loop that waits for memory it is the load that waits.
"""

import collections
import os
import re
import subprocess
from pathlib import Path

from ..errors import BenchError

# A prime number, so that no loop stays in step with it. Four times as many make a call on a virtual machine a fifth slower.
SAMPLES_PER_SECOND = 997

LINE = re.compile(r"^\s*[0-9a-f]+\s+(.+?)(?:\+0x([0-9a-f]+))?\s+\((.+)\)$")


def sample(perf, worker, seconds, file):
    """Samples `worker` into `file` while it runs its call for about so many seconds; gives the worker's answer."""
    command = [perf, "record", "-e", "cpu-clock", "-F", str(SAMPLES_PER_SECOND), "-p", str(worker.pid), "-o", str(file), "--", "sleep", str(seconds)]
    recorder = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        answer = worker.ask("run", variant="compiled", seconds=seconds)
        words = recorder.communicate()[1]
    finally:
        recorder.kill()
    if recorder.returncode:
        raise BenchError(f"perf cannot sample a process: {' '.join(words.split()) or 'it does not say why'}", 2)
    return answer


def read(perf, file, library):
    """({symbol: {offset: samples}} of the shared object `library`, {file name: samples} of everything else)."""
    command = [perf, "script", "-i", str(file), "-F", "ip,sym,symoff,dso"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise BenchError(f"'{' '.join(command)}' failed: {done.stderr.strip()}", 70)
    return parse(done.stdout, library)


def parse(text, library):
    """The same of perf's text."""
    inside, elsewhere = collections.defaultdict(collections.Counter), collections.Counter()
    for line in text.splitlines():
        found = LINE.match(line)
        if not found:
            continue
        symbol, offset, file = found[1], int(found[2] or "0", 16), found[3]
        if os.path.realpath(file) == os.path.realpath(library) and symbol != "[unknown]":
            inside[symbol][offset] += 1
        else:
            elsewhere[Path(file).name] += 1
    return dict(inside), elsewhere
