"""Command line of the benchmark."""

import argparse
import contextlib

from . import commandline, compiling, executable, goals, report
from .artifacts import Artifacts, archive_of
from .errors import BenchError
from .machine import Machine
from .memory import read_fields
from .pairing import Pair
from .peerfolder import PeerFolder
from .rows import DTYPES, MODELS, PEERS, PEERS_OF, all_rows, select
from .worker import compiled_worker, llama_worker, torch_worker

DESCRIPTION = """\
Compares compiled models with PyTorch and llama.cpp on this machine. Each side is a process of its own with the same weights and threads bound to
cores; they take turns, and the others sleep while one runs. scripts/bench-peers installs llama.cpp. docs/Performance.md explains the table.
"""

EPILOG = """\
examples:
  benchmarks/run                                 everything: about half an hour and 25 GB of build/bench
  benchmarks/run --models tiny --dtype float32   a few minutes
  benchmarks/run --models 0.9b --parts rows      against llama.cpp too
  benchmarks/run --rows 'decode-*' --rounds 15   decode only
  benchmarks/run --parts compile                 compile times and memory only
  benchmarks/run --prepare                       checkpoints and compiled models, so that a later run only measures
  benchmarks/run layers --help                   MoE layers alone, against every peer
  benchmarks/run families --help                 recurrent layers, latent attention and sinks, against PyTorch and llama.cpp
  benchmarks/run oversubscription --help         processes that share cores, against their fair share
  benchmarks/run compilers --help                an older moe-compile against a newer one
  benchmarks/run ranks --help                    programs of two ranks: exchanges against Open MPI and gloo, layers against one process
  benchmarks/run auto --help                     what --parallel=auto chooses, against every other way
  benchmarks/run profile --help                  which loops a row spends its time in, and what they wait for

exit codes: 0 every goal is reached, 1 wrong input, 3 a goal or a limit is missed or logits differ, 70 internal
"""

PARTS = ("compile", "executable", "rows")
LEAST_ROUNDS = 7


def parser():
    """The argument parser."""
    p = argparse.ArgumentParser(prog="benchmarks/run", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", type=commandline.listed, metavar="PATTERN,...", help="rows whose name contains or matches a pattern; see --list")
    p.add_argument("--models", type=commandline.listed, metavar="MODEL,...", help=f"of: {', '.join(MODELS)}")
    p.add_argument("--dtype", type=commandline.listed, metavar="DTYPE,...", help=f"of: {', '.join(DTYPES)}")
    p.add_argument("--parts", type=commandline.listed, metavar="PART,...", default=list(PARTS), help=f"of: {', '.join(PARTS)} (default: all)")
    p.add_argument("--peers", type=commandline.listed, metavar="PEER,...", help=f"besides PyTorch, of: {', '.join(PEERS)}; or none (default: all)")
    commandline.add_options(p, rounds=LEAST_ROUNDS, turn_seconds=0.25, name="run")
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
    folder = PeerFolder(options.peer_folder or build / "bench-peers")
    folder.check(sorted({p for r in rows for p in peers_of(r.model, options)}))
    artifacts = Artifacts(build / "bench", options.compiler or build / "bin" / "moe-compile", say)
    if options.prepare:
        _prepare(options, artifacts, folder, rows)
        return 0
    with commandline.results_file(options, commandline.recorded(parser(), options), say) as results:
        return Benchmark(options, artifacts, folder, results, say).run(rows)


def _check(options):
    """The selected rows; raises BenchError for values that make no sense."""
    peers = [] if options.peers == ["none"] else options.peers
    choices = (("models", options.models, MODELS), ("dtype", options.dtype, DTYPES), ("parts", options.parts, PARTS), ("peers", peers, PEERS))
    commandline.check(options, choices)
    rows = select(all_rows(), options.models, options.dtype, options.rows)
    if not rows:
        raise BenchError("no row matches; --list shows their names")
    return rows


def peers_of(model, options):
    """Peers besides PyTorch that the rows of a model are measured with."""
    if "rows" not in options.parts or options.peers == ["none"]:
        return []
    return [p for p in PEERS_OF.get(model, ()) if not options.peers or p in options.peers]


def _prepare(options, artifacts, folder, rows):
    """What `Benchmark` needs."""
    kinds = {"executable": "exe", "rows": "lib"}
    for model, dtype in dict.fromkeys((r.model, r.dtype) for r in rows):
        artifacts.exported(model, dtype)
        for part in options.parts:
            if part in kinds:
                artifacts.compiled(model, dtype, kinds[part])
        if peers_of(model, options):
            artifacts.gguf(model, dtype, folder.python)


class Benchmark:
    """All parts of a run, model by model; prints the tables at the end."""

    def __init__(self, options, artifacts, folder, results, say):
        self._options, self._artifacts, self._folder, self._results, self._say = options, artifacts, folder, results, say
        self._cores = commandline.cores_of(options)
        self._compiles, self._executables, self._peers, self._rows, self._missed = [], [], {}, [], []

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
        """The rows of one model and dtype, on a worker for each side."""
        library = self._artifacts.compiled(model, dtype, "lib")
        machine = Machine(self._artifacts.folder, self._cores)
        checkpoint, names = self._artifacts.checkpoint(model), peers_of(model, self._options)
        files = [self._artifacts.gguf(model, dtype, self._folder.python) for _ in names]
        self._say(f"{model} {dtype}: start all sides; peak {machine.peak(dtype) / 1e9:.0f} GFLOP/s")
        with contextlib.ExitStack() as stack:
            peer, ours = (stack.enter_context(w) for w in (torch_worker(checkpoint, dtype, self._cores), compiled_worker(library, self._cores)))
            others = [stack.enter_context(llama_worker(self._folder, file, dtype, self._cores)) for file in files]
            info = {"peer": peer.info, "others": {name: w.info for name, w in zip(names, others)}, "compiled": ours.info}
            limits = {"peak": machine.peak(dtype), "archive_bandwidth": machine.file_bandwidth(archive_of(library))}
            self._results.record({"type": "sides", "model": model, "dtype": dtype, **info, **limits})
            pair = Pair(ours, peer, machine, self._results.record, self._options.turn_seconds, others)
            for index, row in enumerate(rows):
                summary = pair.measure(row, self._options.rounds)
                self._keep(self._rows, summary)
                self._missed += goals.missed(row, summary)
                self._say(f"[{index + 1}/{len(rows)}] {row.name}: {summary['ratio']:.2f} ({summary['low']:.2f}..{summary['high']:.2f}) times {summary['peer']}")
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
            below = {line.split(":", 1)[0] for line in self._missed}
            print(f"\n{len(self._rows) - len(below)} of {len(self._rows)} rows at their goal")
            failures += self._missed
            if self._options.rounds < LEAST_ROUNDS:
                print(f"({self._options.rounds} rounds: at least {LEAST_ROUNDS} make a result)")
        for line in failures:
            print(f"missed: {line}")
        return 3 if failures else 0
