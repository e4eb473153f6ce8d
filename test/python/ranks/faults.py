"""Random faults of jobs of ranks: what a job does when a rank is killed or stopped at any time, is late or never comes, runs
something else or gets no memory, and when two jobs run at once.

    python test/python/ranks/faults.py COUNT [SECONDS [SEED]]    # prints a table of what was tried, by fault and phase

What costs are deadlines, in which survivors wait without sleeping, and calls of jobs that work. So jobs with a fault have short deadlines, and the
job after a fault has few calls.
"""

import collections
import os
import random
import re
import resource
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from layer import Drawn, inputs_of, write
from moe_mlir.testing.ranks import compile_for

DEADLINE, LOAD = 0.5, 4  # seconds: --deadline of a job with a fault, and what a busy machine may add to deadline + 1 s
PATIENCE = 30  # seconds: --deadline of a job that works
CALLS, FEW = 500, 5
FAULTS = {"killed": 8, "stopped": 6, "late": 1, "never started": 2, "other weights": 1, "other archive": 1, "other program": 1, "no memory": 1, "two jobs": 2}
LAYER = Drawn(8, 2, 16, 16, True, "f32", 9, "random")


@dataclass
class Outcome:
    """What became of a job: its fault, the phase in which the survivors noticed it, and how long they took to end."""

    fault: str
    phase: str
    seconds: float


class Jobs:
    """Programs of two and four ranks, and jobs of them that do nothing but exchange rows, call after call."""

    def __init__(self, folder, calls=CALLS):
        self.folder, self.calls = folder, calls
        layers = {"layer": LAYER, "other": Drawn(8, 1, 16, 17, True, "f32", 9, "random")}
        self.programs, self.others = {}, {}
        for name, layer in layers.items():
            (folder / name).mkdir()
            flags = write(layer, folder / name)
            for ranks, tokens in ((2, "split"), (4, "split")) if name == "layer" else ((2, "split"),):
                made = self.programs if name == "layer" else self.others
                made[ranks] = compile_for(folder / name / "layer.mlir", folder / f"{name}{ranks}", ranks, *flags, tokens=tokens)
        self.others[4] = self.others[2]  # not of four ranks either
        files = inputs_of(LAYER, 4, 1)
        for name, array in files.items():
            np.save(folder / f"{name}.npy", array)
        line = " ".join(f"--input {name}=@{folder}/{name}.npy" for name in files)
        for count in (calls, FEW):
            (folder / f"calls{count}").write_text(f"{line}\n" * count)
        self.expected, self.seconds = {}, {}
        for ranks in self.programs:
            begin = time.monotonic()
            self.run_well(ranks, calls)
            self.seconds[ranks] = time.monotonic() - begin

    def start(self, ranks, rank, job, program=None, words=(), limit=None, calls=None, deadline=PATIENCE):
        """A rank of a job."""
        port, token = job
        own = {"MOE_RANK": str(rank), "MOE_RANKS": str(ranks), "MOE_ROOT": f"127.0.0.1:{port}", "MOE_TOKEN": token}
        command = [program or self.programs[ranks], "--threads", "1", "--deadline", str(deadline), "--calls", self.folder / f"calls{calls or self.calls}", *words]
        output, errors = tempfile.TemporaryFile(dir=self.folder), tempfile.TemporaryFile(dir=self.folder)
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env={**os.environ, **own}, preexec_fn=limit)
        process.output, process.errors = output, errors
        return process

    def run_well(self, ranks, calls):
        """A job without a fault, which must come out as always."""
        job = new_job()
        self.check_well(ranks, [self.start(ranks, rank, job, calls=calls) for rank in range(ranks)], calls)

    def check_well(self, ranks, processes, calls=None):
        for process in processes:
            assert process.wait(timeout=60) == 0, text_of(process.errors)
            assert text_of(process.errors) == ""
        texts = [text_of(process.output) for process in processes]
        assert texts[0].count("output 'y'") == (calls or self.calls) and set(texts[1:]) == {""}
        expected = self.expected.setdefault(ranks, texts[0])
        assert texts[0] == expected[: len(texts[0])]

    def try_fault(self, seed):
        """Starts a job with a fault drawn from `seed`, checks its end, and that a good one runs afterwards."""
        draw = random.Random(seed)
        fault = kind_of(draw)
        ranks = draw.choice(list(self.programs))
        victim, job, before = draw.randrange(ranks), new_job(), shared_files()
        options = {"other weights": {"words": ["--random-weights", "7"]}, "other program": {"program": self.others[ranks]},
                   "other archive": {"words": ["--weights", self.others[2].with_name("model.weights")]}, "no memory": {"limit": limit_memory}}.get(fault, {})
        waits = {"late": draw.uniform(0, 1), "never started": None}
        struck = fault not in ("late", "two jobs") or (fault == "two jobs" and draw.random() < 0.5)
        deadline = DEADLINE if struck else PATIENCE
        processes, begin = [], time.monotonic()
        for rank in range(ranks):
            if rank == victim and fault in waits:
                processes.append(None)
            else:
                processes.append(self.start(ranks, rank, job, deadline=deadline, **(options if rank == victim else {})))
        second = [self.start(ranks, rank, other) for other in [new_job()] for rank in range(ranks)] if fault == "two jobs" else []
        if fault == "late":
            time.sleep(waits[fault])
            processes[victim] = self.start(ranks, victim, job)
        if struck and fault in ("killed", "stopped", "two jobs"):
            time.sleep(draw.uniform(0, self.seconds[ranks]))
            begin = time.monotonic()
            processes[victim].send_signal(signal.SIGSTOP if fault == "stopped" else signal.SIGKILL)
        try:
            if struck:
                phase = self.check_survivors(ranks, victim, fault, processes, begin)
            else:
                self.check_well(ranks, processes)
                phase = "all fine"
            seconds = time.monotonic() - begin
            if second:
                self.check_well(ranks, second)
        finally:
            for process in filter(None, [*processes, *second]):
                process.kill()
                process.wait()
        check_nothing_stays([*self.programs.values(), *self.others.values()], job[0], before)
        self.run_well(ranks, FEW)
        return Outcome(fault, phase, seconds)

    def check_survivors(self, ranks, victim, fault, processes, begin):
        """Each one ends in time: with all of its work done, or with a line that says which rank and when. Gives the phase."""
        phases = []
        for rank, process in enumerate(processes):
            if process is None or (rank == victim and fault in ("killed", "stopped", "two jobs")):
                continue
            code = process.wait(timeout=max(0.1, begin + DEADLINE + 1 + LOAD - time.monotonic()))
            said, output = text_of(process.errors), text_of(process.output)
            if code == 0:
                # Only who has had all that it needs of the others may be content.
                assert fault in ("killed", "stopped", "two jobs") and said == "" and output == ("" if rank else self.expected[ranks])
                phases.append("the work was done")
                continue
            assert code == 1 and said.count("\n") == 1, f"rank {rank} ended with {code}: {said!r}"
            if rank == victim:
                continue  # says what is wrong with itself
            phase = phase_of(said)
            assert phase and re.search(r"\brank(s did not arrive in time: rank)? \d", said), said
            phases.append(phase)
        # What the first one to notice says: others may only hear of it.
        return min(phases, key=lambda phase: (phase == "the work was done", phase))


def kind_of(draw):
    """The fault of a seed, or the first thing that a source of random numbers says."""
    draw = random.Random(draw) if isinstance(draw, int) else draw
    return draw.choices(list(FAULTS), list(FAULTS.values()))[0]


def text_of(file):
    file.seek(0)
    return file.read().decode()


def phase_of(said):
    """What the ranks were doing by a line of an error."""
    quoted = re.search(r'in "(?:up: )?([^"]*)"', said)
    if quoted:
        return quoted[1]
    places = {"could not meet the others": "meeting", "was opening its session": "opening", "has other weights": "opening",
              "cannot have a window": "opening", " failed: ": "opening"}
    return next((phase for text, phase in places.items() if text in said), None)


def new_job():
    """Port and token."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1], secrets.token_hex(8)


def limit_memory():
    """No file grows beyond a page, a window neither."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def shared_files():
    return set(os.listdir("/dev/shm"))


def check_nothing_stays(programs, port, before):
    """No process of the programs, no file in shared memory that nobody has, nobody who listens at the port."""
    limit = time.monotonic() + 5
    while True:
        left = processes_of(programs)
        if not left or time.monotonic() > limit:
            break
        time.sleep(0.01)
    assert not left
    assert not [name for name in shared_files() - before if "moe" in name]
    listening = [line.split() for line in open("/proc/net/tcp").readlines()[1:]]
    assert not [words for words in listening if words[3] == "0A" and int(words[1].split(":")[1], 16) == port]


def processes_of(programs):
    paths, found = {str(program.resolve()) for program in programs}, []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.readlink(f"/proc/{entry}/exe") in paths:
                found.append(int(entry))
        except OSError:
            pass
    return found


def table(outcomes):
    """Rows for docs/Reliability.md."""
    rows = collections.defaultdict(list)
    for outcome in outcomes:
        rows[outcome.fault, outcome.phase].append(outcome.seconds)
    lines = ["| fault | noticed in | jobs | slowest end |", "|---|---|---|---|"]
    for (fault, phase), seconds in sorted(rows.items(), key=lambda row: (list(FAULTS).index(row[0][0]), row[0][1])):
        lines.append(f"| {fault} | {phase} | {len(seconds)} | {max(seconds):.1f} s |")
    return "\n".join(lines)


def main():
    with tempfile.TemporaryDirectory(prefix="moe-faults-") as folder:
        os.environ.setdefault("MOE_TEST_RESULTS", folder + "/results")
        jobs, begin, outcomes = Jobs(Path(folder)), time.monotonic(), []
        limit = begin + float(sys.argv[2]) if len(sys.argv) > 2 else float("inf")
        first = int(sys.argv[3]) if len(sys.argv) > 3 else 0
        for seed in range(first, first + int(sys.argv[1])):
            if time.monotonic() > limit:
                break
            try:
                outcomes.append(jobs.try_fault(seed))
            except Exception as error:
                print(f"seed {seed}: {type(error).__name__} {error}", flush=True)
        print(f"{len(outcomes)} jobs ended as they should, in {time.monotonic() - begin:.0f} s")
        print(table(outcomes))


if __name__ == "__main__":
    main()
