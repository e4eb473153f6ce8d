"""Command line of the benchmark of two compilers."""

import argparse
import contextlib
import tempfile
from pathlib import Path
from types import SimpleNamespace

from .. import commandline, rows
from ..artifacts import REPOSITORY, archive_of
from ..errors import BenchError
from ..layers import rows as layers
from ..machine import Machine
from ..pagecache import evict
from . import artifacts, measuring, programs, report

DESCRIPTION = """\
Compares an older moe-compile with a newer one: the speed of what they make of the same layers and models. Both programs of a row are processes on the same
cores and data that take turns in alternating order, and their results must be the same bits. With --compile it compares the time that compiling takes.
"""

EPILOG = """\
examples:
  benchmarks/run compilers --old base/bin/moe-compile                                         all layers; 20 GB of build/bench, 35 if archives differ
  benchmarks/run compilers --old base/bin/moe-compile --shapes olmoe --dtype bfloat16         a few minutes
  benchmarks/run compilers --old base/bin/moe-compile --rows T1/,decode --models 0.9b          and decode steps of a model
  benchmarks/run compilers --old base/bin/moe-compile --shapes none --models 0.9b             the model alone
  benchmarks/run compilers --old base/bin/moe-compile --compile --shapes olmoe --models tiny  how long compiling takes
  benchmarks/run compilers --old build/bin/moe-compile                                        one compiler against itself: what the machine adds

Column "old/new" is the old one's time over the new one's, the median of the rounds: above 1 the new one is faster. A row below --goal is measured again at
the end, in 21 rounds of seven pairs of processes (with --compile 9 rounds), which then count. The geometric mean of all rows has a goal of its own, --mean-goal. Archives of both that have
the same bytes become one file, so that both sides read the same memory. With --compile the CPU time counts, with that of the linker; "on clock" is the
ratio of the time that passed.

An old compiler needs the folder lib/moe-mlir beside its bin.

exit codes: 0 every row and the mean are at their goals, 1 wrong input, 3 one is below its goal or results differ, 70 internal
"""

GOAL = 0.97
MEAN_GOAL = 0.99  # a row may lose what single rows vary by, all of them together may not
COMPILE_COST = 1.05  # of the old one's CPU seconds, at most
ROUNDS, COMPILE_ROUNDS = 7, 5
NONE = "none"


def parser():
    """The argument parser."""
    p = argparse.ArgumentParser(
        prog="benchmarks/run compilers", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    shapes = ", ".join(s.name for s in layers.SHAPES)
    p.add_argument("--old", type=Path, required=True, metavar="FILE", help="moe-compile to compare with")
    p.add_argument("--new", type=Path, metavar="FILE", help="moe-compile (default: that of the build folder)")
    p.add_argument("--rows", type=commandline.listed, metavar="PATTERN,...", help="rows whose name contains or matches a pattern; see --list")
    p.add_argument("--shapes", type=commandline.listed, metavar="SHAPE,...", help=f"of: {shapes}; or none (default: all)")
    p.add_argument("--dtype", type=commandline.listed, metavar="DTYPE,...", help=f"of: {', '.join(layers.DTYPES)}")
    p.add_argument("--models", type=commandline.listed, default=[], metavar="MODEL,...", help=f"of: {', '.join(rows.MODELS)} (default: none)")
    p.add_argument("--compile", action="store_true", help="measure the compilers instead of what they make")
    p.add_argument("--rounds", type=int, metavar="N", help=f"per row (default: {ROUNDS}, with --compile {COMPILE_ROUNDS})")
    p.add_argument("--turn-seconds", type=float, default=0.15, metavar="S", help="length of one side's turn in a round (default: %(default)s)")
    p.add_argument("--goal", type=float, metavar="R", help=f"least ratio (default: {GOAL}, with --compile 1/{COMPILE_COST})")
    p.add_argument("--mean-goal", type=float, metavar="R", help=f"least geometric mean of the ratios (default: {MEAN_GOAL}, with --compile --goal)")
    p.add_argument("--results-may-differ", action="store_true", help="other bits are said, but miss no goal")
    p.add_argument("--threads", type=int, default=2, metavar="N", help="cores of each side (default: %(default)s)")
    p.add_argument("--name", default="compilers", metavar="NAME", help="last part of the result file's name (default: %(default)s)")
    p.add_argument("--results", type=Path, default=REPOSITORY / "benchmarks" / "results", metavar="DIR", help="folder of result files")
    p.add_argument("--list", action="store_true", help="list the rows and stop")
    p.add_argument("--prepare", action="store_true", help="compile what the rows run on, with both, and stop")
    return p


def main(arguments):
    """Run the benchmark; returns the exit code."""
    return commandline.run(parser(), arguments, _act)


def _act(options):
    recorded = ["compilers", *commandline.recorded(parser(), options)]
    layer_rows, model_rows = _check(options)
    if options.list:
        print("\n".join(row.name for row in (*layer_rows, *model_rows)))
        return 0
    build, say = commandline.build_folder(), commandline.clock()
    both = artifacts.both(build / "bench", options.old, options.new or build / "bin" / "moe-compile", say)
    chosen = programs.programs(layer_rows, model_rows, *both)
    if options.prepare:
        for program in chosen:
            prepare(program, say)
        return 0
    with commandline.results_file(options, recorded, say) as results:
        results.record({"type": "compilers", **{side: made.compiler_digest() for side, made in both[0].items()}})
        return Benchmark(options, results, say, build / "bench").run(chosen)


def _check(options):
    """(rows of layers, of models), with the defaults put into `options`; raises BenchError for values that make no sense."""
    options.rounds = (COMPILE_ROUNDS if options.compile else ROUNDS) if options.rounds is None else options.rounds
    options.goal = (1 / COMPILE_COST if options.compile else GOAL) if options.goal is None else options.goal
    shapes = [] if options.shapes == [NONE] else options.shapes
    options.mean_goal = (options.goal if options.compile else MEAN_GOAL) if options.mean_goal is None else options.mean_goal
    choices = (("shapes", shapes, [s.name for s in layers.SHAPES]), ("dtype", options.dtype, layers.DTYPES), ("models", options.models, rows.MODELS))
    commandline.check(options, choices)
    for name, goal in (("goal", options.goal), ("mean-goal", options.mean_goal)):
        if not 0 < goal < 10:
            raise BenchError(f"--{name} must be above 0 and below 10")
    uniform = [] if options.shapes == [NONE] else [r for r in layers.all_rows() if r.routing == "uniform"]
    layer_rows = layers.select(uniform, shapes, options.dtype, options.rows)
    model_rows = rows.select(rows.all_rows(), options.models, options.dtype, options.rows) if options.models else []
    if not layer_rows and not model_rows:
        raise BenchError("no row matches; --list shows their names")
    return layer_rows, model_rows


def prepare(program, say):
    """Compiles with both; returns whether their archives are one file."""
    old, new = (archive_of(program.library(side)) for side in measuring.SIDES)
    linked = artifacts.link_equal(old, new)
    say(f"{program.name}: the archives of both are {'equal' if linked else 'different'}")
    return linked


class Benchmark:
    """All programs one after another, the slow rows again, and the table."""

    def __init__(self, options, results, say, folder):
        self._options, self._results, self._say, self._folder = options, results, say, folder
        self._cores = commandline.cores_of(options)
        self._machine = None if options.compile else Machine(folder, self._cores)

    def run(self, chosen):
        """Returns the exit code."""
        options = self._options
        measure, again = self._run_programs, measuring.REPEATED
        if options.compile:
            for program in chosen:
                program.rows = [SimpleNamespace(name=program.name)]
            measure, again = self._compile, measuring.COMPILED_AGAIN
        summaries = measuring.measure_all(chosen, measure, options.rounds, options.goal, self._say, again)
        print(report.table(summaries))
        lines = report.missed(summaries, options.goal, options.results_may_differ, options.mean_goal)
        print("\n".join(f"missed: {line}" for line in lines) if lines else f"all {len(summaries)} are at the goal of {options.goal:.3g}")
        return 3 if lines else 0

    def _run_programs(self, program, wanted, rounds, starts):
        """Summaries of rows of a program, whose rounds are divided among so many pairs of processes.

        Two processes of one program differ by some percent for as long as they run, where it streams weights: probably by where the pages of its archive
        and its own memory lie. More rounds of the same processes do not tell that from what the compiler made.
        """
        linked = prepare(program, self._say)
        measured = {row.name: ([], []) for row in wanted}
        for number, numbers in enumerate(measuring.parts(rounds, starts)):
            for row, samples, same in self._start(program, wanted, numbers, measuring.order(number), linked):
                measured[row.name][0].extend(samples)
                measured[row.name][1].append(same)
        return [self._keep(measuring.summary(name, samples, all(same))) for name, (samples, same) in measured.items()]

    def _start(self, program, wanted, numbers, sides, linked):
        """(row, samples, whether results are the same bits) of the rounds of these numbers, in processes of their own that start in this order."""
        with contextlib.ExitStack() as stack:
            workers = {side: stack.enter_context(program.start(side, self._cores)) for side in sides}
            bandwidths = {side: self._machine.file_bandwidth(archive_of(program.library(side))) for side in measuring.SIDES}
            info = {side: worker.info for side, worker in workers.items()}
            self._results.record({"type": "sides", "program": program.name, "archives_equal": linked, "archive_bandwidth": bandwidths, **info})
            pair = measuring.Pair(program, workers, self._results.record, self._options.turn_seconds)
            found = [(row, *pair.rounds(row, numbers)) for row in wanted]
        # Their cached pages would leave the next archives no memory in pages of 2 MiB; and the next start shall read its own anew.
        for file in program.files():
            evict(file)
        return found

    def _compile(self, program, _, rounds, __):
        """Summary of compiling a program."""
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            return [self._keep(measuring.compile_rounds(program, rounds, self._results.record, self._cores, folder))]

    def _keep(self, summary):
        self._results.record(summary)
        self._say(report.progress_line(summary))
        return summary
