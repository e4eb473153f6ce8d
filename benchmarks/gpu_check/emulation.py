"""The emulated GPU as a device of the checks."""

import ctypes
import os
import shutil
import sys
from pathlib import Path

from . import manifest

HERE = Path(__file__).resolve().parent
# A bundle has the same folders as the source tree.
sys.path.insert(0, str(HERE.parents[1] / "runtime" / "test" / "emulation"))

import emulated  # noqa: E402
from emulated import aligned  # noqa: E402, F401: the driver of the dry run takes it from here


class RuleBroken(Exception):
    """What the emulated GPU found."""


def options_of(blocks, threads, shared, timing="random", **schedule):
    """moe_emulation_options of a launch."""
    return emulated.Options(blocks=blocks, threads=threads, shared_bytes=shared, timing=emulated.TIMINGS[timing], **schedule)


class Emulator(emulated.Emulator):
    def built(self, text, folder):
        """The kernels of a text by name; folders of processes that build the same text share the result."""
        place = Path(folder) / manifest.digest_of(text.encode())[:20]
        if not (place / "kernel.so").is_file():
            mine = place.with_suffix(f".{os.getpid()}")
            self.build(text, mine, warnings=("-w",))
            try:
                mine.rename(place)
            except OSError:  # another process was first
                shutil.rmtree(mine)
        return self.load(place / "kernel.so", self.names(text))


class EmulatedDevice:
    """Buffers are NumPy arrays of their own, so that each access is checked against the buffer's ends."""

    name = "emulated"

    def __init__(self, library, compiler, folder, multiprocessors=2, sampled=False, **schedule):
        """`sampled`: of a product only the first tile is computed, for layers that are too large for all of them."""
        self.emulator, self.sampled = Emulator(library, compiler), sampled
        self.folder, self.multiprocessors, self.schedule = Path(folder), multiprocessors, schedule
        self.functions, self.programs = {}, []

    def load(self, program):
        """All kernels of a program, built as one text."""
        head = '#include "device.cuh"\n'
        text = head + "".join(kernel.text.replace(head, "") for kernel in program.kernels.values())
        functions = self.emulator.built(text, self.folder)
        self.functions |= {id(kernel): functions[name] for name, kernel in program.kernels.items()}
        self.programs.append(program)

    def allocate(self, shape, dtype, fill):
        """`fill` None: zeros that nobody writes."""
        buffer = aligned(tuple(shape), dtype, fill)
        buffer.flags.writeable = fill is not None
        return buffer

    def upload(self, array, writable=False):
        buffer = aligned(array.shape, array.dtype)
        buffer[...] = array
        buffer.flags.writeable = writable
        return buffer

    def download(self, buffer):
        return buffer.copy()

    def tensor_map(self, buffer, rows, columns, entry):
        return self.emulator.tensor_map(buffer.reshape(rows, columns), entry.box, entry.swizzle)

    def launch(self, kernel, arguments, maps, blocks):
        """`arguments`: buffers and numbers, in the order of the kernel's slots."""
        values = {f"argument {i}": ctypes.c_int64(a) if isinstance(a, int) else a for i, a in enumerate(arguments + maps)}
        schedule = self.schedule
        if self.sampled and kernel.maps:
            # Each block of so large a grid has one tile.
            blocks, schedule = 1 << 20, {**schedule, "first_blocks": 1}
        fault = self.emulator.launch(self.functions[id(kernel)], values, blocks, kernel.threads, kernel.shared, **schedule)
        if fault:
            raise RuleBroken(f"{kernel.name}: {fault}")

    def finish(self):
        pass
