"""Command line of the profiler."""

import argparse
import contextlib
import json
import tempfile
from pathlib import Path

from .. import commandline, rows
from ..artifacts import Artifacts, archive_of
from ..errors import BenchError
from ..layers import rows as layer_rows
from ..layers.artifacts import LayerArtifacts
from ..layers.report import active_experts
from ..layers.sides import start_compiled
from ..pagecache import evict
from ..report import time_text
from ..worker import compiled_worker
from . import machinecode, report, sampling, throughput, tools

# A worker answers within ten minutes.
MOST_SECONDS = 300

DESCRIPTION = """\
Says where the time of rows goes: how much each kernel takes, what the instructions of its hottest blocks are and at which of them its threads wait.
Samples come from perf's clock, so that virtual machines without performance counters have them too.
"""

EPILOG = """\
examples:
  benchmarks/run profile olmoe/float32/T64/uniform
  benchmarks/run profile 0.9b/bfloat16/prefill --seconds 5
  benchmarks/run profile mixtral/float32 --cpu skylake-avx512

Shares of kernels are of all samples, those of blocks of their kernel, "time at" of the block; what has less than 2 % is not shown. The sampled instruction
is the oldest one that has not finished: a loop that waits for memory stands at its loads (or products that load), or at prefetches when no more lines can be
on their way; one that is bound by arithmetic at its products. Threads that sleep have no samples, and without root the kernel has none.
"cycles if all data is at hand" is llvm-mca's estimate of a round of a loop on --cpu: of Intel's, skylake-avx512 has two units for products of 64 bytes, as
server processors have, and LLVM's newer ones have one.

exit codes: 0 done, 1 wrong input, 2 perf or LLVM's tools are missing or perf may not sample here, 70 internal
"""


def parser():
    """The argument parser."""
    p = argparse.ArgumentParser(prog="benchmarks/run profile", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("rows", nargs="+", metavar="PATTERN", help="rows of layers or models whose name contains or matches it; see benchmarks/run [layers] --list")
    p.add_argument("--seconds", type=float, default=2, metavar="S", help="how long each row is sampled (default: %(default)s)")
    p.add_argument("--threads", type=int, default=2, metavar="N", help="cores (default: %(default)s)")
    p.add_argument("--compiler", type=Path, metavar="FILE", help="moe-compile (default: that of the build folder)")
    p.add_argument("--cpu", default="native", metavar="NAME", help="processor of LLVM's tables that llvm-mca estimates for (default: this one)")
    return p


def main(arguments):
    """Run the profiler; returns the exit code."""
    return commandline.run(parser(), arguments, _act)


def _act(options):
    chosen = [*layer_rows.select(layer_rows.all_rows(), patterns=options.rows), *rows.select(rows.all_rows(), patterns=options.rows)]
    if not chosen:
        raise BenchError("no row matches; benchmarks/run --list and benchmarks/run layers --list show their names")
    if not 0 < options.seconds <= MOST_SECONDS:
        raise BenchError(f"--seconds must be above 0 and at most {MOST_SECONDS}")
    commandline.check_threads(options)
    perf, objdump, mca = tools.find_perf(), tools.find_llvm("llvm-objdump"), tools.find_llvm("llvm-mca")
    if throughput.cycles(mca, options.cpu, [machinecode.Instruction(0, "addq", "%rax, %rcx")]) is None:
        raise BenchError(f"--cpu: llvm-mca does not know '{options.cpu}'; llvm-mca -mcpu=help lists what it knows")
    with tempfile.TemporaryDirectory() as folder:
        sampling.check(perf, Path(folder))
    build, say = commandline.build_folder(), commandline.clock()
    compiler = options.compiler or build / "bin" / "moe-compile"
    for index, row in enumerate(chosen):
        start = _layer if isinstance(row, layer_rows.Row) else _model
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            library, worker, facts = start(row, build / "bench", compiler, commandline.cores_of(options), say, folder, stack)
            answer = sampling.sample(perf, worker, options.seconds, folder / "samples")
            inside, elsewhere = sampling.read(perf, folder / "samples", library)
        code = machinecode.disassemble(objdump, library, list(inside)) if inside else {}
        print(", ".join([f"{row.name}: {time_text(answer['seconds'])}", *facts(answer["seconds"])]))
        print("\n".join(report.text(inside, elsewhere, code, lambda body: throughput.cycles(mca, options.cpu, body))), flush=True)
        if not any((other.dtype, _owner(other)) == (row.dtype, _owner(row)) for other in chosen[index + 1 :]):
            evict(archive_of(library))  # or the next archive finds no memory in pages of 2 MiB
    return 0


def _owner(row):
    return row.shape.name if isinstance(row, layer_rows.Row) else row.model


def _layer(row, bench, compiler, cores, say, folder, stack):
    """(the compiled library, a worker that is ready to run the row, function of a call's seconds that gives facts about it)."""
    artifacts = LayerArtifacts(bench / "layers", compiler, say)
    library, data = artifacts.library(row.shape, row.dtype), artifacts.data(row.shape)
    worker = stack.enter_context(start_compiled(library, row.shape, row.dtype, data, cores))
    pages = worker.ask("prepare", case=row.case, outputs=str(folder))["huge_pages"]
    work = row.work(active_experts(data / row.case / "ids.npy"))

    def facts(seconds):
        speeds = [f"{work['bytes'] / seconds / 1e9:.1f} GB/s of weights", f"{work['flops'] / seconds / 1e9:.0f} GFLOP/s"]
        return speeds if pages is None else [*speeds, f"{100 * pages:.0f} % of the archive in pages of 2 MiB"]

    return library, worker, facts


def _model(row, bench, compiler, cores, say, folder, stack):
    """The same of a model's row; what its calls have to do is not known without PyTorch."""
    artifacts = Artifacts(bench, compiler, say)
    library = artifacts.compiled(row.model, row.dtype, "lib")
    vocabulary = json.loads((artifacts.checkpoint(row.model) / "config.json").read_text())["vocab_size"]
    context, tokens = row.tokens(vocabulary)
    worker = stack.enter_context(compiled_worker(library, cores))
    worker.ask("prepare", context=context, tokens=tokens, logits=str(folder / "logits"))
    return library, worker, lambda seconds: []
