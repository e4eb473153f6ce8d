"""Command line of the benchmark of --parallel=auto."""

import argparse
import json
import os
from pathlib import Path

from .. import commandline
from ..artifacts import REPOSITORY
from ..errors import BenchError
from ..report import time_text
from . import machine, products, programs, rows

DESCRIPTION = """\
Measures what `moe-compile --parallel=auto` chooses for two ranks on two cores, beside every other way to divide the same model: all programs are open,
and take turns. The cluster that it chooses for is this machine, measured at the start. A row that misses the goal is measured again, in more rounds.
"""

EPILOG = """\
examples:
  benchmarks/run auto                             all rows; four minutes, after the programs have been made
  benchmarks/run auto --prepare                   only make them: 2 GB of build/bench
  benchmarks/run auto --rows many-small           rows whose names contain this
  benchmarks/run auto --machine my.json           only describe this machine: moe-compile --cluster=2xmy.json

exit codes: 0 every goal is reached, 1 wrong input, 3 one is missed or a result is wrong, 70 internal
"""


def parser():
    """The argument parser."""
    p = argparse.ArgumentParser(prog="benchmarks/run auto", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", type=commandline.listed, metavar="PATTERN,...", help="rows whose name contains a pattern; see --list")
    p.add_argument("--rounds", type=int, default=9, metavar="N", help="per row (default: %(default)s)")
    p.add_argument("--turn-seconds", type=float, default=0.15, metavar="S", help="length of one program's turn in a round (default: %(default)s)")
    p.add_argument("--compiler", type=Path, metavar="FILE", help="moe-compile (default: that of the build folder)")
    p.add_argument("--machine", type=Path, metavar="FILE", help="describe this machine in this file and stop")
    p.add_argument("--cluster", type=Path, metavar="FILE", help="choose for this description of the machine, such as --machine wrote when nothing else ran")
    p.add_argument("--name", default="auto", metavar="NAME", help="last part of the result file's name (default: %(default)s)")
    p.add_argument("--results", type=Path, default=REPOSITORY / "benchmarks" / "results", metavar="DIR", help="folder of result files")
    p.add_argument("--list", action="store_true", help="list the rows and stop")
    p.add_argument("--prepare", action="store_true", help="make what the rows run on, in the build folder, and stop")
    return p


def main(arguments):
    """Run the benchmark; returns the exit code."""
    return commandline.run(parser(), arguments, _act)


def _act(options):
    recorded, options.threads = ["auto", *commandline.recorded(parser(), options)], rows.RANKS
    commandline.check(options, [])
    wanted = [row for row in rows.ROWS if not options.rows or any(pattern in row.name for pattern in options.rows)]
    if not wanted:
        raise BenchError("no row matches; --list shows their names")
    if options.list:
        print("\n".join(row.name for row in wanted))
        return 0
    say, build = commandline.clock(), commandline.build_folder() / "bench"
    cores, memory = commandline.cores_of(options), os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    file = options.cluster or options.machine or build / "auto" / "machine.json"
    compiler = options.compiler or build.parent / "bin" / "moe-compile"
    if not options.cluster:
        machine.write(file, machine.describe(build, cores, memory, products.Products(build, compiler, say)))
    if options.machine:
        return 0
    models = programs.DividedModels(build, compiler, say)
    estimates = {row: models.alternatives(row, file) for row in wanted}
    libraries = {row.model: {name: models.divided(row.model, name) for name in found} for row, found in estimates.items()}
    if options.prepare:
        return 0
    with commandline.results_file(options, recorded, say) as results:
        results.record({"type": "machine", **json.loads(file.read_text())})
        return _measure(options, cores, models, estimates, libraries, results, say)


def _measure(options, cores, models, estimates, libraries, results, say):
    summaries = []
    for row, found in estimates.items():
        with programs.Ways({name: libraries[row.model][name] for name in found}, cores, results.record, options.turn_seconds) as ways:
            summaries.append(programs.compare(ways, row, row.calls(models.vocabulary(row.model)), found, options.rounds))
        results.record(summaries[-1])
        say(f"{row.name}: {summaries[-1]['over_best']:.2f}")
    print(table(summaries))
    missed = [s for s in summaries if s["over_best"] > rows.OF_BEST]
    for s in missed:
        print(f"missed: {s['row']}: {s['chosen']} takes {s['over_best']:.2f} times what {s['best']} takes, goal {rows.OF_BEST:.2f}")
    print("" if missed else "every goal is reached")
    return 3 if missed else 0


def _at_first(summary):
    return f", in {rows.ROUNDS_AGAIN} rounds; at first {summary['at_first']:.2f}" if "at_first" in summary else ""


def table(summaries):
    """A block for each row: its ways, what they should take and what they take."""
    lines = []
    for s in summaries:
        lines.append(f"{s['row']}: chosen {s['chosen']}, best {s['best']}, {s['over_best']:.2f} times its time ({s['low']:.2f}..{s['high']:.2f}){_at_first(s)}")
        for name, estimate in s["estimates"].items():
            lines.append(f"  {name:<28} estimate {time_text(estimate):>9}  measured {time_text(s['seconds'][name]):>9}")
    return "\n".join(lines)
