"""Where the threads of a process are, about a thousand times per second: perf's clock, which needs no performance counters.

The sampled instruction is the oldest one that has not finished: in a loop that waits for memory it is the load that waits. Threads that sleep have no samples.
"""

import collections
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from ..errors import BenchError

# A prime number, so that no loop stays in step with it. Four times as many make a call on a virtual machine a fifth slower.
SAMPLES_PER_SECOND = 997

# Beyond which perf starts or ends no more.
PATIENCE_SECONDS = 60

LINE = re.compile(r"^\s*[0-9a-f]+\s+(.+?)(?:\+0x([0-9a-f]+))?\s+\((.+)\)$")


def _record(perf, file, what):
    return [perf, "record", "-N", "-e", "cpu-clock", "-F", str(SAMPLES_PER_SECOND), "-o", str(file), *what]


def check(perf, folder):
    """Raises BenchError (2) if perf may not sample here; writes into `folder`."""
    done = subprocess.run(_record(perf, folder / "check", ["--", "true"]), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise _refused(done.stderr)


def sample(perf, worker, seconds, file):
    """Samples `worker` into `file` while it runs its call for about so many seconds; gives the worker's answer."""
    # Who starts us in the background may have SIGINT ignored.
    command, streams = _record(perf, file, ["-p", str(worker.pid)]), {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    recorder = subprocess.Popen(command, **streams, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    try:
        # perf writes the beginning of its file when it has attached itself.
        deadline = time.monotonic() + PATIENCE_SECONDS
        while recorder.poll() is None and time.monotonic() < deadline and not (file.exists() and file.stat().st_size):
            time.sleep(0.01)
        answer = worker.ask("run", variant="compiled", seconds=seconds) if recorder.poll() is None else None
    finally:
        recorder.send_signal(signal.SIGINT)
        try:
            words = recorder.communicate(timeout=PATIENCE_SECONDS)[1]
        except subprocess.TimeoutExpired:
            recorder.kill()
            words = recorder.communicate()[1] or "it does not end"
    if answer is None or recorder.returncode not in (0, -signal.SIGINT):
        raise _refused(words)
    return answer


def _refused(words):
    return BenchError(f"perf cannot sample here: {' '.join(words.split()) or 'it does not say why'}", 2)


def read(perf, file, library):
    """({symbol: {offset: samples}} of the shared object `library`, {file name: samples} of everything else)."""
    command = [perf, "script", "--no-demangle", "-i", str(file), "-F", "ip,sym,symoff,dso"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise BenchError(f"'{' '.join(command)}' failed: {done.stderr.strip()}", 70)
    return parse(done.stdout, library)


def parse(text, library):
    """The same of perf's text."""
    inside, elsewhere = collections.defaultdict(collections.Counter), collections.Counter()
    ours = {str(library), os.path.realpath(library)}
    for line in text.splitlines():
        found = LINE.match(line)
        if not found:
            continue
        symbol, offset, file = found[1], int(found[2] or "0", 16), found[3]
        if file in ours and symbol != "[unknown]":
            inside[symbol][offset] += 1
        else:
            elsewhere[Path(file).name] += 1
    return inside, elsewhere
