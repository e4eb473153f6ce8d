"""Worker that runs a compiled program as one rank of a job, or alone: opened, prepared and run when asked, so that all ranks can be asked at once."""

import ctypes
import time

import numpy as np

from ..layers.compiled_worker import aligned
from ..layers.side import largest_token_distance, narrow
from ..protocol import serve
from ..session import BF16, F32, I32, I64, Session
from ..tensorfile import widen

DTYPES = {np.dtype(np.uint16): BF16, np.dtype(np.float32): F32, np.dtype(np.int32): I32, np.dtype(np.int64): I64}


def array_of(value, is_bf16):
    """A list of integers, or the first input of a file of a layer's data."""
    if not isinstance(value, str):
        return np.array(value, np.int64)
    array = np.load(value)[0]
    return narrow(array) if is_bf16 else array


class Handler:
    """Answers to the requests of programs.py."""

    def __init__(self):
        self._session = self._call = None

    def describe(self):
        return {}

    def open(self, library, threads):
        self._session = Session(library, threads, count_experts=1)
        return {"threads": self._session.threads}

    def prepare(self, calls, output, result):
        """Runs the calls, lists of (input, value, whether it is of bf16), once; writes `output` of the last one, the one that is timed, to the file `result`."""
        self._session.reset()
        for inputs in calls:
            named = [(name, aligned(array_of(value, is_bf16))) for name, value, is_bf16 in inputs]
            self._call = self._session.caller([(self._session.find("input", n), DTYPES[a.dtype], a.shape, a.ctypes.data) for n, a in named])
            self._call.arrays = named  # the call has only their addresses
            self._session.expert_rows()
            self._call()
        dtype, count, address = self._session.output(self._session.find("output", output))
        stored, bits = (ctypes.c_uint16, np.uint16) if dtype == BF16 else (ctypes.c_float, np.float32)
        values = np.frombuffer((stored * count).from_address(address), bits)
        np.save(result, widen(values) if dtype == BF16 else values)
        return {"expert_rows": self._session.expert_rows()}

    def run(self, calls):
        """Times so many calls one by one."""
        times = []
        for _ in range(calls):
            begin = time.perf_counter()
            self._call()
            times.append(time.perf_counter() - begin)
        return {"times": times}

    def compare(self, actual, expected, rows):
        """The largest distance of a row of one file of results from that of another."""
        return {"distance": largest_token_distance(*(np.load(file).reshape(rows, -1) for file in (actual, expected)))}


if __name__ == "__main__":
    serve(Handler)
