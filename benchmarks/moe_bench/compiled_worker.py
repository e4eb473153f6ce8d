"""Worker that runs a compiled model: the shared object of `moe-compile --emit=lib`, through the C API of moert/session.h."""

import ctypes
import sys
import time
from array import array

from . import session
from .errors import BenchError
from .protocol import repeat, serve


class Session(session.Session):
    """An open session of a language model."""

    def __init__(self, path, threads):
        super().__init__(path, threads)
        self._inputs = [self.find("input", name) for name in ("input_ids", "position", "logits_to_keep")]
        self._logits = self.find("output", "logits")

    def call(self, tokens, position):
        """Function without arguments that runs one step: `tokens` [B][S] at `position`, logits of the last one."""
        batch, length = len(tokens), len(tokens[0])
        values = (array("q", [t for row in tokens for t in row]), array("q", [position] * batch), array("q", [length - 1]))
        shapes = ((batch, length), (batch,), (1,))
        inputs = zip(self._inputs, values, shapes)
        return self.caller([(index, session.I64, shape, (ctypes.c_int64 * len(value)).from_buffer(value)) for index, value, shape in inputs])

    def logits(self):
        """Logits of the last run as an array of floats, row-major."""
        dtype, count, data = self.output(self._logits)
        if dtype == session.F32:
            return array("f", ctypes.string_at(data, 4 * count))
        if dtype == session.BF16:
            wide = array("I", [bits << 16 for bits in array("H", ctypes.string_at(data, 2 * count))])
            return array("f", wide.tobytes())
        raise BenchError(f"logits have element type {dtype}; float32 or bfloat16 was expected", 70)


class Handler:
    """Answers to the requests of pairing.py."""

    variants = ("compiled",)

    def __init__(self, library, threads):
        begin = time.perf_counter()
        self._session = Session(library, threads)
        self._open_seconds = time.perf_counter() - begin
        self._call = None

    def describe(self):
        return {"variants": self.variants, "threads": self._session.threads, "open_seconds": self._open_seconds}

    def prepare(self, context, tokens, logits):
        """Fill the cache with `context` [B][P], run the call on `tokens` [B][S] once and write its logits to a file."""
        self._session.reset()
        position = len(context[0])
        if position:
            self._session.call(context, 0)()
        self._call = self._session.call(tokens, position)
        self._call()
        with open(logits, "wb") as file:
            self._session.logits().tofile(file)
        return {"own_bytes": self._session.own_bytes()}

    def run(self, variant, seconds):
        return repeat(self._call, lambda: None, seconds)


if __name__ == "__main__":
    serve(lambda: Handler(sys.argv[1], int(sys.argv[2])))
