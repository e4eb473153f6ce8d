"""Command line of the benchmark of families."""

import argparse
import contextlib

from .. import commandline, report
from ..artifacts import archive_of
from ..errors import BenchError
from ..machine import Machine
from ..pairing import Pair
from ..rows import select
from ..worker import compiled_worker, torch_worker
from .artifacts import FamilyArtifacts
from .configurations import FAMILIES
from .rows import DTYPES, STEPS, all_rows

DESCRIPTION = f"""\
Compares compiled models of families with recurrent layers, latent attention and sinks with the best that PyTorch does on this machine: plain calls with either
implementation of the experts, and torch.compile with a static cache. A decode row is {STEPS} steps of one token from a position on, and the states of both sides are
put back before each call. Weights are random; models have 360 to 430 million parameters. docs/Performance.md explains the table.
"""

EPILOG = """\
examples:
  benchmarks/run families                                        everything: about an hour, of which torch.compile takes the most; 5 GB of build/bench at a time
  benchmarks/run families --families gpt-oss --dtype bfloat16    three rows
  benchmarks/run families --rows decode-512 --keep               decode only; what was made stays for the next run
  benchmarks/run families --rows prefill --plain                 without torch.compile: minutes, and not a result
  benchmarks/run families --prepare --families nemotron-h        export and compile only

Decode at 2048 beside decode at 512 shows what a longer context costs: recurrent layers do the same work at both. A model's files are deleted when its rows are
measured, unless --keep or --prepare says otherwise.

exit codes: 0 every ratio is at least 1.0, 1 wrong input, 3 one is below it or logits differ, 70 internal
"""

GOAL = 1.0
LEAST_ROUNDS = 7

# PyTorch compiles in `prepare`, up to its limit for each piece of code.
PREPARE_SECONDS = 3000


def parser():
    """The argument parser."""
    p = argparse.ArgumentParser(prog="benchmarks/run families", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", type=commandline.listed, metavar="PATTERN,...", help="rows whose name contains or matches a pattern; see --list")
    p.add_argument("--families", type=commandline.listed, metavar="FAMILY,...", help=f"of: {', '.join(FAMILIES)}")
    p.add_argument("--dtype", type=commandline.listed, metavar="DTYPE,...", help=f"of: {', '.join(DTYPES)}")
    p.add_argument("--plain", action="store_true", help="leave torch.compile out")
    p.add_argument("--keep", action="store_true", help="leave checkpoints, exported and compiled models in the build folder")
    commandline.add_options(p, rounds=LEAST_ROUNDS, turn_seconds=0.25, name="families", peers=False)
    return p


def main(arguments):
    """Run the benchmark; returns the exit code."""
    return commandline.run(parser(), arguments, _act)


def _act(options):
    rows = _check(options)
    if options.list:
        print("\n".join(row.name for row in rows))
        return 0
    build, say = commandline.build_folder(), commandline.clock()
    artifacts = FamilyArtifacts(build / "bench" / "families", options.compiler or build / "bin" / "moe-compile", say)
    if options.prepare:
        for model, dtype in dict.fromkeys((r.model, r.dtype) for r in rows):
            artifacts.compiled(model, dtype, "lib")
        return 0
    with commandline.results_file(options, ["families", *commandline.recorded(parser(), options)], say) as results:
        return Benchmark(options, artifacts, results, say).run(rows)


def _check(options):
    """The selected rows; raises BenchError for values that make no sense."""
    commandline.check(options, (("families", options.families, list(FAMILIES)), ("dtype", options.dtype, DTYPES)))
    rows = select(all_rows(), options.families, options.dtype, options.rows)
    if not rows:
        raise BenchError("no row matches; --list shows their names")
    return rows


class Benchmark:
    """All rows, family by family and dtype by dtype; prints the table at the end."""

    def __init__(self, options, artifacts, results, say):
        self._options, self._artifacts, self._results, self._say = options, artifacts, results, say
        self._cores, self._rows = commandline.cores_of(options), []

    def run(self, rows):
        """Returns the exit code."""
        for model in dict.fromkeys(r.model for r in rows):
            for dtype in dict.fromkeys(r.dtype for r in rows if r.model == model):
                self._pair(model, dtype, [r for r in rows if (r.model, r.dtype) == (model, dtype)])
                if not self._options.keep:
                    self._artifacts.remove(model, dtype)
            if not self._options.keep:
                self._artifacts.remove(model)
        return self._finish()

    def _pair(self, model, dtype, rows):
        """The rows of one family and dtype, on a worker for each side."""
        library, checkpoint = self._artifacts.compiled(model, dtype, "lib"), self._artifacts.checkpoint(model)
        machine = Machine(self._artifacts.folder, self._cores)
        self._say(f"{model} {dtype}: start both sides; peak {machine.peak(dtype) / 1e9:.0f} GFLOP/s")
        with contextlib.ExitStack() as stack:
            module = "moe_bench.families.torch_worker"
            peer = stack.enter_context(torch_worker(checkpoint, dtype, self._cores, module, PREPARE_SECONDS, ["plain"] if self._options.plain else []))
            ours = stack.enter_context(compiled_worker(library, self._cores, module="moe_bench.families.compiled_worker"))
            limits = {"peak": machine.peak(dtype), "archive_bandwidth": machine.file_bandwidth(archive_of(library))}
            self._results.record({"type": "sides", "model": model, "dtype": dtype, "peer": peer.info, "compiled": ours.info, **limits})
            pair = Pair(ours, peer, machine, self._results.record, self._options.turn_seconds)
            for index, row in enumerate(rows):
                summary = pair.measure(row, self._options.rounds)
                self._results.record(summary)
                self._rows.append(summary)
                self._say(f"[{index + 1}/{len(rows)}] {row.name}: {summary['ratio']:.2f} ({summary['low']:.2f}..{summary['high']:.2f}) times {summary['peer']}")

    def _finish(self):
        print(report.ROW_HEADER)
        print("\n".join(report.row_line(s) for s in self._rows))
        missed = [s for s in self._rows if s["ratio"] < GOAL]
        print(f"\n{len(self._rows) - len(missed)} of {len(self._rows)} rows at their goal")
        if self._options.rounds < LEAST_ROUNDS:
            print(f"({self._options.rounds} rounds: at least {LEAST_ROUNDS} make a result)")
        for summary in missed:
            print(f"missed: {summary['row']}: {summary['ratio']:.2f} times {summary['peer']}, goal {GOAL:.2f}")
        return 3 if missed else 0
