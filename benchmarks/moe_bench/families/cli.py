"""Command line of the benchmark of families."""

import argparse
import contextlib
import itertools
import os

from .. import commandline, report
from ..artifacts import archive_of
from ..errors import BenchError
from ..machine import Machine
from ..pairing import Pair
from ..peerfolder import PeerFolder
from ..rows import PEERS, select
from ..worker import compiled_worker, llama_worker, torch_worker
from .artifacts import FamilyArtifacts
from .configurations import FAMILIES
from .rows import DTYPES, STEPS, all_rows
from .spent import Spent

DESCRIPTION = f"""\
Compares compiled models of families with recurrent layers, latent attention and sinks with the best that PyTorch and llama.cpp do on this machine: plain calls
with either implementation of the experts, torch.compile with a static cache, llama.cpp with flash attention and without. A decode row is {STEPS} steps of one token
from a position on, and the states of all sides are put back before each call. Weights are random; models have 360 to 430 million parameters.
scripts/bench-peers installs llama.cpp. docs/performance/families.md explains the table.
"""

EPILOG = """\
examples:
  benchmarks/run families                                        everything; 7 GB of build/bench at a time
  benchmarks/run families --rows prefill-512,decode-512          without the longer context
  benchmarks/run families --families gpt-oss --dtype bfloat16    three rows
  benchmarks/run families --rows decode-512 --keep               decode only; what was made stays for the next run
  benchmarks/run families --rows prefill --plain                 without torch.compile: minutes, and not a result
  benchmarks/run families --peers none                           against PyTorch alone
  benchmarks/run families --prepare --families nemotron-h        what the rows run on, torch.compile's code too; 8 GB a family

Decode at 2048 beside decode at 512 shows what a longer context costs: recurrent layers do the same work at both. A model's files are deleted when its rows are
measured, unless --keep or --prepare says otherwise; what torch.compile has compiled stays in build/bench and saves time in the next run. A row whose first
rounds tell clearly on which side of its goal it is has no more of them. A table at the end says where the time went.

exit codes: 0 every ratio is at least 1.0, 1 wrong input, 3 one is below it or logits differ, 70 internal
"""

GOAL = 1.0
LEAST_ROUNDS = 7
CLEAR_ROUNDS = 3

# A row's torch.compile may take this long; with --prepare, which keeps what it makes for the rows, longer. What else a side does for a row takes less.
COMPILE_SECONDS = 300
COMPILE_AHEAD_SECONDS = 1800
OTHER_SECONDS = 600


def parser():
    """The argument parser."""
    p = argparse.ArgumentParser(prog="benchmarks/run families", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", type=commandline.listed, metavar="PATTERN,...", help="rows whose name contains or matches a pattern; see --list")
    p.add_argument("--families", type=commandline.listed, metavar="FAMILY,...", help=f"of: {', '.join(FAMILIES)}")
    p.add_argument("--dtype", type=commandline.listed, metavar="DTYPE,...", help=f"of: {', '.join(DTYPES)}")
    p.add_argument("--peers", type=commandline.listed, metavar="PEER,...", help=f"besides PyTorch, of: {', '.join(PEERS)}; or none (default: all)")
    p.add_argument("--plain", action="store_true", help="leave torch.compile out")
    p.add_argument("--keep", action="store_true", help="leave checkpoints, exported and compiled models in the build folder")
    commandline.add_options(p, rounds=LEAST_ROUNDS, turn_seconds=0.25, name="families")
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
    folder.check(peers_of(options))
    artifacts = FamilyArtifacts(build / "bench" / "families", options.compiler or build / "bin" / "moe-compile", say)
    if options.prepare:
        for group in grouped(rows):
            _prepare(options, artifacts, folder, group, say)
        return 0
    with commandline.results_file(options, ["families", *commandline.recorded(parser(), options)], say) as results:
        return Benchmark(options, artifacts, folder, results, say).run(rows)


def grouped(rows):
    """Lists of the rows that run on one model in one dtype."""
    names = dict.fromkeys((r.model, r.dtype) for r in rows)
    return [[r for r in rows if (r.model, r.dtype) == name] for name in names]


def pytorch(options, artifacts, row, seconds):
    """PyTorch's side of a row's model, whose torch.compile may take some seconds a row. What it compiles is kept, for the rows or for the next run."""
    kept, limit = {"TORCHINDUCTOR_CACHE_DIR": str(artifacts.folder / "inductor")}, 0 if options.plain else seconds
    module, checkpoint, cores = "moe_bench.families.torch_worker", artifacts.checkpoint(row.model), commandline.cores_of(options)
    return torch_worker(checkpoint, row.dtype, cores, module, limit + OTHER_SECONDS, [str(limit)], kept)


def _prepare(options, artifacts, folder, rows, say):
    """What a group of rows runs on; the rows then take what torch.compile made from its folder."""
    artifacts.compiled(rows[0].model, rows[0].dtype, "lib")
    for _ in peers_of(options):
        artifacts.gguf(rows[0].model, rows[0].dtype, folder.python)
    if options.plain:
        return
    with pytorch(options, artifacts, rows[0], COMPILE_AHEAD_SECONDS) as peer:
        for row in rows:
            say(f"{row.name}: torch.compile")
            context, tokens = row.tokens(peer.info["vocabulary"])
            for why in peer.ask("prepare", context=context, tokens=tokens, logits=os.devnull)["unavailable"].values():
                say(f"{row.name}: {why}")


def peers_of(options):
    """Peers besides PyTorch."""
    return [p for p in PEERS if not options.peers or p in options.peers]


def clear(summary):
    """Whether further rounds of a row would not change on which side of its goal it is: the ratios lie closer together than half the way to the goal."""
    return summary["rounds"] >= CLEAR_ROUNDS and not summary["disturbed"] and 2 * (summary["high"] - summary["low"]) < abs(summary["ratio"] - GOAL)


def _check(options):
    """The selected rows; raises BenchError for values that make no sense."""
    peers = [] if options.peers == ["none"] else options.peers
    commandline.check(options, (("families", options.families, list(FAMILIES)), ("dtype", options.dtype, DTYPES), ("peers", peers, PEERS)))
    rows = select(all_rows(), options.families, options.dtype, options.rows)
    if not rows:
        raise BenchError("no row matches; --list shows their names")
    return rows


class Benchmark:
    """All rows, family by family and dtype by dtype; prints the table at the end."""

    def __init__(self, options, artifacts, folder, results, say):
        self._options, self._artifacts, self._folder, self._results, self._say = options, artifacts, folder, results, say
        self._cores, self._rows, self._spent = commandline.cores_of(options), [], Spent()

    def run(self, rows):
        """Returns the exit code."""
        for group, following in itertools.pairwise([*grouped(rows), None]):
            self._pair(group[0].model, group[0].dtype, group)
            if not self._options.keep:
                self._artifacts.remove(group[0].model, group[0].dtype)
                if not following or following[0].model != group[0].model:
                    self._artifacts.remove(group[0].model)
        return self._finish()

    def _pair(self, model, dtype, rows):
        """The rows of one family and dtype, on a worker for each side."""
        library = self._artifacts.compiled(model, dtype, "lib")
        machine = Machine(self._artifacts.folder, self._cores)
        names = peers_of(self._options)
        files = [self._artifacts.gguf(model, dtype, self._folder.python) for _ in names]
        self._say(f"{model} {dtype}: start all sides; peak {machine.peak(dtype) / 1e9:.0f} GFLOP/s")
        with contextlib.ExitStack() as stack:
            with self._spent.measured(f"{model} {dtype}", "start"):
                peer, ours, *others = (stack.enter_context(side) for side in self._sides(rows[0], library, files))
            info = {"peer": peer.info, "others": {name: w.info for name, w in zip(names, others)}, "compiled": ours.info}
            limits = {"peak": machine.peak(dtype), "archive_bandwidth": machine.file_bandwidth(archive_of(library))}
            self._results.record({"type": "sides", "model": model, "dtype": dtype, **info, **limits})
            pair = Pair(ours, peer, machine, self._results.record, self._options.turn_seconds, others)
            for index, row in enumerate(rows):
                self._row(pair, row, f"[{index + 1}/{len(rows)}]")

    def _sides(self, row, library, files):
        """PyTorch, the compiled model and further peers, one after another."""
        yield pytorch(self._options, self._artifacts, row, COMPILE_SECONDS)
        yield compiled_worker(library, self._cores, module="moe_bench.families.compiled_worker")
        for file in files:
            yield llama_worker(self._folder, file, row.dtype, self._cores, "moe_bench.families.llama_worker")

    def _row(self, pair, row, count):
        summary = pair.measure(row, self._options.rounds, clear)
        self._results.record(summary)
        self._rows.append(summary)
        spent = ", ".join(f"{part} {seconds:.0f}" for part, seconds in summary["spent"].items())
        self._say(f"{count} {row.name}: {summary['ratio']:.2f} ({summary['low']:.2f}..{summary['high']:.2f}) times {summary['peer']}; seconds: {spent}")
        for part, seconds in summary["spent"].items():
            self._spent.add(f"{row.model} {row.dtype}", part, seconds)

    def _finish(self):
        self._spent.add_steps(self._artifacts.spent)
        print(report.ROW_HEADER)
        print("\n".join(report.row_line(s) for s in self._rows))
        missed = [s for s in self._rows if s["ratio"] < GOAL]
        print(f"\n{len(self._rows) - len(missed)} of {len(self._rows)} rows at their goal")
        if self._options.rounds < LEAST_ROUNDS:
            print(f"({self._options.rounds} rounds: at least {LEAST_ROUNDS} make a result)")
        for summary in self._rows:
            for variant, why in summary["unavailable"].items():
                print(f"without {variant}: {summary['row']}: {why}")
        for summary in missed:
            print(f"missed: {summary['row']}: {summary['ratio']:.2f} times {summary['peer']}, goal {GOAL:.2f}")
        print("\n" + self._spent.table())
        return 3 if missed else 0
