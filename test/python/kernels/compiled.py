"""Compiles kernel-level text to an object, links it with shim.c and runs it on NumPy arrays."""

import ctypes
import functools
import os
import subprocess
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BIN = Path(os.environ.get("MOE_BUILD_DIR", ROOT / "build")) / "bin"
CLANG = os.environ.get("MOE_CLANG", "clang-22")
BF16 = np.dtype(ml_dtypes.bfloat16)


def host_has(feature):
    return f" {feature} " in Path("/proc/cpuinfo").read_text().replace("\n", " ")


_folder = tempfile.TemporaryDirectory(prefix="moe-shim-")


@functools.cache
def shim():
    """The object of shim.c, which is the same for every program."""
    path = Path(_folder.name) / "shim.o"
    subprocess.run([CLANG, "-O1", "-c", "-fPIC", f"-I{ROOT}/runtime/include", HERE / "shim.c", "-o", path], check=True)
    return path


class Stopped(Exception):
    """The program ended the call with an error of the caller."""


class Program:
    """A compiled program. `run` takes inputs in order and returns the outputs; `launched` are then the launches of that
    call, (kernel, work)."""

    def __init__(self, text, cpu="native"):
        self.directory = tempfile.TemporaryDirectory()
        folder = Path(self.directory.name)
        (folder / "kernel.mlir").write_text(text)
        self.steps = ["--kernel-set-target=target=cpu:" + cpu, "--kernel-to-runtime"]
        subprocess.run([BIN / "moe-opt", folder / "kernel.mlir", *self.steps, "-o", folder / "runtime.mlir"],
                       check=True)
        subprocess.run([BIN / "moe-translate", "--moe-to-object", folder / "runtime.mlir", "-o", folder / "model.o"],
                       check=True)
        # --no-undefined: the object may need the shim's functions and the C library, nothing else.
        subprocess.run([CLANG, "-shared", "-nodefaultlibs", "-Wl,--no-undefined", shim(), folder / "model.o", "-lm", "-lc", "-o", folder / "model.so"], check=True)
        self.library = ctypes.CDLL(str(folder / "model.so"))
        for name, result in (("new", ctypes.c_void_p), ("output", ctypes.c_void_p), ("arena_bytes", ctypes.c_int64),
                             ("experts_reported", ctypes.c_int64), ("launches", ctypes.c_int64),
                             ("launch_name", ctypes.c_char_p), ("launch_work", ctypes.c_int64),
                             ("message", ctypes.c_char_p), ("guarded", ctypes.c_void_p)):
            getattr(self.library, "shim_" + name).restype = result

    def symbols(self):
        out = subprocess.run(["/usr/lib/llvm-22/bin/llvm-nm", "-u", Path(self.directory.name) / "model.o"], check=True,
                             capture_output=True, text=True).stdout
        return {line.split()[-1] for line in out.splitlines()}

    def guard(self, array):
        """A copy behind which, and shortly before which, no memory may be touched."""
        address = self.library.shim_guarded(ctypes.c_int64(array.nbytes))
        copy = np.ndarray(array.shape, array.dtype, (ctypes.c_char * array.nbytes).from_address(address))
        copy[...] = array
        return copy

    def run(self, inputs, parameters=(), outputs=(np.float32,), states=(), blocks=1, guarded=False):
        lib = self.library
        ctx = ctypes.c_void_p(lib.shim_new(ctypes.c_int64(blocks)))
        keep = [np.ascontiguousarray(x) for x in inputs]
        if guarded:
            lib.shim_guard(ctx)
            keep, states = [self.guard(x) for x in keep], [self.guard(s) for s in states]
        for i, x in enumerate(keep):
            sizes = (ctypes.c_int64 * max(1, x.ndim))(*x.shape)
            lib.shim_input(ctx, i, ctypes.c_void_p(x.ctypes.data), sizes, x.ndim)
        packed = []
        for i, w in enumerate(parameters):
            # 64-byte aligned, as in the archive
            raw = np.zeros(w.nbytes + 64, np.uint8)
            start = -raw.ctypes.data % 64
            raw[start:start + w.nbytes] = np.ascontiguousarray(w).reshape(-1).view(np.uint8)
            packed.append(raw)
            lib.shim_parameter(ctx, i, ctypes.c_void_p(raw.ctypes.data + start))
        for i, s in enumerate(states):
            assert s.flags.c_contiguous
            lib.shim_state(ctx, i, ctypes.c_void_p(s.ctypes.data))
        if lib.shim_run(ctx) != 0:
            message = lib.shim_message(ctx).decode()
            lib.shim_free(ctx)
            raise Stopped(message)
        results = []
        for i, dtype in enumerate(outputs):
            sizes = (ctypes.c_int64 * 8)()
            data = lib.shim_output(ctx, i, sizes)
            rank = self.output_rank(i)
            shape = list(sizes)[:rank]
            count = int(np.prod(shape))
            buffer = ctypes.string_at(data, count * np.dtype(dtype).itemsize)
            results.append(np.frombuffer(buffer, dtype).reshape(shape).copy())
            assert not lib.shim_overrun(ctx, i), f"output {i} was written beyond its end"
        self.arena_bytes = lib.shim_arena_bytes(ctx)
        self.experts_reported = lib.shim_experts_reported(ctx)
        launches = (ctypes.c_int64(i) for i in range(lib.shim_launches(ctx)))
        self.launched = [(lib.shim_launch_name(ctx, i).decode(), lib.shim_launch_work(ctx, i)) for i in launches]
        lib.shim_free(ctx)
        return results

    def output_rank(self, index):
        return self.descriptor().outputs[index].rank

    def descriptor(self):
        self.library.shim_program.restype = ctypes.POINTER(ProgramDescriptor)
        return self.library.shim_program().contents


class ValueDescriptor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("sizes", ctypes.c_int64 * 8), ("lo", ctypes.c_int64), ("hi", ctypes.c_int64),
                ("symbol", ctypes.c_int32), ("uniform", ctypes.c_int32), ("axes", ctypes.c_uint32),
                ("dim_ranges", ctypes.POINTER(ctypes.c_int64)), ("index_of", ctypes.c_int32)]


class ParameterDescriptor(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("sizes", ctypes.c_int64 * 8), ("axes", ctypes.c_int32 * 2), ("slice_axis", ctypes.c_int32), ("slice_step", ctypes.c_int64)]


class Generation(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int32) for name in ("tokens", "position", "keep", "logits", "vocabulary")] + [
        ("vocab_size", ctypes.c_int64), ("cache_length", ctypes.c_int64), ("eos_count", ctypes.c_int32),
        ("eos", ctypes.POINTER(ctypes.c_int64))]


class ProgramDescriptor(ctypes.Structure):
    """`moert_program`; the C compiler's view of it is what shim.c uses."""
    _fields_ = [("abi_version", ctypes.c_uint32), ("device", ctypes.c_int32)] + [
        (name, ctypes.c_char_p) for name in ("name", "entry", "build_id", "weights_id", "compiler", "target_cpu", "features", "weights")] + [
        (name + "_count", ctypes.c_int32) for name in ("input", "output", "state", "parameter", "symbol", "kernel")] + [
        ("inputs", ctypes.POINTER(ValueDescriptor)), ("outputs", ctypes.POINTER(ValueDescriptor)),
        ("states", ctypes.POINTER(ValueDescriptor)), ("symbols", ctypes.POINTER(ctypes.c_char_p)),
        ("parameters", ctypes.POINTER(ParameterDescriptor)), ("kernels", ctypes.c_void_p),
        ("generation", ctypes.POINTER(Generation)), ("cuda", ctypes.c_void_p), ("axis_count", ctypes.c_int32),
        ("axes", ctypes.c_void_p), ("variant", ctypes.c_char_p), ("variant_axes", ctypes.c_uint32), ("run", ctypes.c_void_p)]


def pack(weight, pairs=1, columns=64):
    """[..., N, K] -> [..., N/columns, K/pairs, columns(, pairs)], padded with zeros."""
    *lead, n, k = weight.shape
    blocks, steps = -(-n // columns), -(-k // pairs)
    padded = np.zeros((*lead, blocks * columns, steps * pairs), weight.dtype)
    padded[..., :n, :k] = weight
    padded = padded.reshape(*lead, blocks, columns, steps, pairs)
    padded = np.moveaxis(padded, -3, -2)  # blocks, steps, columns, pairs
    return padded[..., 0] if pairs == 1 else padded
