"""Turns of processes that compute at the same time, each the same program on random tokens."""

import contextlib
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from ..errors import BenchError

PROMPT, STEPS = 128, 32
PHASES = {"prefill": PROMPT, "decode": STEPS}

# Lines that start a repetition each; all of them fit into a pipe, so that nobody has to wake up to write more.
LINES = 60000
START_SECONDS = 60


class Running:
    """A process of the program that waits for lines, with its answers in a file: nobody else runs while it computes."""

    def __init__(self, executable, threads, cores, folder, index):
        self.path = Path(folder) / f"answers-{index}"
        words = ["--benchmark", "--wait", "--repeat", LINES, "--threads", threads, "--prompt-tokens", PROMPT, "--decode-tokens", STEPS]
        with open(self.path, "wb") as answers, open(self.path.with_suffix(".errors"), "wb") as errors:
            self._process = subprocess.Popen(
                [str(executable), *map(str, words)], stdin=subprocess.PIPE, stdout=answers, stderr=errors, preexec_fn=lambda: os.sched_setaffinity(0, cores)
            )

    def ready(self):
        """Asks for one repetition, which nobody counts, and waits for it."""
        self.go(1)
        limit = time.monotonic() + START_SECONDS
        while not self.path.stat().st_size:
            if self._process.poll() is not None or time.monotonic() > limit:
                raise BenchError(f"the program does not measure: {self._errors() or 'it does not answer'}", 70)
            time.sleep(0.01)

    def go(self, lines):
        """Asks for so many repetitions more."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(b"\n" * lines)
            self._process.stdin.flush()

    def end(self):
        """Ends the process, if it still runs."""
        self._process.kill()
        self._process.wait()

    def stop(self):
        """Ends the process, which must still run. Returns its repetitions: (nanoseconds of the prefill, of all decode steps)."""
        early = self._process.poll()
        self.end()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        if early is not None:
            raise BenchError(f"the program ended with {early} during a turn: {self._errors()}", 70)
        # The last line may have been cut off.
        answers = [json.loads(line) for line in self.path.read_text().splitlines(keepends=True)[1:] if line.endswith("\n")]
        return [(answer["prefill_ns"], sum(answer["decode_ns"])) for answer in answers]

    def _errors(self):
        return self.path.with_suffix(".errors").read_text(errors="replace").strip()[-500:]


def turn(executable, processes, threads, cores, seconds):
    """Lets so many processes run for so long. Returns the repetitions of each."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        running = []
        for index in range(processes):
            running.append(Running(executable, threads, cores, folder, index))
            stack.callback(running[-1].end)
        for process in running:
            process.ready()
        for process in running:
            process.go(LINES - 1)
        time.sleep(seconds)
        found = [process.stop() for process in running]
    if not all(found):
        raise BenchError(f"{processes} processes of {threads} threads: one had no repetition in {seconds} s; see --seconds")
    return found


def speeds(repetitions):
    """Tokens per second of one process by phase, over all its time: a median would leave out when it did not run."""
    totals = [sum(times) for times in zip(*repetitions)]
    return {phase: PHASES[phase] * len(repetitions) / (total * 1e-9) for phase, total in zip(PHASES, totals)}


def fair_share(processes, threads, cores):
    """The part of an undisturbed process's speed that each may expect; that one has as many threads as cores at most."""
    return min(1.0, cores / (processes * min(threads, cores)))
