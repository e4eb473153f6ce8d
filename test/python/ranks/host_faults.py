"""Random faults of jobs on two hosts: what a job does when a rank is killed or stopped, a link goes down or packets are lost at any time, a host
starts anew, a rank or a host is never started or has other weights, and when two jobs run at once.

    python test/python/ranks/host_faults.py COUNT [--seed N] [--lanes N]    # as root; prints progress, then a table of what was tried

What costs are deadlines, in which survivors wait without sleeping, and the start of jobs. So jobs run side by side in lanes, each with namespaces and a
program of its own: a job reaches no other lane's, and whatever runs a lane's program was left behind by the lane's last job.
"""

import argparse
import collections
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from hosts import ends_of, namespaces, why_no_namespaces
from layer import Drawn, inputs_of, write

from moe_mlir.testing.ranks import assert_same_bits, check_nothing_is_kept, children_of, compile_for, kept_by, run

DEADLINE, LOAD = 2, 4  # seconds: --deadline of a job with a fault, and what a busy machine may add
PATIENCE = 20  # seconds: --deadline of a job that works
LAYER = Drawn(8, 2, 256, 64, True, "bf16", 33, "random")
OVERLAP = "ep={0},schedule=<overlap, chunk = 4, steps = [{1}], slices = 2>"
FAULTS = ("killed", "stopped", "link down", "packets lost", "started anew", "never started", "other weights", "two jobs", "one of two killed")
MANY, FEW = 4000, 3
CHECKED = 40  # calls whose outputs are compared
ATTEMPTS = 3  # to start a job side by side with others


class NotStarted(AssertionError):
    """A job did not run before it had a fault: on a busy machine its ranks may not meet within the deadline."""


@dataclass
class Outcome:
    """What became of a job: its fault, what the first host said, and how long both took to end."""

    fault: str
    said: str
    seconds: float


def compile_programs(folder):
    """{ranks: program} with the variants 0, plain, 1, which overlaps, and 2, where all ranks have all tokens."""
    flags = [*write(LAYER, folder), "--target-cpu=x86-64-v3"]
    made = {}
    for ranks in (2, 4):
        variant = OVERLAP.format(ranks, ", ".join(["1"] * ranks))
        made[ranks] = compile_for(folder / "layer.mlir", folder / str(ranks), ranks, *flags, f"--variant={variant}", f"--variant=ep={ranks},tokens=replicated", tokens="split")
    return made


def write_calls(calls, folder):
    """A --calls file and where its outputs go."""
    lines, places = [], []
    for index, inputs in enumerate(calls):
        place = folder / str(index)
        place.mkdir(parents=True)
        for name, array in inputs.items():
            np.save(place / f"in-{name}.npy", array)
        places.append(place / "out")
        lines.append(" ".join([*(f"--input {name}=@{place}/in-{name}.npy" for name in inputs), f"--output-dir {places[-1]}"]))
    (folder / "calls").write_text("\n".join(lines) + "\n")
    return folder / "calls", places


def write_exchanges(folder):
    """{count: a --calls file} of calls that do little but exchange rows; one in eight sends rows of many pieces (Boxes.h). Those of CHECKED differ."""
    file, _ = write_calls([inputs_of(Drawn(**{**vars(LAYER), "tokens": tokens}), 4, seed) for seed, tokens in enumerate((9, 1500, 70, 33, 9))], folder)
    small, large, *others = re.sub(" --output-dir .*", "", file.read_text()).splitlines(keepends=True)
    (folder / f"calls{MANY}").write_text((small * 7 + large) * (MANY // 8))
    (folder / f"calls{FEW}").write_text(small * (FEW - 1) + large)
    (folder / f"calls{CHECKED}").write_text("".join([small, large, *others]) * (CHECKED // 5))
    return {count: folder / f"calls{count}" for count in (MANY, FEW, CHECKED)}


def with_outputs(calls, folder):
    """A copy of a --calls file whose calls write outputs, and where these go."""
    folder.mkdir()
    lines = calls.read_text().splitlines()
    places = [folder / str(number) for number in range(len(lines))]
    (folder / "calls").write_text("".join(f"{line} --output-dir {place}\n" for line, place in zip(lines, places, strict=True)))
    return folder / "calls", places


def read_outputs(places):
    return [{file.stem: np.load(file) for file in sorted(place.iterdir())} for place in places]


def check_one_line(code, errors):
    """A host says once, or once for each of its ranks, which rank was lost."""
    lines = errors.splitlines()
    assert code and 1 <= len(lines) <= 2 and len(set(lines)) == len(lines), (code, errors)
    assert all(re.search(r"error: .*\brank \d", line) for line in lines), errors


def check_lines(processes, begin, limit, line):
    """Each rank ends in time with one line; `line`: what it says, behind who says it."""
    ends = dict(zip(processes, ends_of(processes.values()), strict=True))
    seconds = time.monotonic() - begin
    for rank, (code, _, errors) in ends.items():
        assert code == 1 and errors.count("\n") == 1 and re.search(rf"error: {line.format(rank)}$", errors), (rank, line, ends)
    assert seconds < limit + LOAD, ends
    return ends[min(ends)][2], seconds


@dataclass
class Job:
    """What is drawn of a job: its fault, and how many ranks run which variant."""

    draw: random.Random
    fault: str
    ranks: int
    variant: int
    folder: Path


class HostFaults:
    """Jobs with faults on two hosts, and their programs and calls. `deadline`: of a job with a fault."""

    def __init__(self, network, programs, files, deadline=DEADLINE):
        self.network, self.programs, self.files, self.deadline, self.expected = network, programs, files, deadline, {}

    def try_fault(self, seed, folder):
        """Starts a job with a fault drawn from `seed`, checks its end, and that a good one runs afterwards."""
        draw, fault = random.Random(seed), FAULTS[seed % len(FAULTS)]
        ranks = 4 if fault == "stopped" else draw.choice([2, 4])  # a host whose ranks are all stopped cannot say so
        job = Job(draw, fault, ranks, draw.randrange(3), folder)
        program, others = self.programs[ranks], {"never started": self._lack, "other weights": self._differ, "two jobs": self._run_two, "one of two killed": self._run_two}
        _, files = kept_by(program)
        said, seconds = others.get(fault, self._strike)(job)
        check_nothing_is_kept(program, files)
        good = self.network.run(*self._words(job, PATIENCE, self.files[FEW]))
        assert [(code, errors) for code, _, errors in good] == [(0, "")] * 2, good
        return Outcome(fault, said, seconds)

    def _words(self, job, deadline, calls, root=None, folder=None):
        """Of Hosts.start."""
        words = ["--variant", job.variant, "--deadline", deadline, "--calls", calls]
        return [self.programs[job.ranks], job.ranks, root or self.network.root(), folder or job.folder, *words]

    def _strike(self, job):
        """Something happens to a rank, a host or the link while the job runs. Gives what the first host says, and the seconds to the end."""
        network, fault, words = self.network, job.fault, self._words(job, self.deadline, self.files[MANY])
        launchers = network.start(*words)
        wanted = list(launchers)  # those that say a line
        try:
            if not launchers[0].stdout.readline().startswith("output"):
                raise NotStarted(ends_of(launchers))
            time.sleep(job.draw.uniform(0, 0.3))
            host = job.draw.randrange(2)
            if fault == "link down":
                network.set_link("down")
            elif fault == "packets lost":
                network.set_loss(host, True)
            elif fault == "started anew":
                for process in [launchers[1].pid, *children_of(launchers[1].pid)]:
                    os.kill(process, signal.SIGKILL)
                launchers += network.start(*words, hosts=[1])
                wanted = [launchers[0], launchers[2]]
            else:
                victim = job.draw.choice(children_of(launchers[host].pid))
                os.kill(victim, signal.SIGSTOP if fault == "stopped" else signal.SIGKILL)
            begin = time.monotonic()
            ends = ends_of(wanted, timeout=60)
            seconds = time.monotonic() - begin
        finally:
            network.set_link("up")
            for host in range(2):
                network.set_loss(host, False)
            for launcher in launchers:
                launcher.kill()
                launcher.wait()
        for code, _, errors in ends:
            check_one_line(code, errors)
        # The launcher gives a rank that stands still as long again.
        assert seconds < self.deadline * (2 if fault == "stopped" else 1) + 1 + LOAD, ends
        return shape_of(ends[0][2]), seconds

    def _victims(self, job):
        """A rank, or all of a host."""
        half = job.ranks // 2
        return job.draw.choice([[job.draw.randrange(job.ranks)], [*range(half)], [*range(half, job.ranks)]])

    def _lack(self, job):
        """Ranks are never started: the others say at the deadline who is not there."""
        missing, begin = self._victims(job), time.monotonic()
        program, ranks, root, _, *words = self._words(job, self.deadline, self.files[MANY])
        processes = self.network.start_ranks(program, ranks, root, *words, missing=missing)
        port = root.rsplit(":", 1)[1]
        if 0 in missing:
            line = f"rank {{0}} could not meet the others: cannot meet rank 0: nobody answers at port {port} of .*"
        else:
            names = ", ".join(map(str, missing))
            line = f"rank {{0}} could not meet the others: {len(missing)} of {ranks} ranks did not arrive in time: ranks? {names}"
        said, seconds = check_lines(processes, begin, self.deadline + 1, line)
        assert seconds > self.deadline * 0.9, (said, seconds)  # nobody is given up early
        return shape_of(said), seconds

    def _differ(self, job):
        """Ranks that have other weights are found before anything is computed."""
        victims, begin = self._victims(job), time.monotonic()
        program, ranks, root, _, *words = self._words(job, PATIENCE, self.files[MANY])
        processes = self.network.start_ranks(program, ranks, root, *words, own=dict.fromkeys(victims, ("--random-weights", "7")))
        first = next(rank for rank in range(ranks) if (rank in victims) != (0 in victims))
        said, seconds = check_lines(processes, begin, 1, f"rank {first} has other weights than rank 0")
        return shape_of(said), seconds

    def _run_two(self, job):
        """Two jobs on the same hosts: each gives the bits of one on one host, also where the other one is struck."""
        expected, struck = self._expected_bits(job), job.fault == "one of two killed"
        with tempfile.TemporaryDirectory(dir=job.folder) as name:
            checked, begin = [], time.monotonic()
            try:
                for number in range(1 if struck else 2):
                    folder = Path(name) / str(number)
                    file, places = with_outputs(self.files[CHECKED], folder)
                    checked.append((places, self.network.start(*self._words(job, PATIENCE, file, folder=folder))))
                said, seconds = self._strike(job) if struck else ("both run", None)
                ends = [ends_of(launchers) for _, launchers in checked]
            finally:
                for launcher in [launcher for _, launchers in checked for launcher in launchers]:
                    launcher.kill()
                    launcher.wait()
            seconds = seconds or time.monotonic() - begin
            for (places, _), both in zip(checked, ends, strict=True):
                assert [(code, errors) for code, _, errors in both] == [(0, "")] * 2, both
                assert_same_bits(read_outputs(places), expected)
        return said, seconds

    def _expected_bits(self, job):
        """Of CHECKED calls, on one host."""
        key = job.ranks, job.variant
        if key not in self.expected:
            with tempfile.TemporaryDirectory(dir=job.folder) as name:
                file, places = with_outputs(self.files[CHECKED], Path(name) / "one")
                done = run(self.programs[job.ranks], job.ranks, "--variant", job.variant, "--calls", file)
                assert (done.returncode, done.stderr) == (0, ""), done
                self.expected[key] = read_outputs(places)
        return self.expected[key]


def shape_of(errors):
    """A line of an error without what differs from job to job."""
    text = errors.splitlines()[0].split("error: ", 1)[1]
    return re.sub(r'(up|down|in) ".*', r'\1 ".."', re.sub(r"\d+", "N", text))


def table(outcomes):
    rows = collections.defaultdict(list)
    for outcome in outcomes:
        rows[outcome.fault, outcome.said].append(outcome.seconds)
    lines = ["| fault | the first host says | jobs | slowest end |", "|---|---|---|---|"]
    for (fault, said), seconds in sorted(rows.items(), key=lambda row: (FAULTS.index(row[0][0]), row[0][1])):
        lines.append(f"| {fault} | `{said}` | {len(seconds)} | {max(seconds):.1f} s |")
    return "\n".join(lines)


class Lanes:
    """Jobs side by side; `lanes`: a HostFaults and a folder each."""

    def __init__(self, lanes, seeds, limit):
        self.lanes, self.count, self.limit = lanes, len(seeds), limit
        self.seeds, self.lock = iter(seeds), threading.Lock()
        self.outcomes, self.wrong, self.begin = [], [], time.monotonic()

    def run(self):
        with ThreadPoolExecutor(len(self.lanes)) as pool:
            list(pool.map(self._run_lane, self.lanes))

    def _next(self):
        with self.lock:
            return next(self.seeds, None) if time.monotonic() < self.limit else None

    def _run_lane(self, lane):
        while (seed := self._next()) is not None:
            for left in reversed(range(ATTEMPTS)):
                outcome, isStarted = self._try(seed, *lane)
                if isStarted or not left:
                    break
            self._add(outcome)

    @staticmethod
    def _try(seed, jobs, folder):
        """(the outcome, or what went wrong; whether there was a job)."""
        try:
            return jobs.try_fault(seed, folder), True
        except Exception as error:
            return f"seed {seed}: {type(error).__name__} {error}", not isinstance(error, NotStarted)

    def _add(self, outcome):
        with self.lock:
            (self.outcomes if isinstance(outcome, Outcome) else self.wrong).append(outcome)
            if not isinstance(outcome, Outcome):
                print(outcome, flush=True)
            tried = len(self.outcomes) + len(self.wrong)
            if tried % 20 == 0:
                print(f"{tried} of {self.count} tried, {len(self.wrong)} wrong, {time.monotonic() - self.begin:.0f} s", flush=True)


def copy_programs(programs, folder):
    """The same programs as files of their own, so that a lane's processes can be told from others."""
    copies = {}
    for ranks, program in programs.items():
        program = Path(program)
        shutil.copytree(program.parent, folder / str(ranks))
        copies[ranks] = folder / str(ranks) / program.name
    return copies


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("count", type=int, help="jobs")
    parser.add_argument("--seed", type=int, default=0, help="of the first job; the others follow")
    parser.add_argument("--lanes", type=int, default=2, help="jobs at the same time")
    parser.add_argument("--deadline", type=float, default=DEADLINE, help="seconds, of jobs with a fault")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no job is started after them")
    return parser.parse_args()


def main():
    if why := why_no_namespaces():
        sys.exit(why)
    given = read_arguments()
    with tempfile.TemporaryDirectory(prefix="moe-host-faults-") as name, ExitStack() as networks:
        folder, begin = Path(name), time.monotonic()
        os.environ.setdefault("MOE_TEST_RESULTS", name + "/results")
        (folder / "programs").mkdir()
        programs, files = compile_programs(folder / "programs"), write_exchanges(folder / "calls")
        lanes = []
        for lane in range(given.lanes):
            own = folder / f"lane{lane}"
            own.mkdir()
            lanes.append((HostFaults(networks.enter_context(namespaces(lane)), copy_programs(programs, own), files, given.deadline), own))
        jobs = Lanes(lanes, range(given.seed, given.seed + given.count), begin + given.seconds)
        jobs.run()
        print(f"{len(jobs.outcomes)} jobs ended as they should, {len(jobs.wrong)} did not, in {time.monotonic() - begin:.0f} s")
        print(table(jobs.outcomes))
    sys.exit(1 if jobs.wrong else 0)


if __name__ == "__main__":
    main()
