"""Programs of moe-compile linked with a CUDA whose kernels run on the emulated GPU (runtime/test/cuda)."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
from cuda_program import compile_for_gpu
from emitted import BUILD, cuda_text, host_compiler
from emulated import WARNINGS, Emulator, linker_of

EMULATION = BUILD / "runtime" / "emulation"
INCLUDE = '#include "device.cuh"\n'
LIBRARY = re.compile(rb"//===- device\.cuh[^\0]*\0")
KERNEL = re.compile(re.escape(INCLUDE.encode()) + rb"([^\0]*)\0")


def runtime_of(build):
    """The runtime of a build, on the emulated GPU."""
    return build / "runtime" / "test" / "cuda" / "libmoert_emulated.a"


def link(program, kernels, folder, build=BUILD, **options):
    """Links an object with kernels from their text and with the runtime of `build`; `options` as of Emulator.build. Returns a function: arguments -> the finished
    process; its `file` is the executable."""
    compiler, emulation = host_compiler(), build / "runtime" / "emulation"
    library = Emulator(EMULATION / "libmoe_emulation.so", compiler).build(kernels, folder / "kernels", **options)
    subprocess.run([compiler, *linker_of(compiler), program, runtime_of(build), f"-L{emulation}", "-lmoe_emulation", f"-Wl,-rpath,{emulation}", "-Wl,--export-dynamic-symbol=moe_emulated_*", "-lpthread", "-ldl", "-o", folder / "program"],
                   check=True)  # fmt: skip

    def run(*arguments, seed=1, fails=False, **variables):
        environment = {**os.environ, "MOE_EMULATED_KERNELS": str(library), "MOE_EMULATION_SEED": str(seed), **variables}
        done = subprocess.run([folder / "program", *map(str, arguments)], capture_output=True, text=True, env=environment, timeout=600)
        assert (done.returncode != 0) == fails, done.stderr
        return done

    run.file = folder / "program"
    return run


def from_object(program, folder, tool):
    """The same with the kernels and the device library that the object itself holds, as the compiler `tool` wrote them. If that stands in a build of its own with a
    runtime on the emulated GPU, the program gets this: another one may ask for another ABI."""
    build = tool.parent.parent if runtime_of(tool.parent.parent).is_file() else BUILD
    sources = Path(re.search(r"^CMAKE_HOME_DIRECTORY:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M)[1])
    data = program.read_bytes()
    (library,) = set(LIBRARY.findall(data))
    device = folder / "device"
    device.mkdir()
    (device / "device.cuh").write_bytes(library[:-1])
    (folder / "emulation").symlink_to(sources / "runtime" / "emulation")
    kernels = INCLUDE + "".join(text.decode() for text in dict.fromkeys(KERNEL.findall(data)))
    return link(program, kernels, folder, build, device=device, warnings=("-w",))


def build(text, folder):
    """The functions of `text`, a graph, as a program; they may stand in a module."""
    (folder / "graph.mlir").write_text(text if text.startswith("module ") else 'module attributes {moe.level = "graph"} {\n' + text + "\n}\n")
    compile_for_gpu(folder / "graph.mlir", folder / "program.o", "--emit=obj", f"--dump-intermediates={folder / 'ir'}")
    kernels = cuda_text((folder / "ir" / "3_kernel.mlir").read_text())
    return link(folder / "program.o", kernels, folder, warnings=(*WARNINGS, "-Wno-unused-parameter", "-Wno-parentheses"))


def call(program, folder, inputs, seed=1):
    """Runs a program that `build` made; its outputs are arrays in the folder `out`."""
    for name, x in inputs.items():
        np.save(folder / f"{name}.npy", x)
    arguments = [word for name in inputs for word in ("--input", f"{name}=@{folder / name}.npy")]
    program(*arguments, "--output-dir", folder / "out", seed=seed)
