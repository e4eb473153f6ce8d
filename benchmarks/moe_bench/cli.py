"""Command line of the benchmark."""

import argparse
import os
import sys
import time
from datetime import datetime, timezone
from pathlib import Path

from . import compiling, environment, executable, report
from .artifacts import REPOSITORY, Artifacts
from .errors import BenchError
from .machine import Machine
from .memory import read_fields
from .pairing import Pair
from .rows import DTYPES, MODELS, all_rows, select
from .worker import compiled_worker, torch_worker

DESCRIPTION = """\
Compares compiled models with PyTorch on this machine. Each side is a process of its own with the same weights and
threads bound to cores; they take turns, and one sleeps while the other runs. docs/Performance.md explains the table.
"""

EPILOG = """\
examples:
  benchmarks/run                                 everything: about half an hour and 25 GB of build/bench
  benchmarks/run --models tiny --dtype float32   a few minutes
  benchmarks/run --rows 'decode-*' --rounds 15   decode only
  benchmarks/run --parts compile                 compile times and memory only
  benchmarks/run layers --help                   MoE layers alone, against every peer

exit codes: 0 every goal is reached, 1 wrong input, 3 a row is below 1.0, a limit is missed or logits differ, 70 internal
"""

PARTS = ("compile", "executable", "rows")
LEAST_ROUNDS = 7


def parser():
    """The argument parser."""
    p = argparse.ArgumentParser(prog="benchmarks/run", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", type=_list, metavar="PATTERN,...", help="rows whose name contains or matches a pattern; see --list")
    p.add_argument("--models", type=_list, metavar="MODEL,...", help=f"of: {', '.join(MODELS)}")
    p.add_argument("--dtype", type=_list, metavar="DTYPE,...", help=f"of: {', '.join(DTYPES)}")
    p.add_argument("--parts", type=_list, metavar="PART,...", default=list(PARTS), help=f"of: {', '.join(PARTS)} (default: all)")
    p.add_argument("--rounds", type=int, default=LEAST_ROUNDS, metavar="N", help="rounds per row (default: %(default)s)")
    p.add_argument("--turn-seconds", type=float, default=0.25, metavar="S", help="length of one side's turn in a round (default: %(default)s)")
    p.add_argument("--threads", type=int, default=2, metavar="N", help="cores of each side (default: %(default)s)")
    p.add_argument("--compiler", type=Path, metavar="FILE", help="moe-compile (default: that of the build folder)")
    p.add_argument("--name", default="run", metavar="NAME", help="last part of the result file's name (default: %(default)s)")
    p.add_argument("--results", type=Path, default=REPOSITORY / "benchmarks" / "results", metavar="DIR", help="folder of result files")
    p.add_argument("--list", action="store_true", help="list the rows and stop")
    return p


def _list(text):
    return [part for part in text.split(",") if part]


def main(arguments=None):
    """Run the benchmark; returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        options = parser().parse_args(arguments)
    except SystemExit as stop:
        return 1 if stop.code else 0
    try:
        rows = _check(options)
        if options.list:
            print("\n".join(row.name for row in rows))
            return 0
        return _run(options, rows, arguments)
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _check(options):
    """The selected rows; raises BenchError for values that make no sense."""
    for flag, values, known in (("models", options.models, MODELS), ("dtype", options.dtype, DTYPES), ("parts", options.parts, PARTS)):
        unknown = [v for v in values or [] if v not in known]
        if unknown:
            raise BenchError(f"--{flag}: '{unknown[0]}' is not known; choose from: {', '.join(known)}")
    cores = len(os.sched_getaffinity(0))
    if not 1 <= options.threads <= cores:
        raise BenchError(f"--threads: {options.threads} is not between 1 and the {cores} cores that this process may use")
    if options.rounds < 1 or not 0 < options.turn_seconds < 3600:
        raise BenchError("--rounds must be at least 1, and --turn-seconds above 0")
    if "/" in options.name:
        raise BenchError(f"--name: '{options.name}' is part of a file name and cannot contain '/'")
    rows = select(all_rows(), options.models, options.dtype, options.rows)
    if not rows:
        raise BenchError("no row matches; --list shows their names")
    return rows


def _run(options, rows, arguments):
    start = time.monotonic()

    def say(line):
        print(f"[{time.monotonic() - start:7.1f} s] {line}", file=sys.stderr, flush=True)

    build = Path(os.environ.get("MOE_BUILD_DIR", REPOSITORY / "build"))
    artifacts = Artifacts(build / "bench", options.compiler or build / "bin" / "moe-compile", say)
    cores = sorted(os.sched_getaffinity(0))[: options.threads]
    stamp = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    results = report.Results(options.results / f"{stamp}-{environment.commit()}-{options.name}.jsonl")
    try:
        results.record(environment.describe(cores, arguments))
        return Benchmark(options, artifacts, cores, results, say).run(rows)
    finally:
        if results.close():
            say(f"raw samples: {results.path}")


class Benchmark:
    """All parts of a run, model by model; prints the tables at the end."""

    def __init__(self, options, artifacts, cores, results, say):
        self._options, self._artifacts, self._cores, self._results, self._say = options, artifacts, cores, results, say
        self._compiles, self._executables, self._peers, self._rows = [], [], {}, []

    def run(self, rows):
        """Returns the exit code."""
        for model, dtype in dict.fromkeys((r.model, r.dtype) for r in rows):
            exported = self._artifacts.exported(model, dtype)
            if "compile" in self._options.parts:
                self._say(f"{model} {dtype}: compile time and memory")
                self._keep(self._compiles, compiling.measure(self._artifacts.compiler, exported, model, dtype))
            if "executable" in self._options.parts:
                self._say(f"{model} {dtype}: start and memory of the executable")
                path = self._artifacts.compiled(model, dtype, "exe")
                self._keep(self._executables, executable.measure(path, model, dtype))
            if "rows" in self._options.parts:
                self._pair(model, dtype, [r for r in rows if (r.model, r.dtype) == (model, dtype)])
        return self._finish()

    def _keep(self, place, record):
        self._results.record(record)
        place.append(record)

    def _pair(self, model, dtype, rows):
        """The rows of one model and dtype, on a pair of workers."""
        library = self._artifacts.compiled(model, dtype, "lib")
        machine = Machine(self._artifacts.folder, self._cores)
        self._say(f"{model} {dtype}: start both sides; peak {machine.peak(dtype) / 1e9:.0f} GFLOP/s")
        with torch_worker(self._artifacts.checkpoint(model), dtype, self._cores) as peer, compiled_worker(library, self._cores) as ours:
            sides = {"type": "sides", "model": model, "dtype": dtype, "peer": peer.info, "compiled": ours.info, "peak": machine.peak(dtype)}
            self._results.record(sides)
            pair = Pair(ours, peer, machine, self._results.record, self._options.turn_seconds)
            for index, row in enumerate(rows):
                summary = pair.measure(row, self._options.rounds)
                self._keep(self._rows, summary)
                self._say(f"[{index + 1}/{len(rows)}] {row.name}: {summary['ratio']:.2f} ({summary['low']:.2f}..{summary['high']:.2f})")
            resident = read_fields(f"/proc/{peer.pid}/status", ("VmHWM",))["VmHWM"]
        self._peers[model, dtype] = {"load_seconds": peer.info["load_seconds"], "resident": resident}

    def _finish(self):
        failures = compiling.failures(self._compiles)
        if self._compiles:
            print("\n" + report.compile_table(self._compiles))
        if self._executables:
            print("\n" + report.process_table(self._executables, self._peers))
        if self._rows:
            print("\n" + report.ROW_HEADER)
            print("\n".join(report.row_line(s) for s in self._rows))
            below = [s["row"] for s in self._rows if s["ratio"] < 1]
            print(f"\n{len(self._rows) - len(below)} of {len(self._rows)} rows at their goal")
            failures += [f"{name}: below 1.0" for name in below]
            if self._options.rounds < LEAST_ROUNDS:
                print(f"({self._options.rounds} rounds: at least {LEAST_ROUNDS} make a result)")
        for line in failures:
            print(f"missed: {line}")
        return 3 if failures else 0
