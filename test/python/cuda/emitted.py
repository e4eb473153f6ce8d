"""A MoE layer as CUDA text: compiled from its graph, built for the emulated GPU, and launched kernel by kernel."""

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "runtime" / "test" / "emulation"), str(ROOT / "benchmarks")]

from emulated import WARNINGS, Emulator, aligned, to_bf16  # noqa: E402
from gpu_check.cases import COMPUTATION, Layer  # noqa: E402

BUILD = Path(os.environ.get("MOE_BUILD_DIR", ROOT / "build"))
TYPE_NAMES = {np.dtype(np.float32): "f32", np.dtype(np.float16): "f16"}  # numbers of bf16 are uint16
STEP = 128  # bytes that a product takes of a row at a time, see Tiles.h

# A kernel that packs weights: its name and the columns of a block.
PACK = re.compile(r"kernel\.func @(pack_\w+)\(%\w+: memref<[^>]*>, %\w+: memref<[^>]*x(\d+)x(?:64xbf16|64xf16|32xf32)>\)")
# What a kernel says about a tensor map that it wants: argument, rows (a number or an argument's value), columns, rows of a box.
MAP = re.compile(r"// Map \w+: argument (\d+) as (argument )?(\d+) x (\d+), boxes of (\d+) rows")

LAYER = """
func.func @main(%x: tensor<?x{H}x{type}> {{moe.dims = ["tokens", ""], moe.name = "x"}},
{arguments}) -> (tensor<?x{H}x{type}> {{moe.name = "y"}}) {{""" + COMPUTATION


class Shape(Layer):
    """A layer whose weights are arguments."""

    def text(self):
        return self.graph(LAYER)


def tool(name, *arguments, text):
    done = subprocess.run([str(BUILD / "bin" / name), *arguments], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def kernel_level(graph, target="cuda:sm_90a"):
    """The kernel level of a graph for a target, as text."""
    passes = f"builtin.module(kernel-set-target{{target={target}}},graph-decide,convert-graph-to-kernel,canonicalize,cse,kernel-choose-plans)"
    return tool("moe-opt", f"--pass-pipeline={passes}", text=graph)


def cuda_text(kernels):
    return tool("moe-translate", "--kernel-to-cuda", text=kernels)


def host_compiler():
    """The C++ compiler of the build."""
    return re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M).group(1)


def changed(plain, text):
    """The kernels of `text` that `plain` does not have, behind what stands before the first kernel."""
    (head, *before), (new_head, *after) = (each.split('\nextern "C" ') for each in (plain, text))
    return '\nextern "C" '.join([new_head, *(kernel for kernel in after if head != new_head or kernel not in before)])


def with_pipeline(text, namespace="pipeline"):
    """The text with the library's functions of rings written out in it, in a namespace, so that what they do can be changed too."""
    library = (ROOT / "runtime" / "device" / "pipeline.cuh").read_text()
    parts = [part for part in library.split("\n\n") if re.search(r"^(?:template <[^\n]*>\s+)?MOE_DEVICE ", part, re.M) and "StageRing" in part or "fenceProxy()" in part]
    functions = {re.search(r"MOE_DEVICE [^(]*?(\w+)\(", part)[1]: part for part in parts}
    used = [name for name in functions if re.search(rf"moe::{name}[<(]", text)]
    for name in used:  # and those that they call
        used += [other for other in functions if other not in used and re.search(rf"\b{other}[<(]", functions[name].split("{", 1)[1])]

    def qualified(match):
        own = match[2] in functions and match[2] != "advance"
        return f"{match[1]}{namespace if own else 'moe'}::{match[2]}"

    def written_out(name):
        head, body = functions[name].split("{\n", 1)
        return head + "{\n" + re.sub(r"^(\s*(?:while \(!)?)(?!if|for|while|return)(\w+)(?=(?:<\w+>)?\()", qualified, body, flags=re.M)

    code = "\n\n".join(written_out(name) for name in functions if name in used)
    text = re.sub(rf"moe::({'|'.join(used)})(?=[<(])", rf"{namespace}::\1", text) if used else text
    return text.replace('#include "device.cuh"\n', f'#include "device.cuh"\n\nnamespace {namespace} {{\nusing namespace moe;\n{code}\n}} // namespace {namespace}\n', 1)


class EmulatedKernels:
    """The kernels of a text; they are found by the beginning of their names."""

    def __init__(self, level, folder, change=lambda text: text):
        """From the kernel level; `change` may change the text."""
        plain = cuda_text(level)
        text = change(plain)
        self.columns = self.columns_of(level)
        self.emulator = Emulator(BUILD / "runtime" / "emulation" / "libmoe_emulation.so", host_compiler())
        self.kernels = self.build(plain, folder) if text == plain else {**self.build(plain, folder / "plain"), **self.build(changed(plain, text), folder)}
        launches = re.findall(r"void (\w+)\([^\n]*\) \{\n  // Launch: (\d+) threads, (\d+) bytes[^\n]*\n((?:  // Map[^\n]*\n)+)", text)
        self.launches = {name: (int(threads), int(shared), MAP.findall(maps)) for name, threads, shared, maps in launches}

    @staticmethod
    def columns_of(level):
        """Columns of a block of each weight that a kernel packs."""
        return {name: int(columns) for name, columns in PACK.findall(level)}

    def build(self, text, folder):
        # Not every kernel needs each size of its arguments, which are the slots of a calling convention.
        library = self.emulator.build(text, folder, warnings=(*WARNINGS, "-Wno-unused-parameter"))
        return self.emulator.load(library, self.emulator.names(text))

    def pack(self, weight, halves=False, **schedule):
        """The weight as its kernel packs it, which is as NumPy does."""
        name = f"pack_{'x'.join(map(str, weight.shape))}_{TYPE_NAMES.get(weight.dtype, 'bf16')}" + ("_halves" if halves else "")
        expected = pack(weight, self.columns[name], halves)
        packed = aligned(expected.shape, weight.dtype)
        packed.view(np.uint8)[...] = 0xFF
        self.run(name, weight, packed, exact=True, **schedule)
        np.testing.assert_array_equal(packed, expected)
        packed.flags.writeable = False
        return packed

    def run(self, prefix, *arguments, blocks=2, exact=False, **schedule):
        """Arrays are passed as pointers, and the maps that the kernel wants are made of them; fails with the rule that was broken."""
        (name,) = [name for name in self.kernels if name == prefix or (not exact and name.startswith(prefix))]
        threads, shared, maps = self.launches.get(name, (64, 0, []))
        values = {f"argument {i}": ctypes.c_int64(a) if isinstance(a, int) else a for i, a in enumerate(arguments)}
        for slot, size, rows, columns, box in maps:
            rows = arguments[int(rows)] if size else int(rows)
            matrix = arguments[int(slot)].reshape(rows, int(columns))
            values[f"map {len(values)}"] = self.emulator.tensor_map(matrix, (int(box), STEP // matrix.itemsize), 128)
        fault = self.emulator.launch(self.kernels[name], values, blocks, threads, shared, **schedule)
        assert fault == "", fault


def pack(weight, columns, halves=False):
    """#moe.pack of a weight [..., N, K] in blocks of `columns` by NumPy."""
    if halves:  # blocks of gate rows, then up rows
        half = columns // 2
        blocks = -(-weight.shape[-2] // columns)
        gate, up = np.split(weight, 2, axis=-2)
        pad = [(0, 0)] * (weight.ndim - 2) + [(0, blocks * half - gate.shape[-2]), (0, 0)]
        parts = [np.pad(w, pad).reshape(*w.shape[:-2], blocks, half, w.shape[-1]) for w in (gate, up)]
        weight = np.concatenate(parts, axis=-2).reshape(*weight.shape[:-2], blocks * columns, weight.shape[-1])
    depth = STEP // weight.itemsize
    blocks, steps = -(-weight.shape[-2] // columns), -(-weight.shape[-1] // depth)
    pad = [(0, 0)] * (weight.ndim - 2) + [(0, blocks * columns - weight.shape[-2]), (0, steps * depth - weight.shape[-1])]
    return np.pad(weight, pad).reshape(*weight.shape[:-2], blocks, columns, steps, depth).swapaxes(-3, -2)


def small_integers(random, *shape):
    """-1, 0 and 1 as bits of bf16: sums are exact, whatever their order."""
    array = aligned(shape, np.uint16)
    array[...] = to_bf16(random.integers(-1, 2, shape).astype(np.float32))
    return array
