"""Command line of the benchmark of several ranks."""

import argparse
import statistics
from pathlib import Path

from .. import commandline
from ..artifacts import REPOSITORY, archive_of
from ..errors import BenchError
from ..machine import Machine
from . import bound, exchange, exchange_program, programs, report, rows, windows

DESCRIPTION = """\
Measures programs of two ranks on two cores: copies into another process's window beside memcpy; exchanges of rows beside Open MPI and gloo, in
memory and over UCX's TCP, as between hosts; a layer and a decode step
beside one process with two threads. Both sides of each row take turns.
"""

EPILOG = """\
examples:
  benchmarks/run ranks                                 everything; three minutes, and 3 GB of build/bench
  benchmarks/run ranks --prepare                       only what the rows run on, so that a later run only measures
  benchmarks/run ranks --parts windows,exchange        what travels; a minute
  benchmarks/run ranks --rows exchange/64K,layer       rows whose names contain one of these

Column "ratio" is the time of the other side over ours, the median of the rounds: above 1 we are faster. An exchange is timed from the number of the exchange to the
arrival of the rows, without the launches that find out where the rows go ("call" has them); the peers pack their rows by rank and tell their counts. All sides
then read a byte of each cache line that came ("unread": without that), since a line may still be in the sender's cache.

exit codes: 0 every goal is reached, 1 wrong input, 3 one is missed or a result is wrong, 70 internal
"""


def parser():
    """The argument parser."""
    p = argparse.ArgumentParser(prog="benchmarks/run ranks", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--parts", type=commandline.listed, default=list(rows.PARTS), metavar="PART,...", help=f"of: {', '.join(rows.PARTS)} (default: all)")
    p.add_argument("--rows", type=commandline.listed, metavar="PATTERN,...", help="rows whose name contains or matches a pattern; see --list")
    p.add_argument("--rounds", type=int, default=7, metavar="N", help="per row (default: %(default)s)")
    p.add_argument("--turn-seconds", type=float, default=0.15, metavar="S", help="length of one side's turn in a round, of exchanges a fifth (default: %(default)s)")
    p.add_argument("--compiler", type=Path, metavar="FILE", help="moe-compile (default: that of the build folder)")
    p.add_argument("--name", default="ranks", metavar="NAME", help="last part of the result file's name (default: %(default)s)")
    p.add_argument("--results", type=Path, default=REPOSITORY / "benchmarks" / "results", metavar="DIR", help="folder of result files")
    p.add_argument("--list", action="store_true", help="list the rows and stop")
    p.add_argument("--prepare", action="store_true", help="make what the rows run on, in the build folder, and stop")
    return p


def main(arguments):
    """Run the benchmark; returns the exit code."""
    return commandline.run(parser(), arguments, _act)


def _wanted(options):
    """{part: its rows}, those of windows as None: they are one program."""
    choices = {"exchange": rows.exchange_rows(), "hosts": rows.exchange_rows("hosts"), "layer": rows.layer_rows(), "decode": rows.decode_rows()}
    found = {part: rows.selected(choices[part], options.rows) for part in options.parts if part in choices}
    if "windows" in options.parts and (not options.rows or any("windows" in p for p in options.rows)):
        found["windows"] = None
    found = {part: found[part] for part in rows.PARTS if part in found and found[part] != []}
    if not found:
        raise BenchError("no row matches; --list shows their names")
    return found


def _act(options):
    recorded, options.threads = ["ranks", *commandline.recorded(parser(), options)], rows.RANKS
    commandline.check(options, [("parts", options.parts, rows.PARTS)])
    wanted = _wanted(options)
    if options.list:
        print("\n".join(name for part, chosen in wanted.items() for name in (["windows"] if chosen is None else [r.name for r in chosen])))
        return 0
    say, build = commandline.clock(), commandline.build_folder() / "bench"
    bench = Benchmark(options, wanted, say, build, options.compiler or build.parent / "bin" / "moe-compile")
    bench.prepare()
    if options.prepare:
        return 0
    with commandline.results_file(options, recorded, say) as results:
        return bench.run(results)


class Benchmark:
    """The parts one after another, and the tables."""

    def __init__(self, options, wanted, say, folder, compiler):
        self._options, self._wanted, self._say, self._folder = options, wanted, say, folder
        self._cores = commandline.cores_of(options)
        self._exchanges = exchange_program.ExchangeArtifacts(folder / "ranks", compiler, say)
        self._layers = programs.RankLayers(folder / "layers", compiler, say)
        self._models = programs.RankModels(folder, compiler, say)

    def prepare(self):
        """Compiles what the rows run on."""
        if "windows" in self._wanted:
            windows.program(self._folder)
        for part in ("exchange", "hosts"):
            if part in self._wanted:
                exchange.libraries(self._exchanges, self._wanted[part])
        if "layer" in self._wanted:
            self._layer_libraries()
        for row in self._wanted.get("decode", []):
            self._decode_libraries(row)

    def run(self, results):
        """Returns the exit code."""
        self._results, missed = results, []
        for part in self._wanted:
            lines, text = getattr(self, f"_{part}")()
            missed += lines
            print(text, end="\n\n", flush=True)
        print("\n".join(f"missed: {line}" for line in missed) if missed else "every goal is reached")
        return 3 if missed else 0

    def _layer_libraries(self):
        row = self._wanted["layer"][0]
        return {"one": self._layers.library(row.shape, row.dtype), "ranks": self._layers.for_ranks(row.shape, row.dtype)}

    def _decode_libraries(self, row):
        return {"one": self._models.compiled(row.model, row.dtype, "lib"), "ranks": self._models.for_ranks(row.model, row.dtype, row.axis, row.parallel)}

    def _settled(self, part, libraries):
        """The libraries; how fast their archives can be read is recorded, as memory of a virtual machine can be slow in places."""
        shares = programs.settle_archives(libraries)
        machine = Machine(self._folder, self._cores)
        rates = {side: machine.file_bandwidth(archive_of(library)) for side, library in libraries.items()}
        self._results.record({"type": "sides", "part": part, "huge_pages": shares, "archive_bandwidth": rates})
        return libraries

    def _windows(self):
        self._say("windows")
        samples = windows.measure(windows.program(self._folder), self._cores, self._options.rounds, self._options.turn_seconds / 3)
        for sample in samples:
            self._results.record({"type": "window-round", **sample})
        return self._kept(windows.summarize(samples), windows)

    def _exchange(self):
        return self._exchanges_of("exchange", "exchanges")

    def _hosts(self):
        return self._exchanges_of("hosts", "exchanges over UCX")

    def _exchanges_of(self, part, what):
        self._say(what)
        wanted = self._wanted[part]
        made = exchange.libraries(self._exchanges, wanted)
        samples = exchange.measure(wanted, made, self._folder, self._cores, self._options.rounds, self._options.turn_seconds / 5)
        for sample in samples:
            self._results.record({"type": "exchange-round", **sample})
        return self._kept([exchange.summarize(row, samples) for row in wanted], exchange)

    def _kept(self, summaries, module):
        for summary in summaries:
            self._results.record(summary)
        return module.missed(summaries), module.table(summaries)

    def _layer(self):
        libraries, summaries = self._settled("layer", self._layer_libraries()), []
        with programs.Pair(libraries, self._cores, self._results.record, self._options.turn_seconds) as pair:
            for row in self._wanted["layer"]:
                call = programs.layer_call(row, self._layers.data(row.shape))
                summaries.append(self._one(pair.measure(row.name, call, self._options.rounds, programs.LIMITS["layer"])[0]))
        return report.missed(summaries), "\n".join([report.HEADER, *map(report.line, summaries)])

    def _decode(self):
        summaries, texts = [], []
        for row in self._wanted["decode"]:
            summary, text = self._decode_row(row)
            summaries.append(self._one(summary))
            texts += [report.line(summary), text]
        return report.missed(summaries), "\n".join([report.HEADER, *texts])

    def _decode_row(self, row):
        checkpoint = self._models.checkpoint(row.model)
        machines = {"bandwidth": Machine(self._folder, self._cores), "core_bandwidth": Machine(self._folder, self._cores[:1])}
        dense, expert, rates = bound.dense_bytes(checkpoint, row), bound.expert_bytes(checkpoint, row), []

        def before_round():
            rates.append({name: machine.read_bandwidth(1 << 29) for name, machine in machines.items()})
            return rates[-1]

        with programs.Pair(self._settled("decode", self._decode_libraries(row)), self._cores, self._results.record, self._options.turn_seconds, before_round) as pair:
            call = programs.decode_call(row, checkpoint)
            summary, expert_rows = pair.measure(row.name, call, self._options.rounds, programs.LIMITS["decode"])
        summary["bound"] = statistics.median(bound.bound(dense, expert, expert_rows, rows.RANKS, axis=row.axis, **rate) for rate in rates)
        active = [sum(n > 0 for n in layer) for layer in expert_rows]
        typical = {name: statistics.median(rate[name] for rate in rates) for name in machines}
        summary.update({"dense_bytes": dense, "expert_bytes": expert, "active_experts": active, **typical})
        gigabytes = f"{dense / 1e9:.3f} GB for every rank, {sum(active) * expert / 1e9:.3f} GB of experts in all"
        text = f"bytes of a step: {gigabytes}; {typical['bandwidth'] / 1e9:.1f} GB/s, one core {typical['core_bandwidth'] / 1e9:.1f}"
        return summary, text

    def _one(self, summary):
        self._results.record(summary)
        self._say(f"{summary['row']}: {summary['ratio']:.2f}")
        return summary
