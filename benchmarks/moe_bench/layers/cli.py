"""Command line of the layer benchmark."""

import argparse
import math
from pathlib import Path

from .. import commandline
from ..artifacts import archive_of
from ..errors import BenchError
from ..machine import LARGEST_READ, Machine
from ..pagecache import evict
from ..peerfolder import PeerFolder
from . import figure, goals, report
from .artifacts import LayerArtifacts
from .measuring import Sides, summarize
from .rows import DTYPES, SHAPES, all_rows, select
from .sides import PEERS, groups, start_compiled, start_peer

DESCRIPTION = """\
Compares compiled MoE layers with every public peer on this machine. Each is a process of its own with the same weights and threads bound to cores;
they take turns. scripts/bench-peers installs the peers. docs/performance/layers.md explains the table.
"""

EPILOG = """\
examples:
  benchmarks/run layers                                   everything: under 40 minutes and 20 GB of build/bench
  benchmarks/run layers --shapes olmoe --dtype bfloat16   a few minutes
  benchmarks/run layers --rows T512 --peers pytorch,ggml
  benchmarks/run layers --peers none                      the share of the floor alone
  benchmarks/run layers --prepare                         data and compiled layers, so that a later run only measures
  benchmarks/run layers --tables FILE.jsonl ...           tables of result files again

exit codes: 0 every goal is reached, 1 wrong input, 3 a goal is missed or results differ, 70 internal
"""


def parser():
    """The argument parser."""
    p = argparse.ArgumentParser(prog="benchmarks/run layers", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", type=commandline.listed, metavar="PATTERN,...", help="rows whose name contains or matches a pattern; see --list")
    p.add_argument("--shapes", type=commandline.listed, metavar="SHAPE,...", help=f"of: {', '.join(s.name for s in SHAPES)}")
    p.add_argument("--dtype", type=commandline.listed, metavar="DTYPE,...", help=f"of: {', '.join(DTYPES)}")
    p.add_argument("--peers", type=commandline.listed, metavar="PEER,...", help=f"of: {', '.join(p.name for p in PEERS)}; or none (default: all)")
    p.add_argument("--row-seconds", type=float, default=12, metavar="S", help="fewer rounds, at least 3, where they would take longer (default: %(default)s)")
    commandline.add_options(p, rounds=9, turn_seconds=0.15, name="layers")
    p.add_argument("--tables", type=Path, nargs="+", metavar="FILE", help="print the tables of these result files and stop")
    p.add_argument("--markdown", action="store_true", help="print the table as that of docs/performance/layers.md")
    p.add_argument("--figure", type=Path, metavar="FILE.svg", help="draw the rows, or with --tables those of the files, into this file")
    return p


def main(arguments):
    """Run the benchmark; returns the exit code."""
    return commandline.run(parser(), arguments, _act)


def _act(options):
    if options.tables:
        return finish(report.read_rows(options.tables), options)
    rows, peers = _check(options)
    if options.list:
        print("\n".join(row.name for row in rows))
        return 0
    build, say = commandline.build_folder(), commandline.clock()
    artifacts = LayerArtifacts(build / "bench" / "layers", options.compiler or build / "bin" / "moe-compile", say)
    if options.prepare:
        for shape, dtype in dict.fromkeys((r.shape, r.dtype) for r in rows):
            artifacts.library(shape, dtype)
        return 0
    folder = PeerFolder(options.peer_folder or build / "bench-peers")
    folder.check([p.name for p in peers if p.installed])
    with commandline.results_file(options, ["layers", *commandline.recorded(parser(), options)], say) as results:
        return finish(Benchmark(options, artifacts, folder, results, say).run(rows, peers), options)


def _check(options):
    """Selected rows and peers; raises BenchError for values that make no sense."""
    none = options.peers == ["none"]
    choices = (("shapes", options.shapes, [s.name for s in SHAPES]), ("dtype", options.dtype, DTYPES), ("peers", [] if none else options.peers, [p.name for p in PEERS]))
    commandline.check(options, choices, ("turn-seconds", "row-seconds"))
    rows = select(all_rows(), options.shapes, options.dtype, options.rows)
    if not rows:
        raise BenchError("no row matches; --list shows their names")
    return rows, [] if none else [p for p in PEERS if not options.peers or p.name in options.peers]


class Benchmark:
    """All rows, layer by layer and element type by element type."""

    def __init__(self, options, artifacts, folder, results, say):
        self._options, self._artifacts, self._folder, self._cores = options, artifacts, folder, commandline.cores_of(options)
        self._results, self._say = results, say
        self._machine = Machine(artifacts.folder, self._cores)

    def run(self, rows, peers):
        """Summaries of all rows."""
        summaries = []
        for shape, dtype in dict.fromkeys((r.shape, r.dtype) for r in rows):
            chosen = [r for r in rows if (r.shape, r.dtype) == (shape, dtype)]
            library, data = self._artifacts.library(shape, dtype), self._artifacts.data(shape)
            measured = {row: [] for row in chosen}
            together = groups(peers, shape, dtype, available_memory()) or [[]]
            for group in together:
                self._measure(shape, dtype, library, data, group, measured, self._options.row_seconds / len(together))
            for row, parts in measured.items():
                summaries.append(summarize(row, work_of(row, data), parts))
                self._results.record(summaries[-1])
            # Their cached pages would leave the next archive no memory in pages of 2 MiB.
            for file in (archive_of(library), data / "weights.safetensors"):
                evict(file)
        return summaries

    def _measure(self, shape, dtype, library, data, group, measured, row_seconds):
        """One group of peers, beside the compiled layer, on all rows of a layer."""
        options, workers = self._options, {}
        self._say(f"{shape.name} {dtype}: start {', '.join(['compiled', *(p.name for p in group)])}")
        compiled = start_compiled(library, shape, dtype, data, self._cores)
        try:
            for peer in group:
                workers[peer.name] = start_peer(peer, self._folder, shape, dtype, data, self._cores)
            info = {name: worker.info for name, worker in workers.items()}
            archive = {"archive_bandwidth": self._machine.file_bandwidth(archive_of(library))}
            self._results.record({"type": "sides", "shape": shape.name, "dtype": dtype, "compiled": compiled.info, "peers": info, **archive})
            sides = Sides(compiled, workers, self._machine, self._results.record, options.turn_seconds, options.rounds, row_seconds)
            for row, parts in measured.items():
                work = work_of(row, data)
                best = summarize(row, work, parts).get("ratio", math.inf) if parts else math.inf
                parts.append(sides.measure(row, work, best))
                self._say(report.progress_line(summarize(row, work, parts)))
        finally:
            for worker in (compiled, *workers.values()):
                worker.close()


def work_of(row, data):
    """Operations and bytes of a row, by the experts that its tokens really chose."""
    return row.work(report.active_experts(data / row.case / "ids.npy"))


def available_memory():
    """Bytes that can be taken while the archive of the compiled layer, the read loop's memory and some room stay."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return (int(line.split()[1]) * 1024 - LARGEST_READ) * 0.65
    raise BenchError("/proc/meminfo does not say how much memory is available", 70)


def finish(summaries, options):
    """Prints the tables and what is missed, and draws the figure where one is wanted; returns the exit code."""
    if options.figure:
        options.figure.write_text(figure.draw(summaries))
    rows = {row.name: row for row in all_rows()}
    print((report.markdown if options.markdown else report.table)(summaries))
    lines = [line for s in summaries for line in goals.missed(rows[s["row"]], s)]
    for line in lines:
        print(f"missed: {line}")
    return 3 if lines else 0
