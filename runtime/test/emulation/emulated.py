"""Compiles kernel text for the emulated GPU and launches it on NumPy arrays.

    emulator = Emulator("build/runtime/emulation/libmoe_emulation.so", compiler="clang++-22")
    kernels = emulator.compile(text, folder)
    fault = emulator.launch(kernels["softmax"], {"x": x, "y": y, "rows": 3, ...}, blocks=2, threads=128)
"""

import ctypes
import functools
import importlib
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]
DEVICE = ROOT / "runtime" / "device"
BOUNDS = r"(?:__launch_bounds__\([^)]*\)\s*)?"
KERNEL = re.compile(rf'extern "C" __global__ {BOUNDS}void\s+{BOUNDS}(\w+)\(')
# Pragmas are for the GPU's compiler, and so is the alignment of CUtensorMap parameters, of which g++ speaks.
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-pass-failed", "-Wno-psabi")
TIMINGS = {"eager": 0, "lazy": 1, "random": 2}


INVOKE = '#include "../emulation/Invoke.h"\n'


@functools.cache
def shared_results():
    """What the repository's tests share in a run (python/moe_mlir/testing/shared.py), or None where there is no such run."""
    if "MOE_TEST_RESULTS" not in os.environ or not (ROOT / "python").is_dir():
        return None
    sys.path.append(str(ROOT / "python"))
    return importlib.import_module("moe_mlir.testing.shared")


@functools.cache
def linker_of(compiler):
    """Flags by which Clang links with LLD, if that is beside it: a fifth of the time of GNU ld."""
    found = shutil.which(compiler)
    return ("-fuse-ld=lld",) if "clang" in Path(compiler).name and found and (Path(found).resolve().parent / "ld.lld").exists() else ()


class Options(ctypes.Structure):
    """moe_emulation_options."""

    _fields_ = [
        ("blocks", ctypes.c_int32),
        ("threads", ctypes.c_int32),
        ("shared_bytes", ctypes.c_uint32),
        ("timing", ctypes.c_int32),
        ("seed", ctypes.c_uint64),
        ("skewed", ctypes.c_int32),
        ("strict", ctypes.c_int32),
        ("resident_blocks", ctypes.c_int32),
        ("first_blocks", ctypes.c_int32),
    ]


class Step(ctypes.Structure):
    """moe_emulation_step."""

    _fields_ = [
        ("rank", ctypes.c_int32),
        ("kernel", ctypes.c_void_p),
        ("args", ctypes.c_void_p),
        ("options", Options),
        ("name", ctypes.c_char_p),
    ]


def schedules(strict=False):
    """Each timing of asynchronous work, with warps that keep step and with warps that run far ahead."""
    for i, (skewed, timing) in enumerate(itertools.product((False, True), TIMINGS)):
        yield {"seed": i + 1, "timing": timing, "skewed": skewed, "strict": strict}


# More than a planted fault runs past an end, so that it never lands in another registered buffer.
GAP = 1 << 20


def aligned(shape, dtype, fill=None):
    """An array at a multiple of 1024 bytes, as cudaMalloc gives, with a gap of unregistered bytes behind it."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    memory = np.zeros(size + 1024 + GAP, np.uint8)
    start = -memory.ctypes.data % 1024
    array = memory[start : start + size].view(dtype).reshape(shape)
    if fill is not None:
        array[...] = fill
    return array


def to_bf16(x):
    """Bits of float32 numbers rounded to nearest even."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


class Emulator:
    """The emulated GPU, with the host compiler that makes kernels for it."""

    def __init__(self, library, compiler):
        # Kernels find the machine's functions in the global scope.
        self.library = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        self.compiler = compiler
        self.library.moe_emulation_launch.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_char_p, ctypes.c_size_t]
        self.library.moe_emulation_launch_ranks.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
        self.library.moe_emulation_register.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_int]
        self.library.moe_emulation_encode_tile_2d.argtypes = (
            [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32]
            + [ctypes.c_uint64] * 3
            + [ctypes.c_uint32] * 3
            + [ctypes.c_char_p, ctypes.c_size_t]
        )

    def build(self, text, folder, device=DEVICE, warnings=WARNINGS):
        """Compiles kernel text, by default with warnings as errors; returns the path of the shared object."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "kernel.cu").write_text(text)
        exports = "".join(f"MOE_EMULATED_KERNEL({name})\n" for name in self.names(text))
        (folder / "exports.cpp").write_text(f'#include "kernel.cu"\n{INVOKE}{exports}')
        linker = linker_of(self.compiler)
        # Optimised, a text takes three times as long to compile, and tests run most of them for less time than that.
        flags = ["-std=c++20", "-O0", "-fPIC", "-fvisibility=hidden", "-DMOE_EMULATION", f"-I{device}"]

        def make(result, *header):
            command = [self.compiler, *flags, *header, *warnings, *linker, "-shared", folder / "exports.cpp", "-o", result / "kernel.so"]
            subprocess.run(command, check=True)

        if shared := shared_results():
            made_by = self.made_by(shared, flags, Path(device))
            header = self.precompiled(shared, made_by, [*flags, *warnings])
            shared.results().copy(["emulated", made_by, linker, text, warnings], lambda result: make(result, *header), folder)
        else:
            make(folder)
        return folder / "kernel.so"

    def made_by(self, shared, flags, device):
        """For a digest: what a text is compiled with."""
        compiler = Path(shutil.which(self.compiler))
        return [shared.program(compiler), flags, device, device.parent / "emulation"]

    def precompiled(self, shared, made_by, flags):
        """Flags by which Clang takes the device library from a file, a third of the time of a text."""
        if "clang" not in Path(self.compiler).name:
            return []

        def make(result):
            command = [self.compiler, *flags, "-x", "c++-header", "-", "-o", result / "device.pch"]
            subprocess.run(command, input=f'#include "device.cuh"\n{INVOKE}', text=True, check=True)

        return ["-include-pch", str(shared.results().get(["device library", made_by, flags], make) / "device.pch")]

    @staticmethod
    def names(text):
        """Kernels that a text defines."""
        return KERNEL.findall(text)

    def load(self, path, names):
        library = ctypes.CDLL(str(path))
        return {name: ctypes.cast(library[f"{name}_emulated"], ctypes.c_void_p) for name in names}

    def compile(self, text, folder, device=DEVICE):
        return self.load(self.build(text, folder, device), self.names(text))

    def tensor_map(self, array, box, swizzle):
        """The map of a two-dimensional array; `box` is (rows, columns). One without rows has a map that nobody uses."""
        memory = aligned(128, np.uint8)
        message = ctypes.create_string_buffer(256)
        failed = self.library.moe_emulation_encode_tile_2d(
            memory.ctypes.data, array.ctypes.data, array.itemsize, array.shape[1], max(array.shape[0], 1), array.strides[0],
            box[1], box[0], swizzle, message, len(message),
        )  # fmt: skip
        if failed:
            raise ValueError(message.value.decode())
        return TensorMap(memory)

    def launch(self, kernel, arguments, blocks, threads, shared=0, buffers=None, windows=(), **schedule):
        """Runs the kernel; returns the rule that it broke, or "".

        `arguments` are named, in the kernel's order: arrays (passed as pointers), tensor maps, ctypes values. The kernel may
        access the arrays among them and those of `buffers`, and write those that NumPy lets write. In those named by `windows`
        a store onto what another thread may still have to read breaks a rule.
        """
        self.register({**{k: v for k, v in arguments.items() if isinstance(v, np.ndarray)}, **(buffers or {})}, windows)
        values = [argument_value(v) for v in arguments.values()]
        pointers = (ctypes.c_void_p * len(values))(*[address for address, _ in values])
        options = options_of(blocks, threads, shared, **schedule)
        message = ctypes.create_string_buffer(1 << 14)
        self.library.moe_emulation_launch(kernel, pointers, ctypes.addressof(options), message, len(message))
        return message.value.decode()

    def launch_ranks(self, ranks, buffers, windows=(), **schedule):
        """Runs ranks side by side, each with its launches (name, kernel, arguments, blocks, threads, shared) one after the other.

        `arguments` are as those of `launch`, but all memory is in `buffers`, named arrays. Returns the rule that was broken, or "".
        """
        self.register(buffers, windows)
        kept, steps = [], []
        for rank, launches in enumerate(ranks):
            for name, kernel, arguments, blocks, threads, shared in launches:
                values = [argument_value(v) for v in arguments]
                pointers = (ctypes.c_void_p * len(values))(*[address for address, _ in values])
                kept += [values, pointers]
                options = options_of(blocks, threads, shared, **schedule)
                steps.append(Step(rank, kernel, ctypes.addressof(pointers), options, name.encode()))
        steps = (Step * len(steps))(*steps)
        options = options_of(1, 32, 0, **schedule)
        message = ctypes.create_string_buffer(1 << 14)
        self.library.moe_emulation_launch_ranks(steps, len(steps), len(ranks), ctypes.addressof(options), message, len(message))
        return message.value.decode()

    def register(self, arrays, windows):
        self.library.moe_emulation_clear()
        for name, array in arrays.items():
            access = 2 if name in windows else array.flags.writeable
            self.library.moe_emulation_register(array.ctypes.data, extent(array), name.encode(), access)


def options_of(blocks, threads, shared, seed=1, timing="random", **schedule):
    return Options(blocks=blocks, threads=threads, shared_bytes=shared, seed=seed, timing=TIMINGS[timing], **schedule)


class TensorMap:
    def __init__(self, memory):
        self.memory = memory


def extent(array):
    """Bytes from the first element to the end of the last row."""
    return array.shape[0] * array.strides[0] if array.ndim else array.nbytes


def argument_value(value):
    """The address of an argument's value, and what keeps it alive."""
    if isinstance(value, TensorMap):
        return value.memory.ctypes.data, value
    if isinstance(value, np.ndarray):
        value = ctypes.c_void_p(value.ctypes.data)
    return ctypes.addressof(value), value
