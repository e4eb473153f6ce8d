"""Command line of the benchmark of processes that share cores."""

import argparse
import os
import statistics
from pathlib import Path

from .. import commandline
from ..artifacts import REPOSITORY, Artifacts
from ..errors import BenchError
from ..rows import DTYPES, MODELS
from . import measuring

DESCRIPTION = """\
Measures an executable in several processes that share the cores, with several numbers of threads, and holds each against its fair share: the speed that one
process has there alone, with as many threads or as many as there are cores, divided among the processes. All of a round is measured in turns.
"""

EPILOG = """\
examples:
  benchmarks/run oversubscription                                  1 to 4 processes of 1 to 4 threads on two cores; two minutes
  benchmarks/run oversubscription --processes 2 --threads 2        one case
  benchmarks/run oversubscription --executable new --against old   and the speed of an undisturbed process of both, in turns

Column "cost" is the fair share against the speed of a process in the mean (of its decode steps, or of its prefill: the worse one), "slowest" the same of the
slowest process; both are medians of the rounds. Other load on the cores counts against the program: run it on an idle machine.

exit codes: 0 every cost is at most the goal, 1 wrong input, 3 one is above it, 70 internal
"""

GOAL = 1.3


def numbers(text):
    """Values of an option that takes several numbers."""
    try:
        values = [int(part) for part in commandline.listed(text)]
    except ValueError:
        values = []
    if not values or not all(1 <= value <= 64 for value in values):
        raise argparse.ArgumentTypeError(f"expected numbers in 1..64 between commas, got '{text}'")
    return values


def parser():
    """The argument parser."""
    p = argparse.ArgumentParser(
        prog="benchmarks/run oversubscription", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--processes", type=numbers, default=[1, 2, 3, 4], metavar="N,...", help="at the same time (default: 1,2,3,4)")
    p.add_argument("--threads", type=numbers, default=[1, 2, 3, 4], metavar="N,...", help="of each process (default: 1,2,3,4)")
    p.add_argument("--cores", type=int, default=2, metavar="N", help="that all of them share (default: %(default)s)")
    p.add_argument("--rounds", type=int, default=5, metavar="N", help="turns of each case (default: %(default)s)")
    p.add_argument("--seconds", type=float, default=1.0, metavar="S", help="length of a turn (default: %(default)s)")
    p.add_argument("--model", default="tiny", choices=MODELS, help="(default: %(default)s)")
    p.add_argument("--dtype", default="float32", choices=DTYPES, help="(default: %(default)s)")
    p.add_argument("--executable", type=Path, metavar="FILE", help="compiled from a model that generates text (default: that of --model)")
    p.add_argument("--against", type=Path, metavar="FILE", help="another build of it: both are measured undisturbed, in turns")
    p.add_argument("--compiler", type=Path, metavar="FILE", help="moe-compile (default: that of the build folder)")
    p.add_argument("--name", default="oversubscription", metavar="NAME", help="last part of the result file's name (default: %(default)s)")
    p.add_argument("--results", type=Path, default=REPOSITORY / "benchmarks" / "results", metavar="DIR", help="folder of result files")
    return p


def main(arguments):
    """Run the benchmark; returns the exit code."""
    return commandline.run(parser(), arguments, _act)


def _act(options):
    available = sorted(os.sched_getaffinity(0))
    if not 1 <= options.cores <= len(available):
        raise BenchError(f"--cores: {options.cores} is not between 1 and the {len(available)} that this process may use")
    if options.rounds < 1 or not 0 < options.seconds <= 60:
        raise BenchError("--rounds must be at least 1, --seconds above 0 and at most 60")
    if "/" in options.name:
        raise BenchError(f"--name: '{options.name}' is part of a file name and cannot contain '/'")
    for file in (options.executable, options.against):
        if file and not file.is_file():
            raise BenchError(f"there is no executable '{file}'")
    say, build = commandline.clock(), commandline.build_folder()
    cores, recorded = available[: options.cores], ["oversubscription", *commandline.recorded(parser(), options)]
    if not options.executable:
        compiler = options.compiler or build / "bin" / "moe-compile"
        options.executable = Artifacts(build / "bench", compiler, say).compiled(options.model, options.dtype, "exe")
    with commandline.results_file(options, recorded, say, cores) as results:
        return Sharing(options, cores, results, say).run()


class Sharing:
    """The rounds of all cases, and the table at the end."""

    def __init__(self, options, cores, results, say):
        self._options, self._cores, self._results, self._say = options, cores, results, say
        self._cases, self._ratios = {}, {phase: [] for phase in measuring.PHASES}

    def run(self):
        """Returns the exit code."""
        for index in range(self._options.rounds):
            self._say(f"round {index + 1} of {self._options.rounds}")
            self._round(index)
        lines, missed = table(self._cases)
        print("\n".join(lines))
        for phase, ratios in self._ratios.items() if self._options.against else ():
            print(
                f"undisturbed {phase}, {min(max(self._options.threads), len(self._cores))} threads: {statistics.median(ratios):.3f} times the speed of "
                f"'{self._options.against}' ({min(ratios):.3f}..{max(ratios):.3f})"
            )
        print("\n".join(missed) if missed else f"every cost is at most {GOAL}")
        return 3 if missed else 0

    def _round(self, index):
        options, alone = self._options, {}
        for threads in sorted({min(t, len(self._cores)) for t in options.threads}):
            alone[threads] = mean(self._turn(index, options.executable, 1, threads))
        if options.against:
            self._compare(index, max(alone))
        for processes in options.processes:
            for threads in options.threads:
                share = measuring.fair_share(processes, threads, len(self._cores))
                fair = {phase: share * speed for phase, speed in alone[min(threads, len(self._cores))].items()}
                found = self._turn(index, options.executable, processes, threads)
                costs = [max(fair[phase] / speed[phase] for phase in fair) for speed in found]
                average = mean(found)
                cost = max(fair[phase] / average[phase] for phase in fair)
                self._cases.setdefault((processes, threads), []).append((cost, max(costs), fair, average))

    def _compare(self, index, threads):
        """The undisturbed speeds of both builds, in an order that alternates."""
        order = [self._options.executable, self._options.against]
        both = {path: mean(self._turn(index, path, 1, threads)) for path in (order if index % 2 else order[::-1])}
        for phase, ratios in self._ratios.items():
            ratios.append(both[order[0]][phase] / both[order[1]][phase])

    def _turn(self, index, executable, processes, threads):
        """The speeds of each process; the raw times become a record."""
        found = measuring.turn(executable, processes, threads, self._cores, self._options.seconds)
        side = "against" if executable == self._options.against else "executable"
        self._results.record({"type": "turn", "round": index, "side": side, "processes": processes, "threads": threads, "repetitions_ns": found})
        return [measuring.speeds(repetitions) for repetitions in found]


def mean(found):
    """Of the processes, by phase."""
    return {phase: statistics.fmean(speed[phase] for speed in found) for phase in measuring.PHASES}


def table(cases):
    """Lines of the table, and of what is above the goal."""
    lines = [f"{'processes':>9} {'threads':>7} {'prefill':>9} {'(fair)':>9} {'decode':>9} {'(fair)':>9} {'cost':>6} {'slowest':>8}   (tokens/s of a process)"]
    missed = []
    for (processes, threads), rounds in cases.items():
        cost, slowest = (statistics.median(r[i] for r in rounds) for i in (0, 1))
        columns = [statistics.median(r[side][phase] for r in rounds) for phase in measuring.PHASES for side in (3, 2)]
        lines.append(f"{processes:9} {threads:7} " + " ".join(f"{value:9.0f}" for value in columns) + f" {cost:6.2f} {slowest:8.2f}")
        if cost > GOAL:
            missed.append(f"missed: {processes} processes of {threads} threads cost {cost:.2f}, goal {GOAL}")
    return lines, missed
