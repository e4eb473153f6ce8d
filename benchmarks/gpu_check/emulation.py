"""The emulated GPU as a device of the checks."""

import ctypes
import sys
from pathlib import Path


HERE = Path(__file__).resolve().parent
# A bundle has the same folders as the source tree.
sys.path.insert(0, str(HERE.parents[1] / "runtime" / "test" / "emulation"))

from emulated import Emulator, aligned  # noqa: E402


class RuleBroken(Exception):
    """What the emulated GPU found."""


class EmulatedDevice:
    """Buffers are NumPy arrays of their own, so that each access is checked against the buffer's ends."""

    name = "emulated"

    def __init__(self, library, compiler, folder, multiprocessors=2, sampled=False, **schedule):
        """`sampled`: of a product only the first tile is computed, for layers that are too large for all of them."""
        self.emulator, self.sampled = Emulator(library, compiler), sampled
        self.folder, self.multiprocessors, self.schedule = Path(folder), multiprocessors, schedule
        self.functions = {}

    def load(self, program):
        """All kernels of a program, built as one text."""
        head = '#include "device.cuh"\n'
        text = head + "".join(kernel.text.replace(head, "") for kernel in program.kernels.values())
        library = self.emulator.build(text, self.folder / program.name, warnings=("-w",))
        self.functions |= self.emulator.load(library, program.kernels)

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
        fault = self.emulator.launch(self.functions[kernel.name], values, blocks, kernel.threads, kernel.shared, **schedule)
        if fault:
            raise RuleBroken(f"{kernel.name}: {fault}")

    def finish(self):
        pass


