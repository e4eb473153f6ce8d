"""The emulated GPU as a device of the checks."""

import ctypes
import sys
from pathlib import Path


HERE = Path(__file__).resolve().parent
# In a bundle emulated.py lies beside this package, else where the emulation's tests are.
for folder in (HERE.parent, HERE.parents[1] / "runtime" / "test" / "emulation"):
    if (folder / "emulated.py").is_file():
        sys.path.insert(0, str(folder))
        break

from emulated import Emulator, aligned  # noqa: E402


class RuleBroken(Exception):
    """What the emulated GPU found."""


class EmulatedDevice:
    """Buffers are NumPy arrays of their own, so that each access is checked against the buffer's ends."""

    name = "emulated"

    def __init__(self, library, compiler, folder, multiprocessors=2, **schedule):
        self.emulator = Emulator(library, compiler)
        self.folder, self.multiprocessors, self.schedule = Path(folder), multiprocessors, schedule
        self.functions = {}

    def load(self, program):
        """All kernels of a program, built as one text."""
        head = '#include "device.cuh"\n'
        text = head + "".join(kernel.text.replace(head, "") for kernel in program.kernels.values())
        library = self.emulator.build(text, self.folder / program.name, warnings=("-w",))
        self.functions |= self.emulator.load(library, program.kernels)

    def allocate(self, shape, dtype, fill):
        return aligned(tuple(shape), dtype, fill)

    def upload(self, array, writable=False):
        buffer = aligned(array.shape, array.dtype)
        buffer[...] = array
        buffer.flags.writeable = writable
        return buffer

    def download(self, buffer):
        return buffer.copy()

    def tensor_map(self, buffer, entry):
        return self.emulator.tensor_map(buffer.reshape(entry.rows, entry.columns), entry.box, entry.swizzle)

    def launch(self, kernel, arguments, maps, blocks):
        """`arguments`: buffers and numbers, in the order of the kernel's slots."""
        values = {f"argument {i}": ctypes.c_int64(a) if isinstance(a, int) else a for i, a in enumerate(arguments + maps)}
        fault = self.emulator.launch(
            self.functions[kernel.name], values, blocks, kernel.threads, kernel.shared, **self.schedule
        )
        if fault:
            raise RuleBroken(f"{kernel.name}: {fault}")

    def finish(self):
        pass


