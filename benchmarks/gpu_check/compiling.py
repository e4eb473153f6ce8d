"""Programs of layers by the compiler of a build folder, and their cubins by NVRTC."""

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .kernels import read_kernels
from .program import Program, split_module

ROOT = Path(__file__).resolve().parents[2]
TARGET = "builtin.module(kernel-set-target{target=cuda:sm_90a})"
PASSES = "builtin.module(graph-decide,convert-graph-to-kernel,canonicalize,cse,kernel-choose-plans)"


class CompileError(Exception):
    pass


def run_tool(build, name, *arguments, text=""):
    done = subprocess.run([str(Path(build) / "bin" / name), *arguments], input=text, capture_output=True, text=True)
    if done.returncode:
        raise CompileError(f"{name}: {done.stderr.strip()}")
    return done.stdout


@functools.lru_cache(maxsize=256)
def tool(build, name, *arguments, text):
    """`run_tool`, once for equal texts: variants of a layer differ late."""
    return run_tool(build, name, *arguments, text=text)


def compile_layer(build, layer, name):
    """The program of a layer, without cubins."""
    return compile_graph(build, layer.graph(), layer, name)


def unchanged(text):
    return text


def compile_graph(build, text, layer, name, edit_target=unchanged, edit_level=unchanged):
    """The same of a graph with one function, `main`, of the tokens `x`. `edit_target` edits the graph that has `kernel.target`, `edit_level`
    its kernel level."""
    text = edit_target(tool(build, "moe-opt", f"--pass-pipeline={TARGET}", text=text))
    level = edit_level(tool(build, "moe-opt", f"--pass-pipeline={PASSES}", text=text))
    host, kernels = split_module(tool(build, "moe-opt", "--mlir-print-op-generic", text=level))
    text = tool(build, "moe-translate", "--kernel-to-cuda", text=level)
    emitted = tool(build, "moe-opt", "--kernel-to-emitc", text=kernels)
    return Program(name, layer, host, read_kernels(text, emitted), {})


def report_of(build, layer):
    """`moe-compile --report` of a layer, for the H200."""
    with tempfile.TemporaryDirectory() as name:
        source, report = Path(name) / "layer.mlir", Path(name) / "report.json"
        source.write_text('module attributes {moe.level = "graph"} {' + layer.graph() + "}\n")
        flags = ("--from=graph", "--to=kernel", "--target=cuda:h200", "-q", f"--report={report}", "-o", str(Path(name) / "kernel.mlir"))
        run_tool(build, "moe-compile", str(source), *flags)
        return json.loads(report.read_text())


def cost_of(build, layer):
    """What the cost model says of each launch: {kernel: {tokens: {"estimate", "floor", "terms", "flops", "bytes"}}}, in seconds."""
    report, cost = report_of(build, layer), {}
    for launch in (launch for part in report["layers"] for launch in part["launches"]):
        gpu = launch["gpu"]
        cost[launch["kernel"]] = {
            str(point["tokens"]): {
                "estimate": gpu["estimate_seconds"][name], "floor": gpu["floor_seconds"][name], "terms": gpu.get("terms", {}).get(name, {}),
                "flops": launch["flops"][name], "bytes": sum(launch[what][name] for what in ("weights_read", "read", "written")),
            }
            for name, point in report["points"].items()
        }  # fmt: skip
    return cost


def nvrtc():
    """The compiler of the tests, which needs neither a GPU nor a driver."""
    sys.path.insert(0, str(ROOT / "test" / "python" / "cuda"))
    from nvrtc import Nvrtc, find_nvrtc

    folder = find_nvrtc()
    if folder is None:
        raise CompileError("NVRTC is not installed (package nvidia-cuda-nvrtc of python/requirements.txt)")
    return Nvrtc(folder)


def compile_cubin(compiler, kernel):
    """(cubin, log of ptxas, seconds)"""
    start = time.perf_counter()
    cubin, log = compiler.compile(kernel.text, f"{kernel.name}.cu")
    if cubin is None:
        raise CompileError(f"{kernel.name}: {log}")
    return cubin, log, time.perf_counter() - start


def add_cubins(program, compiler, cache=None, names=None):
    """Compiles every kernel, or those of these names; texts that are in `cache` are not compiled again."""
    cache = {} if cache is None else cache
    kernels = [program.kernels[name] for name in names or program.kernels]
    compile_texts(compiler, kernels, cache)
    program.cubins |= {kernel.name: cache[kernel.text] for kernel in kernels}


def compile_texts(compiler, kernels, cache):
    """The cubins of kernels that `cache` lacks, in as many threads as there are cores."""
    missing = list({kernel.text: kernel for kernel in kernels if kernel.text not in cache}.values())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for kernel, (cubin, _, _) in zip(missing, pool.map(lambda kernel: compile_cubin(compiler, kernel), missing)):
            cache[kernel.text] = cubin
