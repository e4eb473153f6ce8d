"""Worker that runs the compiled layer: a shared object of `moe-compile --emit=lib`."""

import ctypes
from pathlib import Path

import numpy as np

from ..artifacts import archive_of
from ..pagecache import huge_share, lock, settle
from ..session import BF16, F32, I32, Session
from .side import Side, main, narrow, widen

ALIGNMENT = 64


def aligned(array):
    """The same numbers where the runtime need not copy them."""
    memory = np.empty(array.nbytes + ALIGNMENT, np.uint8)
    begin = -memory.ctypes.data % ALIGNMENT
    result = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result


class Compiled(Side):
    def __init__(self, shape, dtype, folder, cores, library):
        super().__init__(shape, dtype, folder, cores)
        archive = archive_of(Path(library))
        self._archive = archive.name
        settle(archive)
        self._session = Session(library, len(cores))
        self._is_locked = lock(self._archive)
        self._output = self._session.find("output", "y")

    def versions(self):
        return {"threads": self._session.threads, "locked": self._is_locked}

    def load(self, weights):
        """Nothing: the archive beside the library is mapped."""

    def prepare(self, case, outputs):
        """Also says how the archive's pages are mapped, on which reading them fast depends."""
        return {**super().prepare(case, outputs), "huge_pages": huge_share(Path("/proc/self/smaps").read_text(), self._archive)}

    def case(self, x, ids, weights):
        element = F32
        if self.dtype == "bfloat16":
            x, element = narrow(x), BF16
        arrays = [aligned(a) for a in (x, ids, weights)]
        inputs = zip(("x", "ids", "weights"), (element, I32, F32), arrays)
        call = self._session.caller([(self._session.find("input", n), t, a.shape, a.ctypes.data) for n, t, a in inputs])
        call.arrays = arrays  # the call has only their addresses
        return {"compiled": (call, self._result)}

    def _result(self):
        element, count, address = self._session.output(self._output)
        stored, dtype = (ctypes.c_uint16, np.uint16) if element == BF16 else (ctypes.c_float, np.float32)
        values = np.frombuffer((stored * count).from_address(address), dtype)
        return widen(values) if element == BF16 else values.copy()


if __name__ == "__main__":
    main(Compiled)
