"""Programs of layers by the compiler of a build folder, and their cubins by NVRTC."""

import subprocess
import sys
import time
from pathlib import Path

from .kernels import read_kernels
from .program import Program, split_module

ROOT = Path(__file__).resolve().parents[2]
PASSES = "builtin.module(kernel-set-target{cuda=sm_90a},convert-graph-to-kernel,canonicalize,cse)"


class CompileError(Exception):
    pass


def tool(build, name, *arguments, text):
    done = subprocess.run([str(Path(build) / "bin" / name), *arguments], input=text, capture_output=True, text=True)
    if done.returncode:
        raise CompileError(f"{name}: {done.stderr.strip()}")
    return done.stdout


def compile_layer(build, layer, name):
    """The program of a layer, without cubins."""
    return compile_graph(build, layer.graph(), layer, name)


def compile_graph(build, text, layer, name):
    """The same of a graph with one function, `main`, of the tokens `x`."""
    level = tool(build, "moe-opt", f"--pass-pipeline={PASSES}", text=text)
    host, kernels = split_module(tool(build, "moe-opt", "--mlir-print-op-generic", text=level))
    text = tool(build, "moe-translate", "--kernel-to-cuda", text=level)
    emitted = tool(build, "moe-opt", "--kernel-to-emitc", text=kernels)
    return Program(name, layer, host, read_kernels(text, emitted), {})


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


def add_cubins(program, compiler, cache=None):
    """Compiles every kernel; texts that are in `cache` are not compiled again."""
    cache = {} if cache is None else cache
    for name, kernel in program.kernels.items():
        if kernel.text not in cache:
            cache[kernel.text] = compile_cubin(compiler, kernel)[0]
        program.cubins[name] = cache[kernel.text]
